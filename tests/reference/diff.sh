#!/bin/bash
# weft diff says of 200 made-up sessions and more, each with one or two others in which
# no function could be taken for another, what a slow reference says.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views diff 1 285
