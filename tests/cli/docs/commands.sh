#!/bin/sh
# What the pages say is so: every "$ weft ..." line of the README works when
# typed in the order in which it stands there, and prints the table that is shown
# below it; options that are named exist; links lead somewhere.
# SPDX-License-Identifier: MIT
set -eu
root=$PWD
make --no-print-directory -s B="$B" demo-program
for name in README.md LICENSE docs tests tracepoints tracer analyzer; do
	ln -s "$root/$name" "$T/$name"
done
ln -s "$B" "$T/build"
bad=0
for page in README.md docs/*.md; do
	for link in $(grep -o '](\([^)#:]*\))' "$page" | sed 's/](//; s/)//'); do
		[ -e "$(dirname "$page")/$link" ] || {
			echo "$page: no file $link"
			bad=1
		}
	done
done
{
	for command in $("$WEFT" help |
		sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
		"$WEFT" "$command" --help
	done
} | grep -oE -e '--[a-z][a-z-]+' | sort -u >"$T/options"
# These are options of other programs.
printf '%s\n' --plugin-path --shm-size --cflags --libs --component --params \
	--begin --end --output-format --names --fields --array --wait --only-keep-debug --build-id --exists >>"$T/options"
for page in README.md docs/guide.md docs/report-reading.md; do
	for option in $(grep -oE -e '`[^`]*`|^    .*' "$page" | sed 's/ -- .*//' |
		grep -oE -e '(^|[ `])--[a-z][a-z-]+' | tr -d ' `' | sort -u); do
		grep -qxF -e "$option" "$T/options" || {
			echo "$page: there is no option $option"
			bad=1
		}
	done
done
# The man page knows the variables that the commands read.
"$WEFT" help --man >"$T/man"
for name in $(grep -rhoE 'getenv\("[A-Z_]+"' analyzer | cut -d '"' -f 2); do
	grep -qx "\.B $name" "$T/man" || {
		echo "the man page lacks $name"
		bad=1
	}
done
[ $bad = 0 ]

PATH=$(dirname "$WEFT"):$PATH
export COLUMNS=100
cd "$T"

# A line of words alone, such as a table's head: what must come out again, but
# for errors of net times and for context switches, which not every machine has.
heads() {
	sed 's/^ *//; s/ ± / /; s/ cpu *off-cpu / /' "$1" | grep -E '^[a-z /%-]+$' | grep -E ' (self|calls) ' |
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
