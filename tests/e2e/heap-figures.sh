#!/bin/bash
# Memory is a figure as any other: the columns of report, tree, callers and
# coroutines, SQL, CSV, speedscope and the page have what weft heap has, in all and
# by function, also of a part of a trace, and of traces that are merged.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/work.lua" <<'END'
local kept = {}
local function keep(i) kept[#kept + 1] = ("x"):rep(100 + i) end
local function use(i) return #(("y"):rep(50 + i) .. i) end
local function nest(n) if n > 0 then keep(n) return nest(n - 1) + use(n) end return 0 end
local body = function() for i = 1, 50 do keep(i) coroutine.yield() end end
local cos = {}
for i = 1, 4 do cos[i] = coroutine.create(body) end
for i = 1, 50 do
	nest(8)
	for _, co in ipairs(cos) do coroutine.resume(co) end
end
io.stdout:flush()
os.exit(0, false)
END
# sum COLUMN: of a CSV on stdin.
sum() {
	awk -F, -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == want)
		at = i; next } { all += $at } END { printf "%d\n", at ? all : -1 }'
}
heap() {
	"$WEFT" heap --csv "$@" "$T/trace" 2>/dev/null
}
# equal WHAT GOT WANTED [BY]
equal() {
	[ "$2" -gt 0 ] && [ $(($2 - $3)) -le "${4-0}" ] &&
		[ $(($3 - $2)) -le "${4-0}" ] || fail "$1: $2, not $3"
}
# figures OFF: rows of samples are rounded.
figures() {
	local taken used off=$1 k
	taken=$(heap | sum allocated_bytes)
	used=$(heap | sum in_use_bytes)
	for k in allocated in-use; do
		"$WEFT" report --csv --columns "name,$k" "$T/trace" 2>/dev/null \
			>"$T/$k"
		"$WEFT" tree --csv --columns "depth,name,$k,total-$k" \
			"$T/trace" 2>/dev/null >"$T/tree-$k"
	done
	equal report "$(sum allocated_bytes <"$T/allocated")" "$taken" "$off"
	equal report "$(sum in_use_bytes <"$T/in-use")" "$used" "$off"
	equal tree "$(sum allocated_bytes <"$T/tree-allocated")" "$taken" "$off"
	equal "its roots" "$(grep -E '^(depth|0,)' "$T/tree-in-use" |
		sum total_in_use_bytes)" "$used" "$off"
	"$WEFT" tree --csv --bottom-up --depth 1 --columns depth,in-use \
		"$T/trace" 2>/dev/null >"$T/up"
	equal "bottom up" "$(grep -E '^(depth|0,)' "$T/up" |
		sum in_use_bytes)" "$used" "$off"
	equal "by function" "$(grep -E 'function|keep' "$T/in-use" |
		sum in_use_bytes)" \
		"$(heap --by function | grep -E 'taken_by|keep' |
		sum in_use_bytes)" "$off"
}
record --heap=exact --lua-init -- lua5.4 "$T/work.lua" || fail "weft record fails"
figures 0
"$WEFT" callers --csv --columns relation,name,allocated,total-allocated \
	nest "$T/trace" 2>/dev/null >"$T/callers" || fail "weft callers"
awk -F, '$1 == "function" { own = $3; all = $4 } $1 == "caller" { a += $3; t += $4 }
	$1 == "callee" && $2 !~ /^nest/ { below += $4 }
	END { exit !(a == own && t == all && own + below == all && all > 0) }' \
	"$T/callers" || fail "callers: $(cat "$T/callers")"
"$WEFT" coroutines --csv --columns name,in-use,allocated "$T/trace" 2>/dev/null \
	>"$T/cos" || fail "weft coroutines"
awk -F, '/work.lua/ && $2 > 50 * 120 && $2 < 50 * 1000 && $3 >= $2 { n++ }
	END { exit n != 4 }' "$T/cos" || fail "coroutines: $(cat "$T/cos")"
"$WEFT" export -f sqlite -o "$T/db" "$T/trace" 2>/dev/null || fail "sqlite"
for k in functions nodes; do
	equal "$k" "$(sqlite3 "$T/db" "SELECT sum(in_use_bytes) FROM $k")" \
		"$(heap | sum in_use_bytes)"
done
equal csv "$("$WEFT" export -f csv -o - "$T/trace" 2>/dev/null |
	sum freed_bytes)" "$(heap | sum freed_bytes)"
"$WEFT" export -f speedscope -o "$T/speed" "$T/trace" 2>/dev/null || fail speedscope
equal speedscope "$(grep -o 'in use","unit":"bytes","startValue":0,"endValue":[0-9]*' \
	"$T/speed" | sed 's/.*://')" "$(heap | sum in_use_bytes)"
"$WEFT" html -o "$T/page.html" "$T/trace" 2>/dev/null || fail "html"
grep -q '"in_use":\[' "$T/page.html" || fail "the page has no memory"
# A part, by time: what was taken before it is in use, too.
equal "a part" "$("$WEFT" report --csv --columns in-use --from 1ms "$T/trace" \
	2>/dev/null | sum in_use_bytes)" "$(heap --from 1ms | sum in_use_bytes)"
equal "a function" "$("$WEFT" report --csv --columns name,in-use --under keep \
	"$T/trace" 2>/dev/null | sum in_use_bytes)" \
	"$(heap | grep -E 'taken_by|keep' | sum in_use_bytes)"
mv "$T/trace" "$T/first"
# Two traces.
record --heap=exact --lua-init -- lua5.4 "$T/work.lua" || fail "weft record fails"
equal merged "$("$WEFT" report --csv --columns in-use "$T/first" "$T/trace" \
	2>/dev/null | sum in_use_bytes)" \
	$(($(heap | sum in_use_bytes) * 2)) 2000
record --heap=1k --lua-init -- lua5.4 "$T/work.lua" || fail "weft record fails"
figures 100
"$WEFT" report --columns +allocated,allocated-error "$T/trace" >"$T/o" 2>&1
grep -q 'allocated  *± ' "$T/o" || fail "no error: $(cat "$T/o")"

# What has no memory says so.
record -- true
"$WEFT" report --sort in-use "$T/trace" >"$T/o" 2>&1 && fail "memory of nothing"
grep -q 'weft record --heap' "$T/o" || fail "not said: $(cat "$T/o")"
"$WEFT" report --columns all "$T/trace" >"$T/o" 2>&1
grep -q 'in use' "$T/o" && fail "columns without any memory"

# Of a program that gives all back, the first table shows who had most; --at, as it
# is printed there, shows the same.
cat >"$T/all.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void *load(size_t n) { return malloc(n); }
__attribute__((noinline)) static void *use(size_t n) { return malloc(n); }
int main(void)
{
	void *volatile kept[100], *volatile p;
	for (int i = 0; i < 100; i++) {
		kept[i] = load(10000);
		for (int k = 0; k < 20; k++) {
			p = use(1000);
			free(p);
		}
	}
	for (int i = 0; i < 100; i++)
		free(kept[i]);
	return 0;
}
END
gcc -O1 -finstrument-functions -o "$T/all" "$T/all.c" || fail "no compiler"
record --heap=exact -- "$T/all" || fail "weft record fails"
"$WEFT" heap "$T/trace" >"$T/shown" 2>&1 || fail "weft heap"
grep -q '^ *1.0 MB  *- .*main > load$' "$T/shown" &&
	grep -q '^ *at-peak  *in-use ' "$T/shown" || fail "$(cat "$T/shown")"
grep -A1 at-peak "$T/shown" | grep -q load || fail "load is not first"
at=$(grep -o -- '--at [0-9]*ns shows who had it, as at-peak' "$T/shown") ||
	fail "no --at"
"$WEFT" heap ${at% shows*} --csv "$T/trace" 2>/dev/null >"$T/then"
[ "$(grep load "$T/then" | cut -d, -f1)" = 1000000 ] || fail "$at: $(cat "$T/then")"
exit 0
