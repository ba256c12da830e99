#!/bin/sh
# names.sh - fails if two source files of the tree bear the same name (a file
# is one noun), or if a forbidden word stands in one of them.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
bad=0
same=$(find tracepoints tracer analyzer tests -name '*.[ch]' |
	sed 's|.*/||' | sort | uniq -d)
for name in $same; do
	echo "more than one file is named $name:"
	find tracepoints tracer analyzer tests -name "$name" | sed 's/^/  /'
	bad=1
done
# An issue says what is to be done; the source says what is.
mark=TO
mark=${mark}DO
if grep -rnw -e "$mark" -e FIXME -e XXX tracepoints tracer analyzer docs \
	tests Makefile --include='*.[ch]' --include='*.sh' --include='*.mk' \
	--include='*.md' --include=Makefile | grep -v '^tests/names.sh'; then
	bad=1
fi
missing=$(find tracepoints tracer analyzer tests -name '*.[ch]' |
	xargs grep -L SPDX-License-Identifier || true)
if [ -n "$missing" ]; then
	echo "no SPDX line: $missing"
	bad=1
fi
exit $bad
