#!/bin/sh
# Each half installs and runs without the other and without the other's
# libraries; what is installed is whole, and uninstall takes all of it away.
# time: 900
# SPDX-License-Identifier: MIT
set -eu
fail() { echo "$*"; exit 1; }

# Keeps $B as it is: only what was built is copied.
put() {
	make --no-print-directory -s B="$B" PREFIX=/opt/weft DESTDIR="$1" "$2"
}
# Without a compiler, make says what installs one; what installs it goes on.
! make -n all CC=no-such-cc >"$T/out" 2>&1 || fail "all: goes on without a compiler"
grep -q 'sh tests/deps.sh build' "$T/out" || fail "all: $(cat "$T/out")"
make -n test-quick CC=no-such-cc 2>&1 | grep -q '^tests/deps.sh build' ||
	fail "test-quick: does not install what is missing"

put "$T/both" install
put "$T/record" install-record
put "$T/read" install-analyze
both=$T/both/opt/weft record=$T/record/opt/weft read=$T/read/opt/weft

for file in bin/weft libexec/weft/weft-record libexec/weft/weft-analyze \
	lib/libweft.so lib/weft/weft-provider.so include/weft.h \
	lib/libweft-lua-static.a lib/pkgconfig/weft-lua-static.pc \
	lib/pkgconfig/weft.pc share/man/man1/weft.1 \
	share/bash-completion/completions/weft share/zsh/site-functions/_weft \
	share/fish/vendor_completions.d/weft.fish \
	lib/babeltrace2/plugins/babeltrace-plugin-weft.so; do
	[ -s "$both/$file" ] || fail "not installed: $file"
done
[ ! -e "$record/libexec/weft/weft-analyze" ] || fail "record: too much"
[ ! -e "$read/libexec/weft/weft-record" ] || fail "analyze: too much"

needs() { readelf -d "$1" | grep NEEDED; }
for file in "$record"/bin/* "$record"/libexec/weft/* "$record"/lib/*.so \
	"$record"/lib/weft/*; do
	! needs "$file" | grep -E 'babeltrace|libdw|gnuplot|liblua' ||
		fail "$file needs what the recording half must not"
done
for file in "$read"/bin/* "$read"/libexec/weft/*; do
	! needs "$file" | grep -E 'lttng|liblua' ||
		fail "$file needs what the analyzing half must not"
done

make --no-print-directory -s B="$B" demo-program
"$record/bin/weft" record -o "$T/trace" -- "$B/demo/search" --rounds 1 \
	README.md docs/guide.md >"$T/out" 2>"$T/err" || {
	cat "$T/err"
	fail "the recording half alone does not record"
}
grep -q "2 documents indexed" "$T/out" || fail "the program did not run"
"$read/bin/weft" report --csv "$T/trace" >"$T/csv" ||
	fail "the analyzing half alone does not report"
grep -q next_word "$T/csv" || fail "no next_word in the report"

if "$record/bin/weft" report "$T/trace" 2>"$T/err"; then
	fail "a report without the analyzing half"
fi
grep -qi "analy.*not installed" "$T/err" || {
	cat "$T/err"
	fail "it does not say which half is missing"
}
if "$read/bin/weft" record -- true 2>"$T/err"; then
	fail "a recording without the recording half"
fi
grep -qi "record.*not installed" "$T/err" || {
	cat "$T/err"
	fail "it does not say which half is missing"
}

# What others find it by. A staged prefix stands where DESTDIR put it.
export PKG_CONFIG_PATH="$both/lib/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$T/both"
cat >"$T/use.c" <<'END'
#include <weft.h>
int main(void) { weft_mark("here"); return weft_pause(); }
END
# shellcheck disable=SC2046
cc -Wall -Werror -o "$T/use" "$T/use.c" $(pkg-config --cflags --libs weft)
LD_LIBRARY_PATH=$both/lib "$T/use" ||
	fail "a program linked to the library does not run unrecorded"
babeltrace2 --plugin-path "$both/lib/babeltrace2/plugins" list-plugins |
	grep -q "^weft" || fail "babeltrace2 does not find the plugin"
MANPATH=$both/share/man man -l "$both/share/man/man1/weft.1" >"$T/man" 2>&1 ||
	fail "man cannot show the page"
bash -n "$both/share/bash-completion/completions/weft"

put "$T/both" uninstall
left=$(find "$T/both" ! -type d)
[ -z "$left" ] || fail "uninstall leaves: $left"
