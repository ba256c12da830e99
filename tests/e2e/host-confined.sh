#!/bin/bash
# each: deep threads fork fibers lua load
# After a program has given up system calls, weft makes none in it that the
# program does not make by itself, as strace counts them; nor is it killed, also
# where libseccomp has set the filter. Its calls are recorded to the end.
# SPDX-License-Identifier: MIT
. tests/lib.sh
pkg-config --exists lua5.4 || { echo "no lua5.4 for programs"; exit 77; }
echo "int plug(int n) { return n + 1; }" | gcc -O1 -xc -fPIC -shared \
	-finstrument-functions -Wl,-z,now - -o "$T/plug.so" ||
	fail "the library is not built"
# build NAME FLAGS...
build() {
	# shellcheck disable=SC2046
	gcc -O1 -D_GNU_SOURCE -finstrument-functions tests/prog/p_confined.c \
		-o "$T/$1" $(pkg-config --cflags --libs lua5.4) -lpthread \
		-ldl "${@:2}" 2>"$T/build.err"
}
build prog || fail "the program is not built"
what="$1 $T/plug.so"
ways=kill
build lib -DLIBSECCOMP -l:libseccomp.so.2 && ways="kill lib" ||
	echo "note: no libseccomp.so.2"

case $1 in
deep) want=6000 ;;
threads) want=1300 ;;
fork) want=1200 ;;
fibers) want=1120 ;;
*) want=1000 ;;
esac
right() {
	grep -qx alive "$T/out" || fail "$1: it did not get to its end"
	report
	nothing_lost
	[ "$(calls leaf)" = "$want" ] ||
		fail "$1: $(calls leaf) calls of leaf, not $want"
}

for way in $ways; do
	prog=$T/prog
	[ $way = kill ] || prog=$T/lib
	# shellcheck disable=SC2086
	"$prog" $way $what >"$T/alone"
	case $? in
	0) ;;
	77) echo "no seccomp here"; exit 77 ;;
	*) fail "$way: it fails by itself" ;;
	esac
	# shellcheck disable=SC2086
	record "$prog" $way $what || fail "$way: the program ends otherwise"
	right $way
done

# counts FILE: how often each system call was made after the filter was set.
# Waits for other threads depend on who comes first.
counts() {
	awk '/ seccomp\(/ { on = 1; next }
		on { sub(/\(.*/, "", $2) }
		on && $2 ~ /^[a-z_0-9]+$/ && $2 != "futex" { n[$2]++ }
		END { for (c in n) print c, n[c] }' "$1" | sort
}
strace -f -o "$T/calls" true 2>"$T/strace.err" ||
	{ echo "note: strace cannot run: $(head -n 1 "$T/strace.err")"; exit; }
# shellcheck disable=SC2086
strace -f -o "$T/calls" "$T/prog" all $what >"$T/alone" ||
	fail "all: it fails by itself"
counts "$T/calls" >"$T/without"
# shellcheck disable=SC2086
record strace -f -o "$T/calls" "$T/prog" all $what ||
	fail "all: the program ends otherwise"
right all
counts "$T/calls" >"$T/with"
grep -q '^write ' "$T/without" || fail "strace shows nothing"
# load: links of a library are led in pages that the loader has made read-only,
# and are made so again: by the call that the loader itself has just made.
awk -v load="$([ "$1" = load ] && echo 1)" '
	NR == FNR { without[$1] = $2; next }
	$2 > without[$1] + (load && $1 == "mprotect" ? 2 : 0) {
		print $1 ": " $2 " times, without weft " without[$1] + 0
		bad = 1
	}
	END { exit bad }' "$T/without" "$T/with" ||
	fail "weft makes calls of its own"
