#!/bin/bash
# Coroutines of every fate, in each Lua, as --lua-init and as calls of a shared
# library show them: those at an address of a collected one, never run ones,
# errors that a wrapped function passes on, closed ones. How many there are of
# each state, how often the library was called for them, and what stands on what
# are as the script says. A body has one name everywhere, whatever it tail-calls.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
script=tests/prog/lua/coroutines.lua

# state: how many coroutines are in each, and in no other.
states() {
	"$WEFT" coroutines --csv "$T/trace" 2>"$T/report.err" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "state") at = i }
		NR > 1 { n[$at]++ }
		END { for (s in n) print s, n[s] }' | sort >"$T/states"
	awk '$1 == "state" { print $3, $2 }' "$T/out" | sort |
		diff - "$T/states" || fail "$1: coroutines of other states"
}

# The functions of Lua's libraries that are called for nothing else.
library() {
	awk -F, '
		NR == FNR {
			split($0, w, "\t")
			if (w[1] == "library")
				want[w[3]] = w[2]
			next
		}
		{ name = $1; sub(/^luaB_co/, "coroutine.", name) }
		name ~ /return of coroutine.wrap|auxwrap/ { name = "wrapped" }
		name in want { got[name] += $6 }
		END {
			for (name in want)
				if (got[name] + 0 != want[name]) {
					print name ": " want[name] \
						" calls, weft says " got[name] + 0
					bad = 1
				}
			exit bad
		}' "$T/out" "$T/report.csv" ||
		fail "$1: other calls of the library"
}

# under LINE ON: all calls of the function there stand on that one.
under() {
	"$WEFT" tree --csv "$T/trace" 2>"$T/report.err" >"$T/tree.csv"
	awk -F, '
		NR == FNR {
			split($0, w, "\t")
			if (w[1] == "under")
				on[w[2]] = w[3]
			next
		}
		{
			name[$1] = $4
			if ($4 ~ /return of coroutine.wrap|auxwrap/)
				name[$1] = "wrapped"
		}
		$7 ~ /coroutines.lua$/ && $8 in on {
			seen[$8] = 1
			if (name[$2] != on[$8]) {
				print $4 " stands on " name[$2]
				bad = 1
			}
		}
		END {
			for (line in on)
				bad = bad || !seen[line]
			exit bad
		}' "$T/out" "$T/tree.csv" || fail "$1: a wrong caller"
}

# Those that are closed are put onto the thread for it, and nothing resumes them.
closings() {
	local n
	n=$(awk '$1 == "state" && $3 == "closed" { n = $2 } END { print n + 0 }' \
		"$T/out")
	[ "$("$WEFT" dump "$T/trace" 2>"$T/report.err" |
		grep -c 'coroutine_resume .*why=closes')" = $n ] ||
		fail "$1: dump shows other closings"
	find "$T/trace" -name metadata -exec dirname {} + | xargs babeltrace2 \
		--plugin-path="$B/lib/babeltrace2/plugins" \
		--component=filter.weft.explode >"$T/events" 2>"$T/report.err" &&
		[ "$(grep -c 'why = "closes"' "$T/events")" = $n ] ||
		fail "$1: explode shows other closings"
}

check() {
	same_lines $script "$T/out"
	states "$1"
	library "$1"
	closings "$1"
	under "$1"
}

# one_name WHAT FILE N: its lines LINE NUMBER are those that the script says, the
# numbers being its Nth words.
one_name() {
	awk '$1 == "body" { print $2, $n }' n="$3" "$T/out" | sort |
		diff - <(sort "$2") || fail "$1: other bodies"
}

# The script's rows of a command: the columns LINE and WHAT, if IF is 1 there.
bodies_of() {
	local what=$1 if=$2
	shift 2
	"$WEFT" "$@" 2>"$T/report.err" | awk -F, -v what="$what" -v if_="$if" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["file"] ~ /bodies.lua$/ && (!if_ || $at[if_] == 1) {
			n[$at["line"]] += what ? $at[what] : 0
		}
		END { for (line in n) print line, n[line] }'
}

bodies() {
	nothing_lost
	bodies_of count "" coroutines --csv --by body "$T/trace" >"$T/by"
	one_name "$1, coroutines" "$T/by" 3
	bodies_of calls "" report --csv --by body "$T/trace" >"$T/by"
	one_name "$1, report" "$T/by" 4
	bodies_of calls is_body tree --csv --recursion none "$T/trace" >"$T/by"
	one_name "$1, tree" "$T/by" 3
	"$WEFT" merge -o "$T/merged.pb.gz" "$T/trace" "$T/trace" \
		>"$T/merged" 2>&1 || fail "$1: merge fails"
	bodies_of calls "" report --csv --by body "$T/merged.pb.gz" |
		awk '{ print $1, $2 / 2 }' >"$T/by"
	one_name "$1, merge" "$T/by" 4
	bodies_of "" is_body stacks --csv --every 100us -n 0 "$T/trace" |
		sort >"$T/by"
	[ -s "$T/by" ] || fail "$1: no snapshot of a coroutine"
	awk '$1 == "body" { print $2, 0 }' "$T/out" | sort |
		comm -13 - "$T/by" | grep . && fail "$1, stacks: other bodies"
	rm "$T/merged.pb.gz"
}

for lua in $LUAS; do
	has $lua $lua
	record --lua-init -- $lua tests/prog/lua/bodies.lua ||
		fail "$lua: weft record fails"
	report
	bodies $lua
	record --lua-init -- $lua $script || fail "$lua: weft record fails"
	check $lua
	pkg-config --exists $lua || continue
	gcc -O1 $(pkg-config --cflags $lua) tests/prog/lua/built.c \
		-o "$T/$lua" $(pkg-config --libs $lua) || fail "not built"
	record "$T/$lua" $script || fail "$lua, shared: weft record fails"
	check "$lua, shared"
	record "$T/$lua" tests/prog/lua/bodies.lua ||
		fail "$lua, shared: weft record fails"
	report
	bodies "$lua, shared"
done
