#!/bin/bash
# What weft says of 200 made-up sessions that became profiles is what a slow
# reference says of the sessions.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views profile
