#!/bin/bash
# weft status lists the Lua states that have passed no safe point since recording
# was turned on, as they sleep in a C function, also in a coroutine; one that goes
# on is not in the list. Of a program that is attached it says that none was seen.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
cat >"$T/sleeps.lua" <<'END'
local function f() end
local function answer()
	local line = io.read()
	if line then
		for _ = 1, 100 do f() end
		print(line)
		io.stdout:flush()
	end
	return line
end
answer()
answer()
local co = coroutine.wrap(function() while answer() do end end)
co()
END

says() {
	"$WEFT" status "$recorder" | grep -q '^waits  *'"$1"
}
for lua in $LUAS; do
	begin "$WEFT" record -o "$T/$lua" --paused --lua-init -- $lua \
		"$T/sleeps.lua"
	ask here
	recorder=$pid
	program=$("$WEFT" status $recorder | sed -n 's/^pid *//p')
	says any && fail "$lua: it waits while recording is off"
	for round in main coroutine; do
		"$WEFT" start $recorder >"$T/o" || fail "$lua: weft start"
		says "Lua state of process $program, thread $program ($lua)" ||
			fail "$lua: it is not listed: $round"
		"$WEFT" status | grep -q "waits Lua state of process $program" ||
			fail "$lua: it is not in the table"
		ask on
		says . && fail "$lua: it is listed: $round"
		"$WEFT" stop $recorder >"$T/o" || fail "$lua: weft stop"
		ask off
		says . && fail "$lua: it waits while recording is off"
	done
	exec 8>&-
	wait "$pid" || fail "$lua: status $?"
	ln -sfn "$T/$lua" "$T/trace"
	report
	nothing_lost
	n=$(awk -F, '$2 == "lua" && $5 == 1 { n += $6 } END { print n + 0 }' \
		"$T/report.csv")
	[ "$n" = 200 ] || fail "$lua: $n calls of f, not 200"
	rm "$T/trace"
done

for lua in $LUAS; do
	pkg-config --exists "$lua" || continue
	gcc -O1 -I. $(pkg-config --cflags "$lua") tests/prog/lua/attached.c \
		-o "$T/attached" -ldl $(pkg-config --libs "$lua") ||
		fail "the program is not built"
	begin env LD_PRELOAD="$B/lib/libweft.so" "$T/attached"
	ask 10
	"$WEFT" record -o "$T/attached.trace" -p "$pid" 2>"$T/err" 8>&- 9<&- &
	recorder=$!
	await says "process $pid: it has called nothing" ||
		fail "$lua: attached, not listed"
	goes_on() {
		ask 10
		! says .
	}
	await goes_on || fail "$lua: attached, it is listed"
	detach
	rm -r "$T/attached.trace"
	end
done
exit 0
