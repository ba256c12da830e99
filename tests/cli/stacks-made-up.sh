#!/bin/bash
# weft stacks of a made-up trace: moments, steps, folded, CSV; and what makes no
# sense.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
same stacks-at 0 "$W" stacks --at 6us,11.87us t
same stacks-fold 0 "$W" stacks --every 4us --from 2us --fold t
same stacks-csv 0 "$W" stacks --at 6000ns --csv t
same stacks-late 0 "$W" stacks --at 5s t
same stacks-none 1 "$W" stacks t
same stacks-step 1 "$W" stacks --every 0 t
same stacks-when 1 "$W" stacks --at soon t
# The same moment as a date is the same.
start=$(cd "$T" && "$W" dump t | sort -n | awk 'NR == 1 { print $1 }')
(cd "$T" && "$W" stacks --at "$((start + 6000))" --csv t 2>&1) >"$T/dated"
diff "$T/dated" <(sed 's/^2: //' tests/cli/stacks-csv.out) >"$T/diff" || {
	[ "$(grep -c '^[<>]' "$T/diff")" = 2 ] || { cat "$T/diff"; exit 1; }
}
