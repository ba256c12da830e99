#!/bin/bash
# A library that is opened and closed for ever keeps its names.
# SPDX-License-Identifier: MIT
. tests/lib.sh
record "$P/p_reload" "$(realpath "$P/p_plug")" 5000 || fail "weft record fails"
report
nothing_lost
for f in plug_f plug_g own; do
	[ "$(calls $f)" = 5000 ] || fail "$(calls $f) calls of $f, not 5000"
done

# More libraries than a chunk can number.
n=5000
cp "$P/p_plug" "$T/plug.so"
record "$P/p_reload" "$T/plug.so" $n "$T" || fail "weft record fails"
report
nothing_lost
for f in plug_f plug_g own; do
	[ "$(calls $f)" = $n ] || fail "$(calls $f) calls of $f, not $n"
done

# By a relative path, which leads nowhere any more when the library is called.
reload=$(realpath "$P/p_reload")
(cd "$T" && record "$reload" ./plug.so 1 -) || fail "weft record fails"
report
[ "$(calls plug_f)" = 1 ] || fail "relative: $(calls plug_f) calls of plug_f"
