#!/bin/sh
# needs.sh - fails if a built file needs a library that its half must run
# without: the host library needs libc alone, the recording half none of the
# analyzing half's libraries, the analyzing half none of the recording half's; or
# if a file of the host library but base/kernel.c may make a system call.
# SPDX-License-Identifier: MIT
set -eu
: "${B:=build}"
bad=0

needs() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

forbid() {
	file=$1
	shift
	if [ ! -e "$file" ]; then
		echo "$file: not built"
		bad=1
		return
	fi
	for pattern in "$@"; do
		if needs "$file" | grep "$pattern"; then
			echo "$file needs what matches $pattern"
			bad=1
		fi
	done
}

forbid "$B/libexec/weft/weft-record" babeltrace libdw sqlite gnuplot \
	liblua
forbid "$B/libexec/weft/weft-analyze" lttng liblua
forbid "$B/bin/weft" babeltrace libdw libelf lttng liblua
other=$(needs "$B/lib/libweft.so" | grep -v -e '^libc\.so' -e '^ld-linux' ||
	true)
if [ -n "$other" ]; then
	echo "libweft.so needs more than libc: $other"
	bad=1
fi
# What the library exports is weft_*, the hooks, and the functions it stands in
# for. A function of its own, which begins with the name of its file, could
# clash with the program's.
own=$(find tracer/host -name '*.c' | sed 's|.*/||; s|\.c$||' | paste -sd '|')
leaks=$(nm -D --defined-only "$B/lib/libweft.so" | awk '{ print $3 }' |
	grep -E "^($own|lua_abi)_" || true)
if [ -n "$leaks" ]; then
	echo "libweft.so exports: $leaks"
	bad=1
fi

# What of libc makes none, or is called where the program has called the loader.
# clock_gettime asks for the clocks in base/clock.h without one.
none='(mem|str|dl|_ITM_|__|_dl_find|pthread_mutex_try)[A-Za-z0-9_]*|_r_debug'
none="$none|environ|getenv|snprintf|sysconf|getauxval|clock_gettime|_setjmp|lua_abi_55"
none="$none|pthread_(attr_getdetachstate|key_create|self|setspecific)"
calls=$(nm -D --undefined-only "$B/lib/libweft.so" |
	awk '{ sub(/@.*/, "", $2); print $2 }' | grep -vxE "$none" || true)
others=$(find "$B/obj/tracer/host" -name '*.o' ! -name 'lua_abi_*' \
	! -path '*/base/kernel.o' -exec nm -A -u {} + |
	grep -wF "$calls" || true
	grep -rnE 'CLOCK_[A-Z]*CPUTIME' tracer/host | grep -v base/kernel.c || true)
if [ -n "$others" ]; then
	echo "not only base/kernel.c makes system calls:"
	echo "$others"
	bad=1
fi
exit $bad
