#!/bin/bash
# Parts of 200 made-up sessions, by thread, coroutine, time, mark and function:
# report, tree, callers and export say what slow references say.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views part
