#!/bin/bash
# --start-on FUNCTION: nothing is recorded until it is called, in any process or
# thread, native or Lua, in a library that is opened later, or in a program that
# is attached; from then on every call is, with the stack that was there.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc

# has NAME COUNT...: so many calls.
has() {
	while [ $# -gt 0 ]; do
		[ "$(calls "$1")" = "$2" ] ||
			fail "$1: $(calls "$1") calls, not $2"
		shift 2
	done
}

for mode in plain threads fork child; do
	record --start-on go -- "$P/p_start_on" $mode
	[ $? = 5 ] || fail "$mode: status"
	report
	nothing_lost
	# shellcheck disable=SC2046 # words
	has $(awk '$1 == "calls" { print $3, $2 }' "$T/out")
done
record --start-on go --count-only -- "$P/p_start_on" plain
report
nothing_lost
has before 0 go 2 step 20 after 501

# What called it is found, and shown as open before.
record --start-on 'g?' -- sh -c "$P/p_start_on plain"
report
nothing_lost
has before 0 go 2 step 20 after 501
"$WEFT" callers --csv go "$T/trace" 2>/dev/null | grep -q outer ||
	fail "outer did not call it"

"$WEFT" info "$T/trace" | grep -qx 'start-on *g?' || fail "weft info: for what"

# In a library that is opened later.
record --start-on in_b -- "$P/p_reopen" "$P/p_plugin_a" "$P/p_plugin_b"
report
nothing_lost
has in_a 980 in_b 1000

for lua in $LUAS; do
	for name in go work.go; do
		record --start-on $name --lua-init -- $lua \
			tests/prog/lua/start_on.lua || fail "$lua: it fails"
		report
		nothing_lost
		for is in "4 0" "5 20" "7 2" "10 502"; do
			n=$(awk -F, -v line="${is% *}" '$2 == "lua" &&
				$5 == line { n += $6 } END { print n + 0 }' \
				"$T/report.csv")
			[ "$n" = "${is#* }" ] ||
				fail "$lua: line ${is% *}: $n calls, not ${is#* }"
		done
		"$WEFT" callers --csv "*go*" "$T/trace" 2>/dev/null |
			grep -q outer || fail "$lua: outer did not call it"
	done
done

# A program that runs already; its status while it waits.
begin "$P/p_start_on" lines
rm -rf "$T/trace"
"$WEFT" record -o "$T/trace" -p "$pid" --start-on go >"$T/out" 2>"$T/err" \
	8>&- 9<&- &
recorder=$!
calls_until_joined() {
	ask before
	joins
}
await calls_until_joined || fail "it does not join: $(why_not)"
waits() {
	"$WEFT" status $recorder | grep -qE 'state *waits'
}
await waits || fail "its status: $("$WEFT" status $recorder)"
"$WEFT" status $recorder | grep -qE 'start-on *go$' || fail "for what it waits"
ask before
ask go
ask after
detach
report
nothing_lost
has before 0 go 1000 step 10000 after 1000
exec 8>&-
wait "$pid"

# It may be turned on by hand, too.
begin "$WEFT" record -o "$T/hand" --start-on none -- "$P/p_start_on" lines
ask before
"$WEFT" start $pid >"$T/o" && grep -q 'was *off' "$T/o" || fail "weft start"
ask after
exec 8>&-
wait "$pid"
mv "$T/hand" "$T/trace.hand"
rm -rf "$T/trace"
mv "$T/trace.hand" "$T/trace"
report
nothing_lost
has before 0 after 1000

# It was never called.
record --start-on go --duration 1h -- "$P/p_start_on" none
[ $? = 5 ] || fail "never: status"
grep -q 'begin with a call of "go".*which never came' "$T/err" || fail "never"
grep -q "lost: [1-9]" "$T/err" && fail "never: lost"
record --start-on nosuch -- "$P/p_start_on" none
grep -q '"nosuch".*no function was found' "$T/err" || fail "nosuch"

for wrong in --paused "--duty 1s/2s"; do
	# shellcheck disable=SC2086 # words
	"$WEFT" record -o "$T/none" --start-on go $wrong true 2>"$T/err"
	[ $? = 1 ] || fail "$wrong: it is not refused"
done
exit 0
