#!/bin/sh
# The demo's figures, in report, coroutines and plot, equal the account that the
# recorded program keeps of its own calls.
# SPDX-License-Identifier: MIT
set -eu
make --no-print-directory -s B="$B" demo-program
mkdir -p "$T/demo"
OUT=$T/demo ROUNDS=3 tests/prog/demo/run.sh >"$T/said" 2>&1 || {
	tail -n 40 "$T/said"
	exit 1
}
grep "^demo: [0-9]* figures of the report equal" "$T/said"
