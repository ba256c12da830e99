#!/bin/bash
# The random program with Lua 5.3: its account and weft's are the same for 200
# seeds. (Some constructs are of 5.4 alone: how often each ran is said.)
# time: 600
# SPDX-License-Identifier: MIT
exec tests/oracle/seeds $B/tests/oracle/woven-lua5.3 1 200 0
