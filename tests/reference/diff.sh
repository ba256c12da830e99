#!/bin/bash
# weft diff says of 160 made-up sessions, each with one or two others in which
# no function could be taken for another, what a slow reference says.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views diff
