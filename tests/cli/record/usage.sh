#!/bin/bash
# weft record's options: help from their rows, complaints that name them.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# refuse STATUS PATTERN ARGUMENT...
refuse() {
	local status=$1 pattern=$2
	shift 2
	"$WEFT" record "$@" >"$T/o" 2>"$T/err" </dev/null
	local got=$?
	[ $got = "$status" ] || fail "$*: status $got"
	grep -q "$pattern" "$T/err" || fail "$*: no word of $pattern"
	[ ! -s "$T/o" ] || fail "$*: something on stdout"
}
"$WEFT" record --help >"$T/help" || fail "--help fails"
for option in output paused no-follow on-full pool-size compress no-lua \
	no-lua-names no-native count-only max-depth label quiet help version; do
	grep -qe "--$option" "$T/help" || fail "--help: no --$option"
done
"$WEFT" record --version | grep -qE '^weft [0-9.]+$' || fail "--version"
cd "$T" || exit 1
refuse 1 'no program' 
refuse 1 'no program' --
refuse 1 'unknown' --nonsense true
refuse 1 'on-full' --on-full=maybe true
refuse 1 'pool-size' --pool-size=big true
refuse 1 'compress' --compress=much true
refuse 1 'label' --label nothing true
for n in 0 -1 1000001 3x ''; do
	refuse 1 'not a number from 1' --max-depth "$n" true
done
for other in '--skip f' '--only f' '--count f' '--budget 5%'; do
	# shellcheck disable=SC2086
	refuse 1 "max-depth and ${other%% *} exclude each other" --max-depth 2 $other true
done
refuse 127 'no program "no-such"' -- no-such
refuse 127 'no program' -- ./no-such
refuse 2 'File exists' -o . -- true
refuse 2 'No such file' -o none/t -- true
refuse 2 'too small' --pool-size=100K -o t -- true
[ -z "$(ls -d weft-trace-* t 2>/dev/null)" ] || fail "something was left: $(ls)"
touch file
refuse 126 'ermission' -o t -- ./file
mkdir sub
refuse 126 'ermission' -o t2 -- ./sub
[ ! -e t ] && [ ! -e t2 ] || fail 'a folder was left behind'
exit 0
