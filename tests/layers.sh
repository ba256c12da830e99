#!/bin/sh
# layers.sh - fails if a file includes a header that its folder may not see.
# Which folder may see which stands in layers.txt.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
find tracepoints tracer analyzer -name '*.[ch]' | sort | xargs awk '
FILENAME == "tests/layers.txt" {
	from = $1
	sub(/:/, "", from)
	known[from]
	for (i = 2; i <= NF; i++)
		ok[from, $i]
	next
}
FNR == 1 {
	folder = FILENAME
	sub(/\/[^\/]*$/, "", folder)
	if (!(folder in known)) {
		print FILENAME ": its folder is not in tests/layers.txt"
		bad = 1
	}
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, quoted, "\"")
	to = quoted[2]
	if (!sub(/\/[^\/]*$/, "", to)) {
		print FILENAME ": include from the root: " quoted[2]
		bad = 1
	} else if (to != folder && !((folder, to) in ok)) {
		print FILENAME ": may not include " quoted[2]
		bad = 1
	}
}
END { exit bad }' tests/layers.txt
