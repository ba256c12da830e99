#!/bin/sh
# gen.sh OBJECT - prints the table of the tests in an object file: all global
# functions named test_*, in the order of their names.
# SPDX-License-Identifier: MIT
set -eu
names=$(nm "$1" | awk '$2 == "T" && $3 ~ /^test_/ { print $3 }')
echo '#include "tests/test.h"'
for n in $names; do
	echo "void $n(void);"
done
echo 'const struct test_case test_cases[] = {'
for n in $names; do
	printf '\t{ "%s", %s },\n' "$n" "$n"
done
printf '\t{ NULL, NULL },\n};\n'
