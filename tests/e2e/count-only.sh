#!/bin/bash
# Calls that are only counted: what a killed program had called is there, to the
# call; reports have no times and say so; profiles, merge, export and any number
# of workers count the same; nothing is chosen by time.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/p_kill.inc
# killed OPTION...: p_kill, recorded so and killed while all threads call.
killed() {
	rm -rf "$T/trace" "$T/counts"
	"$WEFT" record "$@" -o "$T/trace" -- "$P/p_kill" "$T/counts" \
		>"$T/out" 2>"$T/err" &
	recorder=$!
	await started || fail "the program did not start"
	for i in 0 1 2 3; do
		await has_called $i || fail "thread $i does not call"
	done
	kill -9 "$pid"
	wait $recorder
	report
	nothing_lost
	sum=0
	for i in 0 1 2 3; do
		own=$(own $i)
		weft=$(calls work_$i)
		[ "$weft" = "$own" ] || [ "$weft" = $((own + 1)) ] ||
			fail "$*: work_$i: $own calls, weft says $weft"
		sum=$((sum + weft))
	done
}

# The same of single functions, beside one that is recorded; without samples.
killed --sample-rate 0 --count 'work_[012]' --count 'work_0|work_1|work_2'
grep -q 'calls counted, without records' "$T/err" ||
	fail "the summary does not say it: $(cat "$T/err")"
awk -F, '$1 ~ /^work_[012]$/ && $7 $8 $11 $12 $13 != "" { exit 1 }
	$1 == "work_3" && !($7 > 0) { exit 1 }' "$T/report.csv" ||
	fail "times of what was counted: $(cat "$T/report.csv")"
"$WEFT" report "$T/trace" | grep -q 'recorded with --count "work_\[012' ||
	fail "the report does not say it"
"$WEFT" info "$T/trace" | grep -q '^filter.counted *3$' ||
	fail "info does not say it"

# Calls that give their records back.
killed --min-duration 1ms
"$WEFT" report "$T/trace" | grep -q 'calls without records, shorter than 1.000 ms and' ||
	fail "the report does not say it: $("$WEFT" report "$T/trace")"
awk -F, '$1 ~ /^work_/ && !($7 > 0 && $12 == "") { exit 1 }' \
	"$T/report.csv" || fail "no times: $(cat "$T/report.csv")"
for jobs in 1 4; do
	"$WEFT" tree --csv --jobs $jobs "$T/trace" 2>/dev/null >"$T/tree.$jobs"
done
cmp "$T/tree.1" "$T/tree.4" || fail "workers count brief calls otherwise"
"$WEFT" export -o "$T/a.pb.gz" "$T/trace" || fail "export fails"
"$WEFT" tree --csv "$T/a.pb.gz" 2>/dev/null | cmp - "$T/tree.1" ||
	fail "a profile counts brief calls otherwise"
"$WEFT" report --from 1ms "$T/trace" >/dev/null 2>&1 &&
	fail "brief calls were chosen by time"
# Of single stacks, too, no length is told that is not known.
"$WEFT" export -f csv "$T/trace" 2>/dev/null | awk -F, -v sum=$sum '
	$8 ~ /^work_/ { n += $13; if ($26 != "" || $14 == "") exit 1 }
	END { exit n != sum }' || fail "an export tells other brief calls"
"$WEFT" merge -o "$T/b.pb.gz" "$T/a.pb.gz" "$T/a.pb.gz" || fail "merge fails"
"$WEFT" report --csv "$T/b.pb.gz" 2>"$T/err" | awk -F, -v sum=$((2 * sum)) '
	$1 ~ /^work_/ { n += $6; if ($12 != "") exit 1 }
	END { exit n != sum }' || fail "a merge counts brief calls otherwise"
"$WEFT" record --count-only --min-duration 1ms -- true >/dev/null 2>"$T/err" &&
	fail "no times, and short ones"

killed --count-only --sample-rate 0
grep -q 'calls counted' "$T/err" || fail "the summary does not say it"

# No time is invented.
awk -F, 'NR > 1 && $7 $8 $11 $12 $13 != "" { exit 1 }' "$T/report.csv" ||
	fail "calls that were only counted have times: $(cat "$T/report.csv")"
"$WEFT" report "$T/trace" >"$T/text" || fail "report fails"
grep -q 'there are no times' "$T/text" || fail "the report does not say it"
! grep -qw self "$T/text" || fail "there is a column of times"
"$WEFT" info "$T/trace" | grep -q 'count-only' || fail "info does not say it"
"$WEFT" explain "$T/trace" | grep -q 'there are no times' ||
	fail "explain says of times that none is long"
"$WEFT" tree "$T/trace" | grep -q '^100.0% .*threads' ||
	fail "the tree has no shares of calls: $("$WEFT" tree "$T/trace")"
"$WEFT" report --sort self "$T/trace" >/dev/null 2>"$T/err" &&
	fail "sorted by a time"
"$WEFT" report --from 1ms "$T/trace" >/dev/null 2>"$T/err" &&
	fail "a part was chosen by time"
grep -q 'no part can be chosen by time' "$T/err" || fail "it is not said why"
"$WEFT" check "$T/trace" >"$T/out" 2>&1 || fail "check: $(cat "$T/out")"
"$WEFT" dump --raw "$T/trace" | grep -q 'calls=' || fail "dump shows no counts"

# The same figures by every way.
for jobs in 1 3; do
	"$WEFT" tree --csv --jobs $jobs "$T/trace" 2>/dev/null >"$T/tree.$jobs"
done
cmp "$T/tree.1" "$T/tree.3" || fail "workers count otherwise"
"$WEFT" export -o "$T/a.pb.gz" "$T/trace" || fail "export fails"
"$WEFT" report --csv "$T/a.pb.gz" 2>"$T/err" | awk -F, -v sum=$sum '
	$1 ~ /^work_/ { n += $6; times = times $7 }
	END { exit n != sum || times != "" }' || fail "a profile counts otherwise"
"$WEFT" merge -o "$T/b.pb.gz" "$T/a.pb.gz" "$T/a.pb.gz" || fail "merge fails"
"$WEFT" report --csv "$T/b.pb.gz" 2>"$T/err" | awk -F, -v sum=$((2 * sum)) '
	$1 ~ /^work_/ { n += $6; times = times $7 }
	END { exit n != sum || times != "" }' || fail "a merge counts otherwise"
"$WEFT" diff "$T/trace" "$T/a.pb.gz" >"$T/out" || fail "diff fails"
"$WEFT" export -f csv "$T/trace" 2>/dev/null | awk -F, -v sum=$sum '
	$8 ~ /^work_/ { n += $13; times = times $14 $15 $26 $27 $30 }
	END { exit n != sum || times != "" }' || fail "csv counts otherwise"
"$WEFT" export -f callgrind "$T/trace" 2>/dev/null >"$T/out"
grep -qx 'events: Calls' "$T/out" || fail "callgrind has times"

# Tests that compare nothing but calls are right where these are counted: windows
# in mid-run, modules that come and go, ends of every kind, forks.
cat >"$T/weft" <<'END'
#!/bin/sh
command=$1
shift
[ "$command" != record ] || set -- --count-only "$@"
exec "$REAL" "$command" "$@"
END
chmod +x "$T/weft"
for other in titles reopen ends fork-exec; do
	mkdir "$T/$other"
	REAL=$WEFT WEFT=$T/weft T=$T/$other "tests/e2e/$other.sh" \
		>"$T/said" 2>&1 || fail "$other, counted: $(tail -n 5 "$T/said")"
done
