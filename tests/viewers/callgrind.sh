#!/bin/bash
# callgrind_annotate adds up what weft wrote: self, suspended time, time on and
# off the CPU and calls of each function, and, from what functions call, their
# total time.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need callgrind_annotate valgrind

# told EVENT OPTION...: "NAME<tab>FIGURE" from the rows of callgrind_annotate.
told() {
	local event=$1
	shift
	callgrind_annotate --auto=no --threshold=100 --show-percs=no "$@" \
		--show="$event" --sort="$event" "$T/cg" >"$T/o" 2>"$T/e" ||
		fail "refused: $(cat "$T/e")"
	[ ! -s "$T/e" ] || fail "says: $(cat "$T/e")"
	lua5.4 -e '
		local sum = {}
		for line in io.lines() do
			local n, name = line:match("^ *([%d,.]+)  (.*)$")
			name = name and name:match("^[^:]*:(.*) %[[^]]*%]$")
			if name and name ~= "[outside]" then
				n = math.tointeger((n:gsub("[,.]", "")))
				sum[name] = (sum[name] or 0) + (n or 0)
			end
		end
		for name, n in pairs(sum) do print(name .. "\t" .. n) end
	' <"$T/o" | LC_ALL=C sort
}
# Functions of no cost are not told.
same_figures() {
	local t=$1 key=$2
	shift 2
	told "$@" | grep -v '	0$' >"$T/told"
	reported "$T/$t" "$key" | grep -v '	0$' >"$T/want"
	diff "$T/want" "$T/told" || fail "$t: other $key"
}
make_trace t coroutines=1 chunks=8 threads=2
seeds=$(seq 3 8)
watched=0
made_sessions $seeds
for t in t $seeds; do
	"$W" export -f callgrind --raw -o "$T/cg" "$T/$t" 2>"$T/e" ||
		fail "$t: $(cat "$T/e")"
	same_figures $t suspended_ns Suspended --inclusive=yes
	if grep -q '^events:.* Cpu OffCpu' "$T/cg"; then
		watched=$((watched + 1))
		same_figures $t cpu_ns Cpu
		same_figures $t off_cpu_ns OffCpu
		same_figures $t total_off_cpu_ns OffCpu --inclusive=yes
	fi
	same_figures $t self_ns Time
	same_figures $t calls Calls
	same_figures $t total_ns Time --inclusive=yes
done
[ $watched -ge 2 ] || fail "switches are known of $watched"
[ "$(wc -l <"$T/want")" -ge 5 ] || fail "functions are missing"
exit 0
