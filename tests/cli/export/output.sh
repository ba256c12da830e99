#!/bin/bash
# Where an export goes: what is standard output already is only added to, a
# database is a file, and a page of a function that is not there is none.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=2

{
	echo head
	"$W" export -f csv -o /dev/stdout "$T/t" 2>/dev/null
	echo tail
} >"$T/all"
[ "$(head -n 1 "$T/all") $(tail -n 1 "$T/all")" = "head tail" ] &&
	[ "$(wc -l <"$T/all")" -gt 4 ] || fail "/dev/stdout: $(cat "$T/all")"
if "$W" export -f sqlite -o :memory: "$T/t" 2>"$T/e"; then
	fail "a database in memory is written"
fi
grep -q "in memory would be gone" "$T/e" || fail "in memory: $(cat "$T/e")"
name=$("$W" report --csv -n 1 --columns name "$T/t" 2>/dev/null | sed -n 2p)
if "$W" html -o "$T/page" --only "${name}x" "$T/t" 2>"$T/e"; then
	fail "a page of no function is written"
fi
grep -q "no function that ran is called \"${name}x\"; did you mean" "$T/e" ||
	fail "no function: $(cat "$T/e")"
exit 0
