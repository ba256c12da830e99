#!/bin/bash
# The random program at gcc -O1: its account and weft's are the same for 200
# seeds, and each construct ran at least 1,000 times over them.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/oracle/seeds $B/tests/oracle/woven-gcc-O1 1 200 1000
