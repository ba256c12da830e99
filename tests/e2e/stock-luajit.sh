#!/bin/bash
# Debian's luajit, not rebuilt, by weft record --lua-init: calls, coroutines,
# errors, callbacks from C, hooks of its own; counts as the script counts.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
stock_lua luajit
