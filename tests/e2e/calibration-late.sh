#!/bin/bash
# What a call costs is measured at the start, and on a slow machine after it: then
# the end notes have it.
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

"$T/w/bin/weft" record --pool-size 2M -o "$T/trace" -- "$P/p_slow" 1 \
	>"$T/out" 2>"$T/err"
[ $? = 9 ] || fail "status"
"$WEFT" info "$T/trace" >"$T/info" 2>&1
[ "$(grep -c '^cost.native  *[0-9]' "$T/info")" = 1 ] ||
	fail "what a call costs is not in the trace once: $(cat "$T/info")"
exit 0
