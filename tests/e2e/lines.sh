#!/bin/bash
# weft lines: the hot line of a function has most samples, what is inlined there
# is told apart, and code that is not recorded stands below; without its source,
# and where the source has hostile text.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
mkdir "$T/src" || fail "no folder"
cp tests/prog/lines/hot.c "$T/src" || fail "no source"
sed -i "18s|\$| /* $(printf '\033[31m') */|" "$T/src/hot.c"
gcc -O1 -g -finstrument-functions -o "$T/hot" "$T/src/hot.c" ||
	fail "no program"
# How many samples a second has depends on the machine: shares of few of them
# say little.
for longer in "" "4" "4 4"; do
	# shellcheck disable=SC2086 # one word each
	record "$T/hot" $longer || fail "weft record fails"
	"$WEFT" lines hot "$T/trace" >"$T/out" 2>"$T/err" || {
		grep -q 'the trace has no samples' "$T/err" ||
			fail "weft lines fails"
		echo "the kernel takes no samples here"
		exit 77
	}
	"$WEFT" lines --csv hot "$T/trace" >"$T/csv" 2>"$T/err" ||
		fail "no CSV"
	samples=$(awk -F, '$2 == "line" || $2 == "below" { n += $8 }
		END { print n + 0 }' "$T/csv")
	[ "$samples" -lt 300 ] || break
done
grep -q "^hot (native, hot.c:14): " "$T/out" || fail "head: $(cat "$T/out")"
grep -q '[0-9]%  *18 .*\\x1b\[31m' "$T/out" ||
	fail "hostile source: $(cat "$T/out")"
# share KIND LINE FUNCTION: the percentage, without its fraction.
share() {
	awk -F, -v kind="$1" -v line="$2" -v name="$3" \
		'$2 == kind && (line == "" || $7 == line) &&
		 (name == "" || $4 == name) { n += $9 } END { print int(n) }' \
		"$T/csv"
}
# Shares by the work that is done: 60 %, 30 %, 10 %.
[ "$samples" -lt 300 ] ||
	{ [ "$(share line 16 "")" -ge 45 ] && [ "$(share line 18 "")" -ge 15 ] &&
		[ "$(share inlined 7 mix)" -ge 40 ] &&
		[ "$(share below "" helper)" -ge 4 ]; } ||
	fail "shares: $(cat "$T/csv")"
echo "note: lines, $samples samples: $(share line 16 "") % of 60, $(share line 18 "") of 30," \
	"$(share below "" helper) of 10"

mv "$T/src" "$T/elsewhere"
"$WEFT" lines hot "$T/trace" >"$T/out" 2>"$T/err" || fail "without source"
grep -q "^note: there is no $T/src/hot.c here" "$T/out" ||
	fail "not said: $(cat "$T/out")"
grep -qE '^ *[0-9,]+ .* 16 *$' "$T/out" || fail "no line: $(cat "$T/out")"
touch "$T/elsewhere/hot.c"
"$WEFT" lines --source "$T/nowhere" --source "$T/elsewhere" hot "$T/trace" \
	>"$T/out" || fail "with --source"
grep -q ' 16 .*mix(6 \* n)' "$T/out" || fail "no text: $(cat "$T/out")"
grep -q 'hot.c was changed after the recording' "$T/out" ||
	fail "not said: $(cat "$T/out")"

# Of Lua, the code of the interpreter is known.
cat >"$T/hot.lua" <<'L'
local function hot(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
for i = 1, 300 do hot(100000) end
L
has_lines() {
	record --lua-init -- lua5.4 "$T/hot.lua" || fail "weft record fails"
	"$WEFT" lines 'hot' "$T/trace" >"$T/out" 2>"$T/err"
}
one_of 4 has_lines
grep -q '^this is a Lua function: samples say which code of Lua ran' "$T/out" ||
	fail "not said: $(cat "$T/out")"
grep -qE '^ *[0-9,]+ .* luaV_execute  ' "$T/out" || grep -q 'no name' "$T/out" ||
	fail "no code of Lua: $(cat "$T/out")"
"$WEFT" lines nobody "$T/trace" 2>"$T/err" && fail "nobody is found"
grep -q 'no function that ran is called' "$T/err" || fail "no word"
