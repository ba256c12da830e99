#!/bin/bash
# weft export --format collapsed says of 200 made-up sessions what a slow
# reference says.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views collapsed
