#!/bin/bash
# weft threads of a made-up trace: a row for each thread, also together, and as
# CSV.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=3 threads=3
same table 0 "$W" threads t
same group 0 "$W" threads --group t
same csv 0 "$W" threads --csv --sort life -n 2 t
same refused 1 "$W" threads --group --sort life t
same no-part 1 "$W" threads --from 1ms t
