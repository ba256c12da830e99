#!/bin/bash
# Lua that is sampled, in one version: functions have the shares that os.clock
# says they have, native ones stand where they do, no calls are shown that nobody
# counted, and the program does what it does by itself, whatever it does with its
# states, threads, signals and hooks.
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# SPDX-License-Identifier: MIT
. tests/lib.sh
v=$1
gcc -O2 -g -finstrument-functions -o "$T/host" tests/prog/lua/sampled.c \
	$(pkg-config --cflags --libs $v) -lpthread || fail "the host is not built"
sampled() { record --lua sampled "$@" || fail "$*: weft record fails"; }

# near NAME...: of the time of all of these, each has the share that os.clock gave
# it, within 8 points: some 350 ticks have an error below 2.7. Native functions are
# not among them: their times may hold time without a CPU.
near() {
	awk -F'[ ,]' -v names="$*" '
		BEGIN { n = split(names, name, " ") }
		FNR == NR && $1 == "share" { said[$2] = $3 }
		FNR != NR { gsub(/"/, ""); is[$1] = $9 }
		END {
			for (i = 1; i <= n; i++) {
				a += said[name[i]]
				b += is[name[i]]
			}
			for (i = 1; i <= n; i++) {
				x = 100 * said[name[i]] / a
				y = 100 * is[name[i]] / b
				print name[i], "said", x, "is", y
				bad = bad || x - y > 8 || y - x > 8
			}
			exit bad
		}' "$T/out" "$T/report.csv" >"$T/shares" ||
		fail "the program says other shares: $(cat "$T/shares")"
}

shares() {
	sampled --sample-rate 0 -- "$T/host" script tests/prog/lua/sampled.lua
	report --raw
	nothing_lost
	near numbers texts inner $([ $v = luajit ] || echo fib)
	# What led calls tell is exact; of Lua's own nothing is known.
	n=$(calls spin)
	[ "$n" -gt 10 ] && [ "$n" = "$(calls call)" ] || fail "spin: $n calls"
	awk -F, '$2 == "lua" && $6 != "" { print; bad = 1 } END { exit bad }' \
		"$T/report.csv" || fail "calls of Lua functions are told"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		at["run_wait_ns"] && $2 == "lua" {
			bad += $at["run_wait_ns"] == "0" ||
			       $at["total_run_wait_ns"] == "0"
		}
		END { exit bad > 0 }' "$T/report.csv" ||
		fail "Lua functions are said to have waited for no core"
}
one_of 3 shares
"$WEFT" report --raw --columns calls,name --top 0 "$T/trace" 2>&1 |
	grep -Eq '^ +- +numbers <sampled.lua:[0-9]+>' ||
	fail "the table has no - for calls"
"$WEFT" report "$T/trace" 2>&1 | grep -q 'Lua was sampled: its functions' ||
	fail "the report does not say that Lua was sampled"
# Stitched: what a C function of the program's calls stands below it.
"$WEFT" tree --raw --csv "$T/trace" 2>&1 | grep -q '"\?inner ' ||
	fail "inner is not in the tree"
"$WEFT" export -f folded "$T/trace" 2>/dev/null | grep -q ';call;inner' ||
	fail "inner does not stand below call"
"$WEFT" check "$T/trace" >"$T/check" 2>&1 || fail "$(cat "$T/check")"
"$WEFT" info "$T/trace" | grep -q ', sampled' ||
	fail "weft info does not say that the state was sampled"
"$WEFT" dump --raw "$T/trace" >"$T/dump" 2>/dev/null
grep -q 'NOTED' "$T/dump" || fail "nothing was noted"
"$WEFT" slow numbers "$T/trace" >"$T/slow" 2>&1 &&
	fail "weft slow finds calls of a sampled function: $(cat "$T/slow")"
grep -q 'Lua was sampled' "$T/slow" || fail "weft slow does not say why"
if [ $v = luajit ]; then
	grep -q 'NOTED flags=2' "$T/dump" || fail "no compiled code: is it off?"
fi

# Nor can calls be compared with none.
mv "$T/trace" "$T/noted"
record -- "$T/host" script tests/prog/lua/sampled.lua || fail "weft record fails"
for by in "" --counts; do
	"$WEFT" diff $by "$T/trace" "$T/noted" >"$T/diff" 2>&1 && fail "compared: $(cat "$T/diff")"
	grep -q 'Lua was sampled after' "$T/diff" || fail "not said: $(cat "$T/diff")"
done
"$WEFT" diff "$T/noted" "$T/noted" >"$T/diff" 2>&1 || fail "sampled twice: $(cat "$T/diff")"

# With a reference, code that Lua compiled and that of its library is the Lua
# functions'; hardly anything is nobody's.
referred() {
	sampled --reference -- "$T/host" script tests/prog/lua/sampled.lua
	no_switches "$T/trace" >"$T/why" && return
	"$WEFT" report --csv -n 0 "$T/trace" >"$T/report.csv" 2>"$T/report.err" ||
		fail "no report"
	grep -q 'of the program as it runs unrecorded' "$T/report.err" || fail "no reference"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ all += $at["cpu_ns"] }
		$at["function"] ~ /elsewhere/ { lost += $at["cpu_ns"] }
		END { print "[elsewhere] has", lost, "of", all; exit lost > all / 20 }' \
		"$T/report.csv" || fail "Lua's time is nobody's: $(cat "$T/report.csv")"
	near numbers texts inner $([ $v = luajit ] || echo fib)
}
one_of 3 referred

# The first line counts the samples of which it tells the share: not the
# collector's, which stand below.
cat >"$T/garbage.lua" <<'END'
local function mk()
	local t = {}
	for i = 1, 300 do t[i] = { i, tostring(i) } end
end
for i = 1, 6000 do mk() end
END
collected() {
	sampled --lua-init -- $v "$T/garbage.lua"
	"$WEFT" lines mk "$T/trace" >"$T/said" 2>&1 || fail "weft lines fails"
	grep -q '^ *[0-9].* \[garbage collector\]' "$T/said" ||
		fail "no tick met the collector"
	awk '/^mk / { for (i = 1; i <= NF; i++) if ($i ~ /^sample/) head = $(i - 1) }
		/^ *[0-9]+ +[0-9.]+% +[0-9.]+% +[0-9]/ { own += $1 }
		END { exit head != own || own == 0 }' "$T/said" ||
		fail "the first line has others: $(cat "$T/said")"
}
one_of 3 collected

# The hot line of a long function.
lines() {
	sampled --sample-rate 0 -- "$T/host" script tests/prog/lua/lines.lua
	"$WEFT" lines --csv long "$T/trace" >"$T/lines.csv" 2>"$T/err" || fail "$(cat "$T/err")"
	awk -F'[ ,]' '
		FNR == NR && $1 == "line" { line = $2; share = $3 }
		FNR != NR && /,line,/ { all += $(NF - 3); if ($(NF - 4) == line) hot = $(NF - 3) }
		END { print line, share, hot, all
		      exit !(all > 60 && hot > 0.8 * share * all) }' \
		"$T/out" "$T/lines.csv" >"$T/hot" || fail "the hot line: $(cat "$T/hot" "$T/lines.csv")"
}
one_of 3 lines

# The collector, below who caused its work.
collector() {
	sampled --sample-rate 0 -- "$T/host" script tests/prog/lua/collected.lua
	report --raw
	near make '[garbage'
	"$WEFT" explain --raw "$T/trace" >"$T/explained" 2>/dev/null
	grep -q '\[garbage collector\] takes .* of the time.*: ' \
		"$T/explained" ||
		fail "nothing explains the collector: $(cat "$T/explained")"
	# The slow call of C that ran all this: how much of it was collecting.
	"$WEFT" slow --csv -n 1 main "$T/trace" 2>/dev/null >"$T/slow" ||
		fail "weft slow fails"
	awk -F, 'FNR == NR && $1 == "share" { next }
		FNR == NR { split($0, w, " "); if (w[1] == "share") {
			all += w[3]; if (w[2] != "make") gc = w[3] } next }
		FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ ns = $at["collecting_ns"]
		  print "said", gc, "is", ns / 1e9
		  exit !(ns > gc * 0.85e9 && ns < gc * 1.15e9) }' \
		"$T/out" "$T/slow" >"$T/told" ||
		fail "weft slow says otherwise: $(cat "$T/told")"
}
one_of 3 collector

# The same output, the same end.
for what in many migrate closed forked hooked naps late blocked; do
	"$T/host" $what >"$T/alone" || fail "$what fails by itself"
	sampled -- "$T/host" $what
	diff "$T/alone" "$T/out" >"$T/err" || fail "$what: another output"
	report
	nothing_lost
	# Where it takes a signal that weft uses, weft uses the other.
	[ $what != late ] || ! grep 'not sampled' "$T/err" ||
		fail "late: it was not sampled"
done
# A program that handles both signals itself keeps them, and is not sampled.
sampled -- "$T/host" urgent
grep -qx 'signals 0' "$T/out" || fail "weft's signals came to the program"
grep -q 'a Lua state was not sampled' "$T/err" ||
	fail "weft does not say that it did not sample"
# Nor is one sampled that gives up system calls.
sampled -- "$T/host" confined
grep -q 'a Lua state was not sampled' "$T/err" ||
	fail "weft does not say that it no longer sampled"
# A LuaJIT that was built without its profiler. Of several states, one alone is
# sampled: that is said, and for how long the others may have run.
if [ $v = luajit ]; then
	cat >"$T/two.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
static void *run(void *unused)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_dostring(L, "local stop = os.clock() + 0.6\n"
			  "local s = 0\n"
			  "while os.clock() < stop do s = s + 1 end"))
		return unused;
	lua_close(L);
	return L;
}
int main(void)
{
	pthread_t t[3];
	void *done[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], &done[i]);
	return !done[0] || !done[1] || !done[2];
}
END
	# shellcheck disable=SC2046
	gcc -O1 -o "$T/two" "$T/two.c" -pthread \
		$(pkg-config --cflags --libs luajit) || fail "no compiler"
	sampled -- "$T/two"
	grep -q 'a Lua state was not sampled: .* one of several LuaJITs' \
		"$T/err" || fail "weft does not say that two were not sampled"
	"$WEFT" report "$T/trace" 2>&1 | awk '
		/Lua was sampled/ { split($0, w, "("); noted = w[2] + 0 }
		/more Lua (may have run|ran)/ { missed = $3 + 0 }
		END { exit !(missed > 0.8 * noted) }' ||
		fail "for how long they ran is not said"
	sed 's/luaJIT_profile_start/luaJIT_profile_omits/' \
		"$(ldd "$T/host" | awk '/libluajit/ { print $3 }')" \
		>"$T/libluajit-5.1.so.2"
	LD_LIBRARY_PATH=$T sampled -- "$T/host" many
	grep -q 'a Lua state was not sampled: .* without a profiler' "$T/err" ||
		fail "weft does not say that a LuaJIT has no profiler"
fi

# Stock interpreters: the state is sampled, although no calls of it are seen.
stock_shares() {
	sampled --sample-rate 0 --lua-init -- $v tests/prog/lua/sampled.lua 2
	report --raw
	nothing_lost
	near numbers texts
}
one_of 3 stock_shares
