#!/bin/bash
# The plain events of filter.weft.explode, written out as CTF and read back as
# text, are weft's counts: entry and exit in pairs, times in order.
# SPDX-License-Identifier: MIT
. tests/lib.sh
record "$B/tests/oracle/woven-gcc-O2" 7 "$T/account" tests/oracle/woven.lua ||
	fail "weft record fails"
report
nothing_lost
plugins=$B/lib/babeltrace2/plugins
inputs=$(find "$T/trace" -name metadata -exec dirname {} \;)
connect=
n=0
args=
for i in $inputs; do
	args="$args --component=s$n:source.ctf.fs --params=inputs=[\"$i\"]"
	connect="$connect --connect=s$n:m"
	n=$((n + 1))
done
# shellcheck disable=SC2086
babeltrace2 --plugin-path="$plugins" run $args \
	--component=m:filter.utils.muxer \
	--component=x:filter.weft.explode \
	--component=out:sink.ctf.fs --params="path=\"$T/events\"" \
	$connect --connect=m:x --connect=x:out >"$T/run" 2>&1 ||
	fail "babeltrace2: $(cat "$T/run")"
babeltrace2 --clock-seconds "$T/events" >"$T/text" 2>"$T/run" ||
	fail "babeltrace2 cannot read the events: $(cat "$T/run")"
lua5.4 - "$T/text" "$T/report.csv" <<'END' || fail "the counts differ"
local enters, leaves, calls, last, late = 0, 0, 0, "", 0
for line in io.lines(arg[1]) do
	if line:find("weft:native_enter") or line:find("weft:lua_call") then
		enters = enters + 1
	elseif line:find("weft:native_exit") or line:find("weft:lua_return") then
		leaves = leaves + 1
	end
	local time = line:match("^%[([%d.]+)%]")
	if time < last then
		late = late + 1
	end
	last = time
end
local head = true
for line in io.lines(arg[2]) do
	line = line:gsub('"[^"]*"', "q")
	if not head then
		calls = calls + line:match("^[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,(%d+)")
	end
	head = false
end
print(enters, leaves, calls, late)
os.exit(enters == leaves and enters == calls and late == 0 and enters > 0)
END
