#!/bin/bash
# Calls that are only counted: what a killed program had called is there, to the
# call; reports have no times and say so; profiles, merge, export and any number
# of workers count the same; nothing is chosen by time.
# SPDX-License-Identifier: MIT
. tests/lib.sh
started() {
	pid=$(pgrep -f "^$P/p_kill $T/counts" | head -n 1)
	[ -n "$pid" ] && [ -s "$T/counts" ]
}
own() {
	od -An -t u8 -j $(($1 * 64)) -N 8 "$T/counts" | tr -d ' '
}
has_called() {
	[ "$(own "$1")" -gt 10000 ]
}
"$WEFT" record --count-only -o "$T/trace" -- "$P/p_kill" "$T/counts" \
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
		fail "work_$i: $own calls finished, weft says $weft"
	sum=$((sum + weft))
done
grep -q 'calls counted' "$T/err" || fail "the summary does not say it"

# No time is invented.
awk -F, 'NR > 1 && $7 $8 $11 $12 $13 != "" { exit 1 }' "$T/report.csv" ||
	fail "calls that were only counted have times: $(cat "$T/report.csv")"
"$WEFT" report "$T/trace" >"$T/text" || fail "report fails"
grep -q 'there are no times' "$T/text" || fail "the report does not say it"
! grep -qw self "$T/text" || fail "there is a column of times"
"$WEFT" info "$T/trace" | grep -q 'count-only' || fail "info does not say it"
"$WEFT" tree "$T/trace" | grep -q '^100.0% .*threads' ||
	fail "the tree has no shares of calls: $("$WEFT" tree "$T/trace")"
"$WEFT" report --sort self "$T/trace" >/dev/null 2>"$T/err" &&
	fail "sorted by a time"
"$WEFT" report --from 1ms "$T/trace" >/dev/null 2>"$T/err" &&
	fail "a part was chosen by time"
grep -q 'have no times' "$T/err" || fail "it is not said why"
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
