#!/bin/bash
# The path of a thousand requests of coroutines on four threads: its steps add up to
# what each took by the program's own clock, and so do those in which it is
# suspended; who is named as the holder of the lock was it, and who resumed a
# coroutine is known. The steps of others fill the time without gaps, too. So it is
# where Lua is sampled; calls that Lua makes are in its functions there, too.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# as_counted LUA WHAT...
as_counted() {
	record --waits --lua "$1" -- "$P/p_path" || fail "weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	shift
	for what; do
		# shellcheck disable=SC2086
		"$WEFT" path $what --requests 0 --csv "$T/trace" >"$T/path" \
			2>"$T/report.err" || fail "weft path"
		lua5.4 tests/e2e/path.lua "$T/out" "$T/path" >"$T/said" &&
			continue
		tail -20 "$T/said"
		return 1
	done
}
pkg-config --exists lua5.4 || { echo "no lua5.4 for programs"; exit 77; }
one_of 5 as_counted sampled '--mark begins..ends'
one_of 5 as_counted exact '--call handle' '--mark begins..ends'

# The same for people, of a single coroutine.
id=$(awk -F, 'NR == 2 { print $11 }' "$T/path")
COLUMNS=500 "$WEFT" path --id "$id" "$T/trace" >"$T/said" || fail "weft path --id"
grep -q "^1\. serve <.*: .*, coroutine $id\$" "$T/said" || fail "no title"
[ "$("$WEFT" path --id serve --requests 0 "$T/trace" |
	grep -c '^[0-9]*\. serve <.*, coroutine [0-9]*$')" = 200 ] ||
	fail "not all coroutines of serve"
grep -q ' suspended .*thread .*run_all' "$T/said" || fail "no resumer"

# In a pipe, its lines end, however long the stacks are.
"$WEFT" path --id "$id" "$T/trace" | sed '1,/^1\./d' >"$T/said"
awk '{ most = length > most ? length : most }
	END { exit most < 120 || most > 160 }' "$T/said" ||
	fail "in a pipe, lines are: $(wc -L <"$T/said")"
