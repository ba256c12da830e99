#!/bin/sh
# layers.sh [--list] - fails if a source includes a header, or refers to a
# function or variable, that its folder may not see (layers.txt says which
# folder may see which), or if files or folders need each other in a circle.
# --list also prints the edges of each circle. Needs the objects of a build.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
: "${B:=build}"
list=0
[ "${1-}" != --list ] || list=1
if [ ! -d "$B/obj" ]; then
	echo "layers: no objects in $B/obj: run make first"
	exit 1
fi
find "$B/obj" -name '*.o' | sort | xargs nm -A -P 2>/dev/null |
	awk -v objects="$B/obj" -v list=$list -f tests/layers.awk \
		tests/layers.txt $(find tracepoints tracer analyzer \
			-name '*.[ch]' | sort) -
