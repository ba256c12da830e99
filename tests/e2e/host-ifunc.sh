#!/bin/bash
# A hook that the loader itself calls, before libweft is relocated, does no harm.
# SPDX-License-Identifier: MIT
. tests/lib.sh
gcc -g -finstrument-functions -o "$T/resolved" tests/prog/p_resolved.c \
	"$(realpath "$P/p_resolver")" || fail "it does not build"
"$T/resolved"
[ $? = 3 ] || { echo "the loader cannot do it without weft either"; exit 77; }
record "$T/resolved"
status=$?
[ $status = 3 ] || fail "status $status, not 3"
report
nothing_lost
[ "$(calls call_chosen)" = 1 ] || fail "call_chosen is missing"
