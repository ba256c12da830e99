#!/bin/bash
# What weft says of two or three made-up sessions added up, 200 times, is what
# a slow reference says of all that happened in them.
# time: 600
# SPDX-License-Identifier: MIT
exec tests/reference/views merge
