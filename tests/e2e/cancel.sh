#!/bin/bash
# Threads are cancelled at any instruction, in hooks most of all: what they had
# called is there, and so is what their cleanup calls.
# SPDX-License-Identifier: MIT
. tests/lib.sh
record --on-full wait -- "$P/p_cancel" 300 || fail "weft record fails"
report
nothing_lost
same_calls
least=$(sed -n 's/^steps //p' "$T/out")
more=$(($(calls step) - least))
[ $more -ge 0 ] && [ $more -le 300 ] || fail "$more more calls of step"
echo "note: $(calls step) calls, $more of which had just begun"
