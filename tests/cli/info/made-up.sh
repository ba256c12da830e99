#!/bin/bash
# weft info of a made-up trace: what is in it.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
# The size on disk and the reader's version may differ; other lines may not.
"$W" info "$T/t" >"$T/info" || fail "info fails"
sed -E 's/(CTF )[^,;)]*/\1SIZE/; s/; [0-9.]+ bytes a call//
	s/babeltrace2 [0-9.]+/babeltrace2 VERSION/' "$T/info" |
	sed "s|$T|.|" >"$T/info.tidy"
same table 0 cat info.tidy
