#!/bin/bash
# What cannot be recorded or read: a clear message, a status that is not zero,
# and nothing is overwritten.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# refuse WHAT PATTERN COMMAND...: fails, and says something like PATTERN.
refuse() {
	local what=$1 pattern=$2
	shift 2
	timeout 300 "$@" >"$T/o" 2>"$T/e" </dev/null
	local status=$?
	[ $status != 0 ] || fail "$what: status 0"
	[ $status != 124 ] && [ $status -lt 128 ] || fail "$what: status $status"
	[ -s "$T/e" ] || fail "$what: no message"
	grep -qiE "$pattern" "$T/e" || fail "$what: $(cat "$T/e")"
}
refuse "no such folder" 'no such|not found|cannot' "$WEFT" report "$T/none"
mkdir "$T/empty"
refuse "an empty folder" 'no trace|empty|not a trace|nothing|no chunk' \
	"$WEFT" report "$T/empty"
refuse "a file" 'not|no' "$WEFT" report tests/lib.sh
mkdir "$T/junk"
head -c 5000 /dev/urandom >"$T/junk/metadata"
refuse "junk" '.' "$WEFT" report "$T/junk"
head -c 50000 /dev/urandom >"$T/junk/spill.weft"
refuse "a junk spill" '.' "$WEFT" report "$T/junk"

refuse "no program" 'not|no such|no program|cannot' \
	"$WEFT" record -o "$T/t1" -- "$T/no-such-program"
refuse "no program at all" 'usage|program|--' "$WEFT" record -o "$T/t2"
mkdir "$T/there"
touch "$T/there/kept"
refuse "a folder that exists" 'exist' \
	"$WEFT" record -o "$T/there" -- "$P/p_echo"
[ -z "$(ls "$T/there" | grep -v kept)" ] || fail "wrote into it"
ln -s "$T/elsewhere" "$T/link"
refuse "a symlink" 'exist|symlink|symbolic' \
	"$WEFT" record -o "$T/link" -- "$P/p_echo"
[ ! -e "$T/elsewhere" ] || fail "wrote through the link"
refuse "no such parent" 'no such|cannot' \
	"$WEFT" record -o "$T/none/trace" -- "$P/p_echo"
if [ "$(id -u)" != 0 ]; then
	mkdir -m 500 "$T/readonly"
	refuse "a folder without leave" 'permission' \
		"$WEFT" record -o "$T/readonly/trace" -- "$P/p_echo"
fi

# A program that called nothing: a trace, if an empty one, and a reason.
record "$P/p_nothing" || fail "p_nothing: weft record fails"
grep -qE 'finstrument-functions|nothing was recorded|no call' "$T/err" ||
	fail "does not say why nothing was recorded: $(cat "$T/err")"
for c in report tree "callers -a" coroutines dump info; do
	timeout 300 "$WEFT" $c "$T/trace" >"$T/o" 2>&1
	status=$?
	[ $status -lt 3 ] || fail "$c of an empty trace: status $status"
	[ -s "$T/o" ] || [ "$c" = dump ] || fail "$c of an empty trace is silent"
done
exit 0
