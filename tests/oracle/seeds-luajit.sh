#!/bin/bash
# The random program with LuaJIT: its account and weft's are the same for 200
# seeds. (Some constructs are of later versions: how often each ran is said.)
# time: 600
# SPDX-License-Identifier: MIT
exec tests/oracle/seeds $B/tests/oracle/woven-luajit 1 200 0
