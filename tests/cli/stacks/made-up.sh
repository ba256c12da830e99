#!/bin/bash
# weft stacks of a made-up trace: moments, steps, folded, CSV; and what makes no
# sense.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
same at 0 "$W" stacks --at 6us,11.87us t
same group 0 "$W" stacks --every 4us --from 2us --group t
same csv 0 "$W" stacks --at 6000ns --csv t
same late 0 "$W" stacks --at 5s t
same none 1 "$W" stacks t
same step 1 "$W" stacks --every 0 t
same when 1 "$W" stacks --at soon t
"$W" stacks --every 1us --csv "$T/t" 2>/dev/null | awk -F, 'NR == 1 || $3 == 1002' \
	>"$T/one"
"$W" stacks --every 1us --csv --thread 1002 "$T/t" 2>/dev/null | diff "$T/one" - ||
	fail "--thread shows other stacks"
[ "$(wc -l <"$T/one")" -gt 10 ] || fail "no stacks of the thread"
# A moment may be given as dump prints it: a call is open when it is entered, and
# not when it is left.
for kind in enter exit; do
	moment=$(cd "$T" && "$W" dump t | awk -v kind="native_$kind" '
		$2 == kind && $4 == "tid=1001" && $6 == "depth=2" {
			print $1; exit }')
	found=$(cd "$T" && "$W" stacks --csv --at "$moment" t 2>/dev/null |
		grep -c ',1001,0,running,2,' || true)
	[ "$found" = $([ $kind = enter ] && echo 1 || echo 0) ] ||
		fail "$kind at $moment: $found frames of depth 2"
done
same refused 1 "$W" stacks --at 1us --from 1us t
