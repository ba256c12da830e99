#!/bin/bash
# The random program with Lua 5.1: its account and weft's are the same for 200
# seeds. (Some constructs are of later versions: how often each ran is said.)
# time: 600
# SPDX-License-Identifier: MIT
exec tests/oracle/seeds $B/tests/oracle/woven-lua5.1 1 200 0
