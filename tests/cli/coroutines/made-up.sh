#!/bin/bash
# weft coroutines of a made-up trace, with and without coroutines.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
make_trace none
same table 0 "$W" coroutines t
same top 0 "$W" coroutines --sort id --top 1 t
same by-body 0 "$W" coroutines --by body t
same id 0 "$W" coroutines --coroutine 101 -n 5 t
same csv 0 "$W" coroutines --sort id --csv t
same none 0 "$W" coroutines none
