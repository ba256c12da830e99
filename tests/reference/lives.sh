#!/bin/bash
# weft coroutines by body, with times in Lua and native code, and of single
# ones, says of 200 made-up sessions what a slow reference says.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views lives
