#!/bin/bash
# Names that would do harm if they were taken for anything but text, in each kind
# of plot and each format: it is drawn, and an SVG has the elements that other
# names give it.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
. tests/cli/export/figures.inc
command -v gnuplot >/dev/null || { echo "gnuplot is not installed"; exit 77; }
hostile_trace h
make_trace u coroutines=1 chunks=9 threads=3
cd "$T" || exit 1
formats="svg png"
! gnuplot -e 'set terminal pdfcairo' 2>/dev/null || formats="$formats pdf"

# plot NAME KIND ARGUMENT...
plot() {
	local name=$1 format
	shift
	for format in $formats; do
		"$W" plot "$@" --debug-dir debug -f $format -o $name.$format \
			2>err || fail "$*: $format: $(cat err)"
	done
	iconv -f utf-8 -t utf-8 $name.svg >/dev/null || fail "$*: not UTF-8"
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' $name.svg ||
		fail "$*: control characters"
	grep -oE '<[^ />]+' $name.svg | sort -u >$name.elements
	"$W" plot "$@" --debug-dir debug --term >term 2>err ||
		fail "$*: --term: $(cat err)"
	! LC_ALL=C grep -qP '[\x00-\x08\x0b\x0d-\x1f\x7f]' term ||
		fail "$*: --term passes control characters on"
}
for kind in hot latency shares heat lanes diff; do
	sides=h
	[ $kind != diff ] || sides="h u"
	plot $kind $kind $sides
	sides=u
	[ $kind != diff ] || sides="u h"
	"$W" plot $kind -o plain.svg $sides 2>err || fail "$kind: $(cat err)"
	grep -oE '<[^ />]+' plain.svg | sort -u |
		comm -13 - $kind.elements >more
	[ ! -s more ] || fail "$kind: names made elements: $(cat more)"
done
for kind in hot diff; do
	grep -q 'img src=x' $kind.svg || fail "$kind: no hostile name"
done
# Signs that would mean something to gnuplot are still there.
for kind in hot shares diff; do
	grep -qF '(id) %s %n {{x}} \u202' $kind.svg || fail "$kind: not as it is"
done
grep -qF 'n {{x}} \u202e (p50' latency.svg || fail "latency: not as it is"
exit 0
