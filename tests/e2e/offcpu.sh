#!/bin/sh
# offcpu.sh - a thread that sleeps 5 times 50 ms is known to have been off the
# CPU for that long: its chunks carry the kernel's context switches.
# SPDX-License-Identifier: MIT
set -eu
level=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 9)
if [ "$level" -gt 2 ] && [ "$(id -u)" != 0 ]; then
	echo "perf_event_paranoid is $level: the kernel shows no switches"
	exit 77
fi
cc -O1 -g -finstrument-functions -o "$T/naps" tests/prog/p_naps.c
"$WEFT" record -q -o "$T/t" -- "$T/naps" > "$T/away"
"$WEFT" dump --raw "$T/t" > "$T/raw"
hz=$("$WEFT" info "$T/t" | sed -n 's/^clock *\([0-9]*\) ticks.*/\1/p')
# Of several copies of a chunk the last, longest one holds; the first pair is
# the time for which the switches are known.
awk -v hz="$hz" -v truth="$(cat "$T/away")" '
/ offcpu / {
	sum = 0; known = 0
	for (i = 4; i <= NF; i++) {
		split($i, p, "-")
		if (i == 4) known = p[2] - p[1]
		else if (p[2] - p[1] > hz * 0.04 && p[2] - p[1] < hz * 0.09)
			sum += p[2] - p[1]
	}
	all += sum; spans += known
}
END {
	us = all / hz * 1e6
	printf "off for %d us, the program says %d us, known for %d us\n",
		us, truth, spans / hz * 1e6
	exit !(us > truth * 0.97 && us <= truth * 1.03)
}' "$T/raw"
