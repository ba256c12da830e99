#!/bin/bash
# Times are those of the program while no hook is at work, wherever the reference
# comes from: a run before, of the same build or of one without the flag, the time
# in which recording is off or before a program is attached, another trace. Four
# functions of p_reference take as much time as each other, one of them in short
# calls, which hooks make several times as long (unrecorded, some processors work at
# two of them at a time: then perf gives them 18 %). Counts, and what --raw shows, are
# as without a reference. What is no reference is refused.
# SPDX-License-Identifier: MIT
# alone
. tests/lib.sh
unset COLUMNS
cc -O1 -g -finstrument-functions -o "$T/prog" tests/prog/p_reference.c -lpthread ||
	fail "p_reference does not build"
cc -O2 -g -fno-ipa-icf -o "$T/plain" tests/prog/p_reference.c -lpthread ||
	fail "the plain p_reference does not build"
cd "$T" || exit 1

rec() { timeout 120 "$WEFT" record --sample-rate 4000 -o "$@" >out 2>err || fail "record $*: $(cat err)"; }

rec first -- ./prog 10
if no_switches first; then
	exit 77
fi

# shares NAME TRACE [OPTION...]: each of the functions in $of has as much of the
# time, to $points. $of: not forked where one process is sampled. Where it naps,
# perf as well gives one up to 12 points more than another.
of="leaf threaded forked inlined" points=9
shares() {
	"$WEFT" report --csv -n 0 "${@:3}" "$2" >csv 2>says || fail "$1: $(cat says)"
	grep -q 'note: self and total are those of the program as it runs unrecorded' says ||
		fail "$1: another kind of times: $(cat says)"
	awk -F, -v name="$1" -v of="$of" -v points=$points 'NR == 1 {
			for (i = 1; i <= NF; i++)
				at[$i] = i
			next
		}
		{ all += $at["cpu_ns"]; self[$at["function"]] += $at["cpu_ns"] }
		END {
			n = split(of, function_of, " ")
			for (i = 1; i <= n; i++) {
				share = 100 * self[function_of[i]] / all
				if (share < 100 / n - points || share > 100 / n + points) {
					print name ": " function_of[i] " has " share " %"
					bad = 1
				}
			}
			exit bad
		}' csv >wrong || fail "$(cat wrong)"
}

# calls TRACE: they are as many as the program says.
calls() {
	read -r leaves rounds < <(tail -n 1 out)
	"$WEFT" report --csv -n 0 "$1" 2>/dev/null >csv
	for f in "leaf $leaves" "threaded $rounds" "forked $rounds"; do
		awk -F, -v f="${f% *}" -v n="${f#* }" 'NR == 1 {
				for (i = 1; i <= NF; i++)
					at[$i] = i
				next
			}
			$at["function"] == f { found = $at["calls"] }
			END { exit found != n }' csv || fail "$1: not $f calls"
	done
}

rec same --reference -- ./prog 1500
shares "a run before" same
calls same
grep -q 'reference: .* samples, .* (a run before)' err || fail "no word of it: $(cat err)"
"$WEFT" check same >check || fail "$(cat check)"
"$WEFT" report --raw --csv -n 0 same 2>/dev/null | cut -d, -f1,2,5,6 | sort >raw
"$WEFT" report --csv -n 0 same 2>/dev/null | grep -v '\[sampled\]' | cut -d, -f1,2,5,6 | sort >net
diff raw net >differ || fail "counts differ from those of --raw: $(cat differ)"

# The plain build's own time, and of what was inlined there; so are its lines.
rec plainly --reference=./plain -- ./prog 1500
shares "a plain build before" plainly --sampled
turn=$(grep -n 'static inline void inlined' "$OLDPWD/tests/prog/p_reference.c")
"$WEFT" lines --csv inlined plainly >csv 2>says || fail "no lines: $(cat says)"
awk -F, -v line=$((${turn%%:*} + 2)) '$2 == "line" { all += $8; at[$7] = $8 }
	END { exit !(all > 100 && at[line] > 0.9 * all) }' csv ||
	fail "lines of what was inlined: $(cat csv)"

# Functions of one name are told by where they are declared.
for part in "one 600000" "two 200000"; do
	{
		[ "${part% *}" = one ] || echo
		echo "static __attribute__((noinline)) void work(void) {"
		echo "	for (int n = 0; n < ${part#* }; n++) __asm__ volatile(\"\");"
		echo "}"
		echo "void ${part% *}(void) { work(); }"
	} >"${part% *}.c"
done
echo "void one(void); void two(void);
int main(void) { for (int i = 0; i < 1500; i++) one(), two(); }" >both.c
cc -O1 -g -finstrument-functions -o both both.c one.c two.c &&
	cc -O1 -g -o both-plain both.c one.c two.c || fail "both do not build"
rec named --reference=./both-plain -- ./both
"$WEFT" report --csv -n 0 named >csv 2>says || fail "named: $(cat says)"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ self[$at["function"] $at["line"]] += $at["cpu_ns"]; all += $at["cpu_ns"] }
	END { one = self["work1"] / all; two = self["work2"] / all
	      exit !(one > 0.69 && one < 0.81 && two > 0.19 && two < 0.31) }' csv ||
	fail "functions of one name: $(cat csv)"

# Calls that are only counted have times by the samples of their run, or by those
# of a reference, and none with --raw.
rec counted --count-only -- ./prog 1500
calls counted
"$WEFT" report counted >table || fail "no report of what was counted"
grep -q 'of the run that counted calls' table || fail "not said: $(cat table)"
"$WEFT" report --raw counted | grep -q 'there are no times' || fail "raw times of counted calls"
"$WEFT" export -o counted.pb counted || fail "no profile of what was counted"
"$WEFT" report counted.pb | grep -q '%.*leaf' || fail "the profile has no times"
"$WEFT" report --raw counted.pb | grep -q 'there are no times' ||
	fail "raw times in a profile of counted calls"
rec counted-same --count-only --reference -- ./prog 1500
calls counted-same
shares "a run before, counted" counted-same

points=12
rec off --duty 200ms/1s -- ./prog 6000 n
shares "while it is off" off
calls_in_windows=$(awk -F, '$1 == "leaf"' csv)
[ -n "$calls_in_windows" ] || fail "nothing was recorded in windows"

points=9
rec only --sample-only -- ./plain 1500
"$WEFT" report only >table 2>why && fail "a trace of samples alone has a report"
grep -q -- '--sample-only' why || fail "what it is good for is not said: $(cat why)"
rec bare -- ./prog 1500
"$WEFT" report bare | grep -q 'runs unrecorded' && fail "a reference from nowhere"
shares "another trace" bare --reference only --sampled
rec whole --sample-only -- ./prog 1500
"$WEFT" report --reference whole bare | grep -q 'of a run of the same command' ||
	fail "the length of the same command's run is guessed"
"$WEFT" report --reference only bare | grep -q 'of a run of the same command' &&
	fail "another command is the same"
# A reference that has lost its end may have lost more.
cp -r whole torn
printf none | dd of=torn/spill.weft conv=notrunc 2>/dev/null
"$WEFT" report --reference torn bare >table 2>&1
grep -q 'lost: a part of the reference, maybe' table ||
	fail "a damaged reference: $(head -n 5 table)"
# Lines are the reference's: the recording alone may have none.
"$WEFT" record --sample-rate 0 -o unsampled -- ./prog 1500 >out 2>err || fail "unsampled: $(cat err)"
"$WEFT" lines --csv inlined unsampled >csv 2>says && fail "lines from nowhere: $(cat csv)"
"$WEFT" lines --csv --reference only inlined unsampled >csv 2>says ||
	fail "no lines by a reference: $(cat says)"
grep -q ',line,' csv || fail "lines by a reference: $(cat csv)"
"$WEFT" report --reference bare same >table 2>why && fail "a trace without reference is one"
grep -q 'holds no reference' why || fail "not said: $(cat why)"

./prog 100000 n >served &
pid=$!
sleep 0.3
timeout --preserve-status -s INT 6 "$WEFT" record --sample-rate 4000 -o attached -p $pid --reference 2s >out 2>err ||
	fail "attach: $(cat err)"
timeout --preserve-status -s INT 2 "$WEFT" record --sample-rate 4000 -o watched -p $pid --sample-only >out 2>err ||
	fail "sample-only, attached: $(cat err)"
grep -q 'reference: .* samples' err || fail "nothing was sampled: $(cat err)"
kill -0 $pid || fail "the program was hurt"
pkill -P $pid
kill $pid
wait $pid 2>/dev/null
of="leaf threaded inlined" points=12
shares "before it is attached" attached
shares "attached, another trace" attached --reference watched
"$WEFT" report --reference watched attached | grep -q 'of a run of the same command' &&
	fail "two parts of a run are taken for whole runs"

# A run that did less is no reference of this one; nor is one that fails.
rec less --reference -- ./prog 3000 - "$T/there"
"$WEFT" report less >table 2>&1 || fail "less: $(cat table)"
grep -q 'is not used: the recorded run did not do the same work' table ||
	fail "a tenth of the work is taken for all: $(head -n 5 table)"
# Without LuaJIT's compiler the run is slower, and reports say by how much.
cat >slow.lua <<'END'
local function sum(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
for _ = 1, 400000 do sum(300) end
END
rec jit --reference --lua-init -- luajit slow.lua
"$WEFT" report jit >table 2>&1 || fail "jit: $(cat table)"
grep -q "compiler was off.*; recorded, the program took [1-9][0-9.]* times the CPU time" \
	table || fail "jit: $(head -n 8 table)"
"$WEFT" record --reference=./none -o none -- ./prog 10 >out 2>err &&
	fail "a reference of no program"
[ ! -e none ] || fail "a trace is left of it"
for wrong in '--sample-only --reference' '--sample-only --count-only' '-p 1 --reference=x'; do
	"$WEFT" record -o wrong $wrong -- ./prog 10 >out 2>err
	[ $? = 1 ] || fail "$wrong is taken: $(cat err)"
done
exit 0
