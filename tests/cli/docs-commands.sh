#!/bin/sh
# Every "$ weft ..." line of the README works when typed in the order in which
# it stands there, and prints the table that is shown below it.
# time: 120
# SPDX-License-Identifier: MIT
set -eu
root=$PWD
make --no-print-directory -s B="$B" demo-program
for name in README.md LICENSE docs tests tracepoints tracer analyzer; do
	ln -s "$root/$name" "$T/$name"
done
ln -s "$B" "$T/build"
PATH=$(dirname "$WEFT"):$PATH
export COLUMNS=100
cd "$T"

# A line of words alone, such as a table's head: what must come out again.
heads() {
	sed 's/^ *//' "$1" | grep -E '^[a-z /%-]+$' | grep -E ' (self|calls) ' |
		tr -s ' ' || true
}

awk '/^    \$ weft / { n++; command = 1; print substr($0, 7) >("cmd" n)
	next }
/^    / && command { print substr($0, 5) >("shown" n); next }
NF { command = 0 }' README.md
[ -e cmd1 ] || { echo "no command in the README"; exit 1; }
i=1
while [ -e "cmd$i" ]; do
	echo "\$ $(cat "cmd$i")"
	sh -eu "./cmd$i" >"out$i" 2>"err$i" </dev/null || {
		cat "out$i" "err$i"
		echo "failed: $(cat "cmd$i")"
		exit 1
	}
	cat "err$i" >>"out$i"
	[ ! -e "shown$i" ] || heads "shown$i" >want
	[ -e want ] || : >want
	heads "out$i" >have
	while read -r line; do
		grep -qxF -e "$line" have || {
			cat "out$i"
			echo "the README shows: $line"
			exit 1
		}
	done <want
	rm -f want
	i=$((i + 1))
done
echo "$((i - 1)) commands work"
