#!/bin/bash
# weft callers says of 200 made-up sessions what a slow reference says.
# SPDX-License-Identifier: MIT
exec tests/reference/views callers
