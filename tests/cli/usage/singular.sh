#!/bin/bash
# One of a thing is one: "1 call", never "1 calls", in what a recording says and
# what each command says of it.
# SPDX-License-Identifier: MIT
set -u
echo 'int main(void) { return 0; }' >"$T/one.c"
gcc -g -finstrument-functions -o "$T/one" "$T/one.c" || exit 1
cd "$T" || exit 1
{
	"$WEFT" record --sample-rate 0 --archive -o t -- ./one
	"$WEFT" record --count-only -o counted -- ./one
	"$WEFT" report counted
	"$WEFT" recover -o found counted
	for command in report explain tree "callers main" "slow main" slow \
		coverage trim merge info check "dump --raw" "report --only x"; do
		# shellcheck disable=SC2086 # words
		"$WEFT" $command t
	done
} >said 2>&1
grep -q '1 call\>' said || { cat said; exit 1; }
! grep -nE '(^|[^0-9.,:/+=])1 ([A-Za-z]+ )?[a-z]+[^su]s\>' said
