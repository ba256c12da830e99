#!/bin/bash
# The command that weft explain prints has the options that say what is shown,
# so it runs as it is and shows the same figures.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
mkdir "$T/a b"
cd "$T"
for server in http://127.0.0.1:1/ ''; do
	more=$("$W" explain --raw --debug-dir 'a b' --debuginfod "$server" t \
		2>/dev/null | sed -n 's/^   \$ //p' | head -n 1)
	wanted="weft callers made-up+0x1000 --raw --debug-dir 'a b' \
--debuginfod ${server:-''} t"
	[ "$more" = "$wanted" ] || fail "it prints: $more"
	eval "\"$W\" ${more#weft }" >out 2>&1 || fail "$(cat out)"
done
