#!/bin/bash
# With any one of the tracer's healing rules switched off, some test fails: the
# tests can tell. The rules are those of tracer/host/break.h.
# time: 900
# SPDX-License-Identifier: MIT
set -u
prefix=$T/broken
mkdir "$prefix"
cp -r "$B/bin" "$B/lib" "$B/libexec" "$prefix/"
cp "$B/breaks/lib/libweft.so" "$prefix/lib/libweft.so"
export WEFT=$prefix/bin/weft

# Does anything notice?
notices() {
	case $1 in
	busy) set -- tests/e2e/signals.sh ;;
	interrupt) set -- tests/e2e/handlers.sh ;;
	# C++ exceptions: nobody tells that frames die.
	exit | sp | inlined) set -- tests/e2e/calls.sh ;;
	# What it leaves open, the next call heals: seen between the two.
	ret) set -- "$B/breaks/tests/test_lua_heal" ;;
	*) set -- tests/oracle/seed "$B/tests/oracle/woven-gcc-O2" \
		401 402 403 404 405 406 407 408 ;;
	esac
	mkdir -p "$T/run"
	! T=$T/run FIRST=1 timeout 200 "$@" >"$T/said" 2>&1
}

bad=0
unset WEFT_TEST_BREAK
for sound in woven busy exit ret interrupt; do
	if notices "$sound"; then
		echo "with every rule on, the tests fail already ($sound):"
		tail -n 5 "$T/said"
		bad=1
	fi
done
for rule in $(sed -n 's/^\tX(\([a-z]*\), .*/\1/p' tracer/host/break.h); do
	export WEFT_TEST_BREAK=$rule
	if notices "$rule"; then
		echo "without $rule: $(grep -v '^ ' "$T/said" | head -n 1)"
	else
		echo "without $rule nothing fails"
		bad=1
	fi
done
exit $bad
