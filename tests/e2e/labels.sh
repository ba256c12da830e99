#!/bin/bash
# Labels of the command line and of WEFT_LABELS are in every piece of a trace,
# in every snapshot, and in what weft makes of them. Where both name a key, the
# command line counts.
# SPDX-License-Identifier: MIT
. tests/lib.sh
export WEFT_LABELS='project=shop,zone=west,,text=a=b'
set -- --label zone=east --label service=api --label service=web
want='project=shop service=web text=a=b zone=east'

# labelled TRACE: its labels but weft's own, of a trace that may have no calls.
labelled() {
	"$WEFT" info "$1" >"$T/info" 2>"$T/err" || fail "$1: weft info fails"
	[ "$(sed -n 's/^label\.\([a-z]*\)  *\(.*\)/\1=\2/p' "$T/info" |
		grep -v ^snapshot= | sort | xargs)" = "$want" ] ||
		fail "$1: $(grep label "$T/info")"
}

record "$@" --compress none --pool-size 1M --on-full wait --max-size 1M \
	--max-files 3 -- "$P/p_pieces" 200000 || fail "status"
[ ! -e "$T/trace/piece-000001" ] || fail "the first piece is still there"
labelled "$T/trace"
report --by label
grep -qF "$want" "$T/report.csv" || fail "$(head -n 2 "$T/report.csv")"
for piece in "$T"/trace/piece-*; do
	labelled "$piece"
done

# A sample's labels in a profile, under keys of their own; and in a database.
record "$@" --label tid=x -- "$P/p_pieces" 1000 || fail "status"
"$WEFT" export -o "$T/run.pb" "$T/trace" || fail "weft export fails"
gzip -dc "$T/run.pb" | grep -aq 'label\.tid' || fail "a thread's tid is hidden"
for word in project shop service web; do
	gzip -dc "$T/run.pb" | grep -aq "$word" || fail "no $word in the profile"
done
"$WEFT" report --csv --by label "$T/run.pb" >"$T/profile.csv" 2>/dev/null ||
	fail "the profile cannot be read"
"$WEFT" report --csv --by label "$T/trace" 2>/dev/null |
	cmp - "$T/profile.csv" || fail "the profile has another report"
"$WEFT" export -f sqlite -o "$T/run.db" "$T/trace" || fail "weft export fails"
rows=$(sqlite3 "$T/run.db" "SELECT key || '=' || value FROM labels
	WHERE key <> 'tid' ORDER BY key" | xargs)
[ "$rows" = "$want" ] || fail "in the database: $rows"

# Several traces are told apart by them.
mv "$T/trace" "$T/east"
WEFT_LABELS=zone=west record -- "$P/p_pieces" 1000 || fail "status"
"$WEFT" report --csv --by label "$T/east" "$T/trace" >"$T/report.csv" \
	2>"$T/err" || fail "weft report fails"
for zone in east west; do
	grep -F "zone=$zone" "$T/report.csv" | grep -q . || fail "no zone=$zone"
done

record "$@" --flight-recorder 1M --snapshot-on 'early > 1ns' -- \
	"$P/p_pieces" 200000 || fail "status"
[ -e "$T/trace/snapshot-1" ] || fail "no snapshot"
for snapshot in "$T"/trace/snapshot-*; do
	labelled "$snapshot"
done

WEFT_LABELS=zone "$WEFT" record -o "$T/none" true 2>"$T/err"
[ $? = 1 ] || fail "a label without a value is not refused"
grep -q 'WEFT_LABELS, "zone": it is not KEY=VALUE' "$T/err" || fail "no message"
exit 0
