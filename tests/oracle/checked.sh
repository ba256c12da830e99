#!/bin/bash
# The random program recorded and read by the checked build, which looks at every
# invariant after each step: two seeds, and 20 with DEEP=1.
# SPDX-License-Identifier: MIT
export WEFT=$B/checked/bin/weft
to=8
[ -z "${DEEP-}" ] || to=26
# shellcheck disable=SC2046
exec tests/oracle/seed "$B/tests/oracle/woven-gcc-O2" $(seq 7 $to)
