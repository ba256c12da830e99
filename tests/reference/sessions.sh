#!/bin/bash
# Of made-up sessions every command says what slow references say that were
# written from the documents alone: 48 sessions, and 288 with DEEP=1.
# each: 1 2 3 4
# time: 1800
# SPDX-License-Identifier: MIT
n=12
[ -z "${DEEP-}" ] || n=72
exec tests/reference/views \
	report,tree,callers,bottom_up,collapsed,coroutines,lives,stacks,slow,part,merge,diff,profile \
	$((($1 - 1) * n + 1)) $(($1 * n))
