#!/bin/bash
# A trace that was moved, of a program that was stripped since, is named from
# the program's debug file: a static function with its file and line.
# SPDX-License-Identifier: MIT
. tests/lib.sh
mkdir "$T/there" "$T/debug"
cp "$P/p_echo" "$T/there/echo"
record "$T/there/echo" </dev/null || fail "weft record fails"
objcopy --only-keep-debug "$T/there/echo" "$T/debug/echo.debug"
objcopy --strip-all "$T/there/echo"
mkdir "$T/elsewhere"
mv "$T/trace" "$T/elsewhere/other-name"
line=$(grep -n 'static int next' tests/prog/p_echo.c | cut -d: -f1)
"$WEFT" report --csv --debug-dir "$T/debug" "$T/elsewhere/other-name" \
	>"$T/report.csv" 2>"$T/report.err" || fail "weft report fails"
grep -E "^next,native,[^,]*,[^,]*p_echo\.c,$line," "$T/report.csv" ||
	fail "next is not named: $(cat "$T/report.csv")"
# By its build-id, the way distributions lay it out.
id=$(readelf -n "$T/debug/echo.debug" | sed -n 's/.*Build ID: //p')
mkdir -p "$T/store/.build-id/${id:0:2}"
mv "$T/debug/echo.debug" "$T/store/.build-id/${id:0:2}/${id:2}.debug"
rm "$T/there/echo"
"$WEFT" report --csv --debug-dir "$T/store" "$T/elsewhere/other-name" \
	>"$T/report.csv" 2>"$T/report.err" || fail "weft report fails"
grep -qE "^next,native,[^,]*,[^,]*p_echo\.c,$line," "$T/report.csv" ||
	fail "next is not named by build-id: $(cat "$T/report.csv")"
