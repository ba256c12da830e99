#!/bin/bash
# Nothing was recorded: weft record names the reason and the way out.
# SPDX-License-Identifier: MIT
. tests/lib.sh
says() {
	local what=$1 pattern=$2
	shift 2
	record "$@"
	grep -q "$pattern" "$T/err" || fail "$what: no word of $pattern"
}
cat >"$T/c.c" <<'END'
int f(int x) { return x + 1; }
int main(void) { return f(-1); }
END
cc -o "$T/plain" "$T/c.c"
cc -static -finstrument-functions -o "$T/static" "$T/c.c" 2>/dev/null
cat >"$T/own.c" <<'END'
void __cyg_profile_func_enter(void *f, void *c) { (void)f; (void)c; }
void __cyg_profile_func_exit(void *f, void *c) { (void)f; (void)c; }
END
cc -c -o "$T/own.o" "$T/own.c"
cc -finstrument-functions -o "$T/own" "$T/c.c" "$T/own.o"
says plain 'compile it with.*-finstrument-functions' "$T/plain"
says plain 'no Lua state was seen' "$T/plain"
says own 'defines __cyg_profile_func_enter itself' "$T/own"
if [ -x "$T/static" ]; then
	says static 'linked statically' "$T/static"
	says static 'nothing was recorded' "$T/static"
fi
says paused 'was paused' --paused -- "$P/p_exit" exit
says no-native 'nothing was recorded' --no-native -- "$P/p_exit" exit
if [ "$(id -u)" = 0 ]; then
	cp "$T/plain" "$T/setuid"
	chown 65534 "$T/setuid"
	chmod 4755 "$T/setuid"
	says set-user-id 'set-user-id' "$T/setuid"
fi
# A script's interpreter is what counts.
printf '#!%s/plain\n' "$T" >"$T/script"
chmod +x "$T/script"
says script 'finstrument-functions' "$T/script"
exit 0
