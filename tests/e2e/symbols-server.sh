#!/bin/bash
# Names from a debuginfod server: elfutils' own, on this machine, asked by its
# address in the environment or as an option, and not asked otherwise. Then a
# server that takes the connection and never answers: the report comes all the
# same, and says so.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
command -v debuginfod >/dev/null || {
	echo "debuginfod is not installed"
	exit 77
}
ldconfig -p | grep -q libdebuginfod.so.1 || {
	echo "libdebuginfod is not installed"
	exit 77
}
export DEBUGINFOD_CACHE_PATH=$T/cache
mkdir "$T/there" "$T/store"
cp "$P/p_echo" "$T/there/echo"
id=$(readelf -n "$T/there/echo" | sed -n 's/.*Build ID: //p')
objcopy --only-keep-debug "$T/there/echo" "$T/store/echo.debug"
cp "$T/there/echo" "$T/store/echo"
strip "$T/store/echo" "$T/there/echo"
record "$T/there/echo" </dev/null || fail "weft record fails"
rm "$T/there/echo"
line=$(grep -n 'static int next' tests/prog/p_echo.c | cut -d: -f1)
named() {
	grep -qE "^next,native,[^,]*,[^,]*p_echo\.c,$line," "$T/report.csv"
}
server=
trap '[ -z "$server" ] || kill "$server"' EXIT
port=$((20000 + $$ % 10000))
debuginfod -p $port -d "$T/db" -F "$T/store" >"$T/server.log" 2>&1 &
server=$!
for ((i = 0; i < 600; i++)); do
	(exec 3<>/dev/tcp/127.0.0.1/$port &&
		printf 'GET /buildid/%s/debuginfo HTTP/1.0\r\n\r\n' "$id" >&3 &&
		head -n 1 <&3 | grep -q 200) 2>/dev/null && break
	kill -0 $server 2>/dev/null || {
		echo "debuginfod does not run: $(tail -n 1 "$T/server.log")"
		server=
		exit 77
	}
	sleep 0.2
done
report
named && fail "a server is asked that nobody named"
report --debuginfod "http://127.0.0.1:$port"
named || fail "--debuginfod does not name: $(cat "$T/report.csv" "$T/server.log")"
rm -rf "$T/cache"
DEBUGINFOD_URLS=http://127.0.0.1:$port report
named || fail "DEBUGINFOD_URLS does not name"
rm -rf "$T/cache"
# The code comes from there, too.
DEBUGINFOD_URLS=http://127.0.0.1:$port "$WEFT" coverage --all --csv "$T/trace" \
	>"$T/coverage" 2>"$T/err" || fail "weft coverage fails"
grep -q '^next,.*,ran' "$T/coverage" || fail "coverage: $(cat "$T/coverage" "$T/err")"
grep -q 'machine code was not read' "$T/coverage" && fail "no code: $(cat "$T/coverage")"
kill $server
wait $server 2>/dev/null
server=

cat >"$T/mute.c" <<'C'
#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	bind(fd, (struct sockaddr *)&at, size);
	listen(fd, 5);
	getsockname(fd, (struct sockaddr *)&at, &size);
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	pause();
}
C
gcc "$T/mute.c" -o "$T/mute" || fail "gcc fails"
"$T/mute" >"$T/port" &
server=$!
until [ -s "$T/port" ]; do sleep 0.05; done
rm -rf "$T/cache"
began=$SECONDS
"$WEFT" info "$T/trace" --debuginfod "http://127.0.0.1:$(cat "$T/port")" \
	>"$T/info" || fail "weft info fails"
took=$((SECONDS - began))
[ $took -lt 20 ] || fail "a mute server holds weft info for $took s"
grep -q 'the server did not answer in time' "$T/info" ||
	fail "nobody says that it did not answer: $(tail -n 3 "$T/info")"
