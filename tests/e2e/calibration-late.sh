#!/bin/bash
# What a call costs is measured at the start, and on a slow machine after it. The
# recorder is killed: the trace has it all the same.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# An installation whose library takes longer to load than the start waits.
mkdir -p "$T/w"
cp -r "$B/bin" "$B/lib" "$B/libexec" "$T/w" || fail "no installation"
mv "$T/w/lib/libweft.so" "$T/w/lib/libweft-real.so"
cat >"$T/slow.c" <<'C'
#include <poll.h>
__attribute__((constructor)) static void wait(void)
{
	poll(0, 0, 200);
}
C
gcc -shared -fPIC -o "$T/w/lib/libweft.so" "$T/slow.c" -Wl,--no-as-needed \
	"$T/w/lib/libweft-real.so" '-Wl,-rpath,$ORIGIN' || fail "no library"

mkfifo "$T/in"
"$T/w/bin/weft" record --pool-size 2M -o "$T/trace" -- "$P/p_slow" 1 1 \
	<"$T/in" >"$T/out" 2>"$T/err" &
recorder=$!
exec 5>"$T/in"
is_noted() {
	"$WEFT" info "$T/trace" >"$T/info" 2>&1
	grep -q '^cost.native  *[0-9]' "$T/info"
}
await is_noted || fail "what a call costs is not in the trace: $(cat "$T/info")"
kill -9 $recorder
wait $recorder 2>/dev/null
exec 5>&-
await grep -q '^calls' "$T/out"
is_noted || fail "what a call costs is in the trace no more: $(cat "$T/info")"
"$WEFT" check "$T/trace" >"$T/check" 2>&1
pool=$(cat "$T/trace/pool") && rm -f "$pool"
exit 0
