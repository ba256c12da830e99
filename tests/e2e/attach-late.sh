#!/bin/bash
# each: pie now no-plt no-pie lua slow close jump
# A program that was started without weft is recorded while it runs, again and
# again, and while a thread of it opens and closes a library: every call between
# two marks is there, those in a library that it opened before or after, too; it
# answers as ever; and nothing in it leads to weft afterwards.
# lua: each of its threads has a VM of its own. slow: its library takes 0.15 s to
# open, for which no thread waits that is stopped. close: it closes a library
# while the library's calls are led back. jump: a signal handler jumps out of what
# leads them back, and out of closing a library.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }
times=3
[ "${DEEP:-}" ] && times=${ATTACHES:-100}
opens= binds=lazy
[ "$1" = slow ] && opens='usleep(150000);'
[ "$1" = close ] && binds=now

case $1 in
pie | slow) flags="-fPIE -pie -Wl,-z,lazy" ;;
now) flags="-fPIE -pie -Wl,-z,relro,-z,now" ;;
close) flags="-DCLOSE -rdynamic -fPIE -pie -Wl,-z,relro,-z,now" ;;
jump) flags="-DJUMP -rdynamic -fPIE -pie -Wl,-z,relro,-z,now" ;;
no-plt) flags="-fPIE -pie -fno-plt" ;;
no-pie) flags="-fno-pie -no-pie -Wl,-z,lazy" ;;
lua)
	pkg-config --exists lua5.4 || { echo "no lua5.4 for programs"; exit 77; }
	flags="-DLUA $(pkg-config --cflags --libs lua5.4)"
	;;
esac
# shellcheck disable=SC2086
gcc -O1 -g -I. -finstrument-functions tests/prog/p_attach.c \
	-o "$T/p_attach" $flags -lpthread -ldl || fail "the program is not built"
for f in plug beside; do
	printf '%s\n' "long $f(long n) { return n + 1; }" "#include <unistd.h>" \
		"__attribute__((constructor)) static void f(void) { $opens }" |
		gcc -O1 -g -xc -D_GNU_SOURCE -fPIC -shared \
			-finstrument-functions - \
			-Wl,-z,$binds -o "$T/$f.so" || fail "a library is not built"
done

leads() {
	[ "$("$P/p_links" "$pid" "$1")" -gt 0 ]
}

longest=0
stood_still() {
	ms=$(sed -n 's/.* stood still for \([0-9.]*\) ms$/\1/p' "$T/err")
	[ "$ms" ] || fail "time $i: it does not say how long a thread stood"
	longest=$(printf '%s\n' "$longest" "$ms" | sort -g | tail -n 1)
}

if [ "$1" = close ]; then
	begin "$T/p_attach" 4
	ask off
	ask "load $T/plug.so"
	attach
	await leads /plug.so || fail "the library's calls are not led"
	ask close
	[ "$answer" = ready ] || fail "it says \"$answer\""
	detach
	ask closed
	ask off
	await leads_nowhere || fail "words of it lead to libweft.so"
	end
	exit 0
fi

if [ "$1" = jump ]; then
	printf '%s\n' "#include <signal.h>" "__attribute__((destructor))" \
		"static void leave(void) { raise(SIGUSR1); }" |
		gcc -xc -fPIC -shared - -o "$T/leave.so" ||
		fail "a library is not built"
	begin "$T/p_attach" 4 "$T/beside.so"
	for i in 1 2 3; do
		attach
		ask "round 500"
		detach
		right_calls 2000 "time $i"
		ask off
		await leads_nowhere || fail "time $i: words of it lead to us"
		ask jumps
		[ "$answer" -ge "$i" ] || fail "time $i: $answer jumps"
	done
	end
	begin "$T/p_attach" 4
	attach
	ask "leave $T/leave.so"
	[ "$answer" = left ] || fail "it says \"$answer\""
	detach
	ask off
	await leads_nowhere || fail "after a jump out of dlclose, words of it" \
		"lead to us"
	end
	exit 0
fi

if [ "$1" = slow ]; then
	begin "$T/p_attach" 4 "$T/beside.so" 2000
	ask off
	long=0
	for i in $(seq 8); do
		attach
		stood_still
		long=$((long + (${ms%.*} >= 75)))
		detach
	done
	# Other programs may keep it from running.
	[ $long -le 2 ] || fail "$long times a thread stood still for long"
	echo "note: a thread stood still for at most $longest ms"
	end
	exit 0
fi

begin "$T/p_attach" 4 "$T/beside.so"
ask off
for i in $(seq "$times"); do
	# On a slow machine, fewer.
	[ "$i" -le 6 ] || [ $SECONDS -lt 200 ] || break
	[ $((i % 2)) = 0 ] && ask "load $T/plug.so"
	attach
	stood_still
	[ $((i % 2)) = 1 ] && ask "load $T/plug.so"
	[ "$answer" = loaded ] || [ "$answer" = on ] ||
		fail "time $i: it says \"$answer\""
	await leads /plug.so || fail "time $i: the library's calls are not led"
	ask "round 500"
	detach
	right_calls 2000 "time $i"
	[ "${answer% *}" = "calls 2000" ] || fail "it says \"$answer\""
	n=$(calls "lstep <s:1>")
	[ "$1" != lua ] || [ "$n" = 2000 ] ||
		fail "time $i: $n calls of lstep, not 2000"
	n=$(calls plug)
	[ "$n" = 500 ] || fail "time $i: $n calls of plug, not 500"
	ask off
	await has_left || fail "time $i: it maps the pool"
	await leads_nowhere || fail "time $i: $("$P/p_links" "$pid") words of" \
		"it lead to libweft.so"
	ask unload
done
echo "note: $i times; a thread stood still for at most $longest ms"

# A recorder that is killed: it can be attached again.
outlives_recorder
await leads_nowhere || fail "words of it lead to libweft.so"
end

# The program is killed while it is recorded.
begin "$T/p_attach" 4 "$T/beside.so"
attach
ask "round 500"
kill -KILL "$pid"
wait "$recorder" || fail "weft record fails when the program is killed: $?"
right_calls 2000 "when the program is killed"
# Before Linux 6.15, who is not its parent may not be told.
unknown=
printf '6.15\n%s\n' "$(uname -r)" | sort -VC ||
	unknown='\|has ended; how is not known'
grep -q "process $pid (p_attach) was ended by signal 9 (.*)$unknown" \
	"$T/err" || fail "what killed the program is not said"
