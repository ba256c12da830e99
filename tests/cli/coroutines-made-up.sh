#!/bin/bash
# weft coroutines of a made-up trace, with and without coroutines.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
make_trace none
same coroutines-table 0 "$W" coroutines t
same coroutines-top 0 "$W" coroutines --sort id --top 1 t
same coroutines-by-body 0 "$W" coroutines --by-body t
same coroutines-id 0 "$W" coroutines --id 101 -n 5 t
same coroutines-csv 0 "$W" coroutines --sort id --csv t
same coroutines-none 0 "$W" coroutines none
