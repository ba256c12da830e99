#!/bin/bash
# weft slow of a made-up trace; every call of it is in the list, once.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
same body 0 "$W" slow -n 2 body t
same csv 0 "$W" slow -n 3 --csv '*0x4000' t
same unknown 1 "$W" slow nobody t
same no-trace 1 "$W" slow t
listed=$(cd "$T" && "$W" slow -n 0 --csv '*' t 2>/dev/null | tail -n +2 | wc -l)
wanted=$(awk '{ n += $2 } END { print n }' "$T/t.calls")
[ "$listed" = "$wanted" ] || fail "$listed calls listed, $wanted made"
same refused 1 "$W" slow --skip body body t
