#!/bin/bash
# weft export --format sqlite: what the database says is what weft report says,
# also of the second session; names are data; a file that is damaged or another
# program's stays as it is; every query of the page runs.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
. tests/cli/export/figures.inc
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed"; exit 77; }

add() {
	"$W" export -f sqlite --raw -o "$T/db" "$@" 2>"$T/e" ||
		fail "$*: $(cat "$T/e")"
}
ask() {
	sqlite3 -batch "$T/db" "$@" 2>"$T/e" || fail "$*: $(cat "$T/e")"
}
# Rows of a query as CSV with a head. Newer shells end lines by CR LF.
rows() {
	ask -csv -header "$1" | sed 's/\r$//'
}
make_trace 1 coroutines=1 chunks=8 threads=2
make_trace 2 coroutines=1 chunks=6 twins=1
made_sessions 12 14
for n in 3:12 4:14; do
	mv "$T/${n#*:}" "$T/${n%:*}"
	mv "$T/${n#*:}.log" "$T/${n%:*}.log"
done
labels=0
tree="FROM nodes n JOIN functions f USING (session)
	WHERE f.id = n.function AND session ="
for n in 1 2 3 4; do
	add "$T/$n"
done
[ "$(ask 'PRAGMA integrity_check' 'PRAGMA user_version')" = "ok
3" ] || fail "integrity: $(ask 'PRAGMA integrity_check')"
for n in 1 2 3 4; do
	for key in calls self_ns total_ns suspended_ns p50_ns max_ns; do
		reported "$T/$n" $key >"$T/want"
		rows "SELECT * FROM functions WHERE session = $n" |
			summed $key | diff "$T/want" - ||
			fail "session $n: other $key"
	done
	for key in calls self_ns; do
		reported "$T/$n" $key >"$T/want"
		rows "SELECT name, language, n.$key $tree $n" |
			summed $key | diff "$T/want" - ||
			fail "session $n: the tree has other $key"
	done
	reported "$T/$n" total_ns >"$T/want"
	rows "SELECT name, language, n.total_ns, is_outermost $tree $n" |
		summed total_ns is_outermost | diff "$T/want" - ||
		fail "session $n: the tree has other total_ns"
	# A log has "process N PID" and "label N KEY VALUE"; 0: of all.
	if [ -e "$T/$n.log" ]; then
		awk '$1 == "process" { pid[$2] = $3 }
			$1 == "label" { of[$3 "|" $4, $2] = $2 }
			END { for (l in of) {
				split(l, text, SUBSEP)
				print pid[of[l]] + 0 "|" text[1]
			} }' "$T/$n.log" | sort >"$T/want"
		ask "SELECT coalesce(p.pid, 0), key, value FROM labels l
			LEFT JOIN processes p ON p.session = l.session AND
			p.id = l.process WHERE l.session = $n" | sort | diff "$T/want" - ||
			fail "session $n: other labels"
		labels=$((labels + $(wc -l <"$T/want")))
	fi
	"$W" coroutines --csv "$T/$n" 2>/dev/null | awk -F, 'NR > 1 {
		n++; r += $(NF - 4) } END { print n + 0 "|" r + 0 }' >"$T/want"
	ask "SELECT count(*), coalesce(sum(resumes), 0) FROM coroutines
		WHERE session = $n" | diff "$T/want" - ||
		fail "session $n: other coroutines"
	ask "SELECT c.id FROM coroutines c WHERE session = $n AND resumes !=
		(SELECT coalesce(sum(r.resumes), 0) FROM resumes r WHERE
		r.session = $n AND r.process = c.process AND
		r.coroutine = c.id) OR suspended_ns != (SELECT
		coalesce(sum(slept_ns), 0) FROM resumes r WHERE
		r.session = c.session AND r.process = c.process AND
		r.coroutine = c.id)" >"$T/o"
	[ ! -s "$T/o" ] || fail "session $n: other resumes of $(cat "$T/o")"
	"$W" slow --csv -s self -n 1000 '*' "$T/$n" 2>/dev/null >"$T/slow"
	ask "SELECT count(*), sum(self_ns), sum(total_ns), sum(suspended_ns)
		FROM slow_calls WHERE session = $n" >"$T/o"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ n++; s += $at["self_ns"]; t += $at["total_ns"]
		  w += $at["suspended_ns"] }
		END { printf "%d|%.0f|%.0f|%.0f\n", n, s, t, w }' "$T/slow" | diff - "$T/o" ||
		fail "session $n: other slow calls"
done
[ $labels -ge 2 ] || fail "$labels labels"
[ "$(ask 'SELECT count(*) FROM stacks')" = \
	"$(ask 'SELECT count(*) FROM nodes')" ] || fail "stacks are missing"

# The queries of the page, which ask for names that are not here: for these.
awk '/^## Queries/ { on = 1 }
	on && /^    / { print; if (/;$/) print "--" }' docs/queries.md |
	sed "s/'parse'/'made-up+0x3000'/; s/'build'/'key'/" >"$T/queries"
[ "$(grep -c '^--$' "$T/queries")" -ge 10 ] || fail "less than ten queries"
ask "INSERT INTO labels SELECT id, NULL, 'key', 'v' || id FROM sessions"
query=
while IFS= read -r line; do
	if [ "$line" != -- ]; then
		query="$query$line "
		continue
	fi
	[ -n "$(ask "$query")" ] || fail "nothing: $query"
	query=
done <"$T/queries"
# query WORDS: the query below the line that has these words.
query() {
	awk -v words="$1" 'index($0, words) { on = 1 } on && /^    / { print }
		on && /;$/ { exit }' docs/queries.md |
		sed "s/'parse'/'made-up+0x3000'/"
}
# What p_write_trace says it wrote.
calls() { awk '$1 == 2 { print $2 }' "$T/$1.calls"; }
ask "$(query 'became slower')" | grep -q \
	"^made-up+0x3000|.*|$(($(calls 2) - $(calls 1)))$" ||
	fail "other differences: $(ask "$(query 'became slower')")"
[ "$(ask "$(query 'calls a function')" | head -n 1)" = \
	"made-up+0x2000|192|0.002112" ] || fail "another caller"

# Names that are SQL, or worse.
hostile_trace h
add --debug-dir "$T/debug" "$T/h"
"$W" export -f json --debug-dir "$T/debug" "$T/h" 2>/dev/null >"$T/json"
jq -r '.functions.rows[][1]' "$T/json" >"$T/want"
ask "SELECT name FROM functions WHERE session = 5" | diff "$T/want" - ||
	fail "other names"
[ "$(ask 'PRAGMA integrity_check')" = ok ] || fail "damaged by names"

# What is no database of weft's is refused, and not touched.
refuse() {
	cp "$T/db" "$T/before"
	"$W" export -f sqlite -o "$T/db" "$T/1" 2>"$T/e" && fail "took $1"
	grep -q "$2" "$T/e" || fail "$1: says $(cat "$T/e")"
	cmp "$T/db" "$T/before" || fail "$1: changed the file"
	[ ! -e "$T/db-journal" ] || fail "$1: left a journal"
}
cp "$T/db" "$T/good"
cp README.md "$T/db"
refuse "a text" 'file is not a database'
head -c 20000 "$T/good" >"$T/db"
refuse "a part" 'damaged\|malformed'
{
	head -c 12288 "$T/good"
	head -c 4096 /dev/zero | tr '\0' '\377'
	tail -c +16385 "$T/good"
} >"$T/db"
refuse "a damaged page" 'damaged\|malformed'
cp "$T/good" "$T/db"
ask 'PRAGMA user_version = 4'
refuse "a later version" 'version 4, and this weft writes version 3'
rm "$T/db"
ask 'CREATE TABLE nodes(x)'
refuse "another's database" 'of another program'
cp "$T/good" "$T/db"
ask 'ALTER TABLE nodes RENAME COLUMN depth TO other'
refuse "other columns" 'no column named'
"$W" export -f sqlite -o "$T/new" "$T/none" 2>"$T/e" && fail "no trace"
[ ! -e "$T/new" ] || fail "a file for no trace"
"$W" export -f sqlite "$T/1" 2>"$T/e"
[ $? = 1 ] && grep -q 'give -o FILE' "$T/e" || fail "stdout: $(cat "$T/e")"
"$W" export -f sqlite -o "$T/none/db" "$T/1" 2>"$T/e" && fail "no folder"
grep -q 'cannot write' "$T/e" || fail "no folder: $(cat "$T/e")"
# Two at a time: one after the other.
cp "$T/good" "$T/db"
"$W" export -f sqlite -o "$T/db" "$T/1" 2>"$T/e" &
"$W" export -f sqlite -o "$T/db" "$T/2" 2>"$T/e2" ||
	fail "two at a time: $(cat "$T/e2")"
wait $! || fail "two at a time: $(cat "$T/e")"
[ "$(ask 'SELECT count(*) FROM sessions')" = 7 ] || fail "not seven sessions"
exit 0
