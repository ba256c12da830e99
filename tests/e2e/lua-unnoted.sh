#!/bin/bash
# Lua that no tick notes is not the own time of the native function that runs it,
# in one version: samples tell its code from the function's, and what they do not
# tell is in the error.
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# SPDX-License-Identifier: MIT
. tests/lib.sh
v=$1
gcc -O2 -g -finstrument-functions -o "$T/host" tests/prog/lua/unnoted.c \
	$(pkg-config --cflags --libs $v) -lpthread || fail "the host is not built"

# The truth is CPU time, whoever else has the processor.
split() {
	record --lua sampled "$@" -- "$T/host" || fail "weft record fails"
	no_switches && return
	report -n 0
	awk -F, '
		FNR == NR { split($0, w, " "); said[w[1]] = w[2]; next }
		FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ gsub(/\[Lua, not noted\]/, "[Lua not noted]") }
		/^runs_lua,/ { own = $at["cpu_ns"]; error = $at["self_error_ns"] }
		/Lua not noted/ { lua += $at["cpu_ns"] }
		END {
			off = own - said["own"]
			off = off < 0 ? -off : off
			print "own: said", said["own"], "is", own, "error", error
			print "Lua: said", said["lua"], "is", lua
			exit !(own < 2 * said["own"] && off < 3 * error &&
			       lua > said["lua"] / 2)
		}' "$T/out" "$T/report.csv" >"$T/why" ||
		fail "the program says other times: $(cat "$T/why")"
}
one_of 3 split

# Their coroutines ran, though nothing tells what.
"$WEFT" coroutines --by body --csv "$T/trace" 2>/dev/null |
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ n[$1] = $at["count"] }
		END { print n["[body not known]"], n[""]
		      exit !(n["[body not known]"] >= 15 && n[""] == 1) }' \
		>"$T/why" || fail "coroutines without a body: $(cat "$T/why")"

one_of 3 split --reference
