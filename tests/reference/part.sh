#!/bin/bash
# Parts of 200 made-up sessions, by thread, coroutine, time and function: weft
# report and weft tree say what slow references say.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views part
