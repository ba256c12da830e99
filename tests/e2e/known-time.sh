#!/bin/bash
# Functions that spin for known shares: self, total and suspended agree with
# the program's own clock within 3 %; also where calls are counted that are
# shorter than most of them, and where deep ones are their callers' time.
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
check() {
	record "$@" "$P/p_spin" || fail "weft record fails"
	report --raw
	nothing_lost
	# Functions of Lua are known by their lines: 9 heavy, 3 light, 17 body.
	awk -F, -v limited="$deep" '
	function give(callee, caller) {
		self[caller] = total[caller]
		delete self[callee]
	}
	NR == FNR {
		if (split($0, t, " ") == 5 && t[1] == "times") {
			self[t[5]] = t[2]; total[t[5]] = t[3]; suspended[t[5]] = t[4]
		}
		next
	}
	function near(what, mine, weft, scale,  off) {
		off = (weft - mine) / scale * 100
		if (off < 0)
			off = -off
		if (off > 3) {
			printf "%s: %d ns by the clock, %d by weft: %.2f %%\n", what,
				mine, weft, off
			bad = 1
		}
		if (off > most)
			most = off
	}
	BEGIN { at[9] = "heavy"; at[3] = "light"; at[17] = "body" }
	FNR == 1 && limited {
		give("inner", "middle")
		give("light", "heavy")
	}
	{
		name = $2 == "lua" && ($5 in at) ? at[$5] : $1
		if (!(name in self))
			next
		seen++
		near(name " self", self[name], $7, self[name])
		near(name " total", total[name], $8, total[name])
		if (suspended[name] > 0)
			near(name " suspended", suspended[name], $9, suspended[name])
		if (name == "body")
			was_body = 1
	}
	END {
		if (seen != (limited ? 4 : 6) || !was_body) {
			print "found only " seen + 0 " of 6 functions"
			bad = 1
		}
		printf "note: known time: off by %.2f %% at most\n", most
		exit bad
	}' "$T/out" "$T/report.csv" || fail "times are wrong"
}
deep=
one_of 8 check
one_of 8 check --min-duration 100ms
deep=1
one_of 8 check --max-depth 2
