#!/bin/bash
# weft lines of a made-up trace, whose program is not there; and where it has
# nothing to show, which it says.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=1
make_trace s coroutines=1 chunks=1 samples=20
same table 0 "$W" lines '*0x2000|body' s
same csv 0 "$W" lines --csv '*0x2000|body' s
same thread 0 "$W" lines --thread 1001 '*0x2000' s
same no-samples 2 "$W" lines body t
same unknown 1 "$W" lines nobody t
same no-trace 1 "$W" lines t
same under 0 "$W" lines --under body '*' s
