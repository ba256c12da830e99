#!/bin/bash
# Names that would do harm if they were taken for anything but text, and traces
# without a call: each format stays what it is.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
. tests/cli/export/figures.inc
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }
formats=$("$W" export --help | tr '\n' ' ' |
	sed 's/.*what to write: \([a-z, -]*\) (default.*/\1/; s/,//g')
[ "$(echo "$formats" | wc -w)" -ge 8 ] || fail "formats: $formats"

hostile_trace h
long=$("$W" report --csv --debug-dir "$T/debug" "$T/h" 2>/dev/null |
	tr -cd A | wc -c)
[ "$long" -gt 1000 ] || fail "no long name"
for f in $formats; do
	"$W" export -f "$f" --debug-dir "$T/debug" -o "$T/h.$f" "$T/h" \
		2>"$T/e" || fail "$f: $(cat "$T/e")"
	# A profile keeps names as they are: weft reads it back.
	[ $f = pprof ] || ! LC_ALL=C grep -qaF -e $'\x1b[31m' -e $'\x1b]0;' \
		-e $'\xff\xfe' -e $'\u202e' "$T/h.$f" ||
		fail "$f: a name as it is"
	case $f in
	pprof | sqlite | perfetto) continue ;; # not text
	esac
	iconv -f utf-8 -t utf-8 "$T/h.$f" >/dev/null || fail "$f: not UTF-8"
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$T/h.$f" ||
		fail "$f: control characters"
	! grep -q $'\u202e' "$T/h.$f" || fail "$f: turns the direction"
	# weft itself keeps 4 KB of a name.
	[ "$(tr -cd A <"$T/h.$f" | wc -c)" -ge "$long" ] ||
		fail "$f: the long name is cut"
	if [ "$(head -c 1 "$T/h.$f")" = '{' ]; then
		jq . "$T/h.$f" >/dev/null || fail "$f: no JSON"
		! grep -q '</script' "$T/h.$f" || fail "$f: ends a script"
	fi
done
# No name becomes a row, a field or a formula.
"$W" report --csv --debug-dir "$T/debug" "$T/h" 2>/dev/null |
	summed self_ns >"$T/want"
summed self_ns <"$T/h.csv" | diff "$T/want" - || fail "csv: other rows"
! grep -qE '(^|,)"?[=+@-]' "$T/h.csv" || fail "csv: a formula"
[ "$(wc -l <"$T/want")" = 6 ] || fail "names: $(cut -c 1-80 "$T/want")"
grep -vcE '^[^;]+(;[^;]+)* [0-9]+$' "$T/h.collapsed" && fail "collapsed"
[ "$(grep -c '^fn=' "$T/h.callgrind")" = 7 ] || fail "callgrind"

# A trace without calls gives an empty file of its kind.
make_trace none chunks=0
"$W" report "$T/none" >"$T/o" 2>&1 && fail "it has calls: $(cat "$T/o")"
for f in $formats; do
	"$W" export -f "$f" -o "$T/none.$f" "$T/none" 2>"$T/e"
	[ $? = 2 ] && grep -q 'no calls\|holds no call' "$T/e" ||
		fail "$f: $(cat "$T/e")"
	[ -e "$T/none.$f" ] || fail "$f: no file"
	# A file that may not grow is an error, and no death by a signal.
	said=$(ulimit -f 0; "$W" export -f "$f" -o "$T/full.$f" "$T/h" 2>&1)
	[ $? = 2 ] && [[ $said == *"cannot write"* ]] ||
		fail "$f: a file that cannot grow: $said"
	[ "$(head -c 1 "$T/none.$f")" != '{' ] || jq . "$T/none.$f" \
		>/dev/null || fail "$f: no JSON"
done
[ "$(jq -c .functions.rows "$T/none.json")" = '[]' ] || fail "json: not empty"
grep -q '^totals: 0 0 0$' "$T/none.callgrind" || fail "callgrind: not empty"
exit 0
