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

# Does anything notice, with its temporary files in folder $2?
notices() {
	local dir=$2
	case $1 in
	busy) set -- tests/e2e/signals.sh ;;
	interrupt | closed) set -- tests/e2e/handlers.sh ;;
	# C++ exceptions: nobody tells that frames die.
	exit | sp | inlined) set -- tests/e2e/calls.sh ;;
	# What it leaves open, the next call heals: seen between the two. And a
	# moment that handlers seldom find.
	ret | again) set -- "$B/breaks/tests/test_lua_heal" ;;
	*) set -- tests/oracle/seed "$B/tests/oracle/woven-gcc-O2" \
		401 402 403 404 405 406 407 408 ;;
	esac
	mkdir -p "$dir/run"
	! T=$dir/run FIRST=1 timeout 400 "$@" >"$dir/said" 2>&1
}

# With every rule on the tests pass, or it would mean nothing that they fail.
sound() {
	notices "$1" "$T/sound-$1" || return 0
	echo "with every rule on, the tests fail already ($1):"
	tail -n 5 "$T/sound-$1/said"
	touch "$T/bad"
}

without() {
	if WEFT_TEST_BREAK=$1 notices "$1" "$T/$1"; then
		echo "without $1: $(grep -v '^ ' "$T/$1/said" | head -n 1)"
	else
		echo "without $1 nothing fails"
		touch "$T/bad"
	fi
}

# Two at a time: recording waits more than it computes.
unset WEFT_TEST_BREAK
rules=$(sed -n 's/^\tX(\([a-z]*\), .*/\1/p' tracer/host/break.h)
for task in "sound woven" "sound busy" "sound exit" "sound ret" \
	"sound interrupt" $(printf 'without:%s ' $rules); do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n
	done
	# shellcheck disable=SC2086
	${task/:/ } &
done
wait
[ ! -e "$T/bad" ]
