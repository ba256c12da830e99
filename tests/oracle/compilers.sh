#!/bin/bash
# The random program by gcc and clang at every level of optimisation.
# time: 600
# SPDX-License-Identifier: MIT
set -u
bad=0
for c in gcc-O1 gcc-O3 clang-O0 clang-O1 clang-O2 clang-O3; do
	tests/oracle/seed "$B/tests/oracle/woven-$c" 301 302 303 304 305 306 ||
		bad=1
done
exit $bad
