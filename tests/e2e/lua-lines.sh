#!/bin/bash
# Lines of exact Lua, in one version: the line is the one that os.clock says, calls
# are counted as without --lua-lines and as the program counts them, and its own
# hooks are called as they are without weft.
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# SPDX-License-Identifier: MIT
. tests/lib.sh
v=$1
gcc -O2 -g -finstrument-functions -o "$T/host" tests/prog/lua/sampled.c \
	$(pkg-config --cflags --libs $v) -lpthread || fail "the host is not built"
lined() { record --lua-lines "$@" || fail "$*: weft record fails"; }
# lua_calls NAME: of a Lua function.
lua_calls() {
	awk -F, -v name="$1 <" 'index($1, name) == 1 { n += $6 } END { print n + 0 }' "$T/report.csv"
}
lines_of() {
	"$WEFT" lines --csv "$1" "$T/trace" >"$T/lines.csv" 2>"$T/err" || fail "$(cat "$T/err")"
}

# hot COMMAND...: the hot line of a long function.
hot() {
	lined --sample-rate 0 "$@"
	lines_of long
	awk -F'[ ,]' '
		FNR == NR && $1 == "line" { line = $2; share = $3 }
		FNR != NR && /,line,/ { all += $(NF - 3); if ($(NF - 4) == line) hot = $(NF - 3) }
		END { print line, share, hot, all
		      exit !(all > 100 && hot > 0.8 * share * all) }' \
		"$T/out" "$T/lines.csv" >"$T/hot" || fail "the hot line: $(cat "$T/hot" "$T/lines.csv")"
	report --raw
	nothing_lost
	"$WEFT" report "$T/trace" 2>&1 | grep 'Lua was sampled' && fail "it says that Lua was sampled"
	[ "$(lua_calls long)" -gt 10 ] || fail "long has $(lua_calls long) calls"
	"$WEFT" check "$T/trace" >"$T/check" 2>&1 || fail "$(cat "$T/check")"
}
one_of 3 hot -- "$T/host" script tests/prog/lua/lines.lua
one_of 3 hot --lua-init -- $v tests/prog/lua/lines.lua
# Where calls have no records, notes alone fill a chunk.
for without in --count-only "--max-depth 1"; do
	lined $without --sample-rate 0 -- "$T/host" script tests/prog/lua/lines.lua
	report
	nothing_lost
	lines_of long
	grep -q ',line,' "$T/lines.csv" || fail "$without: no lines"
done

# Lines of coroutines, too. A line has no time in which what it calls runs, be it of
# Lua or C.
cat >"$T/parts.lua" <<'END'
local clock = os.clock
local function small(n) return n % 7 end
local function wait_in_c(n)
	local t = {}
	for i = 1, 40 do t[i] = n end
	for _ = 1, n do table.concat(t, ",") end
end
local took = { 0, 0, 0 }
local function parts(n)
	local x, t, from = 0, {}, clock()
	for i = 1, n do x = x * 3 % 1000003 end                -- 1
	took[1], from = took[1] + clock() - from, clock()
	for i = 1, 2 * n do x = x * 3 % 1000003 end            -- 2
	took[2], from = took[2] + clock() - from, clock()
	for i = 1, n / 100 do x = x + small(i) end             -- calls
	wait_in_c(n / 600)
	return x
end
local co = coroutine.wrap(function(n)
	while true do
		local x, from = 0, clock()
		for i = 1, n do x = x * 3 % 1000003 end        -- 3
		took[3] = took[3] + clock() - from
		n = coroutine.yield(x)
	end
end)
local stop = clock() + 3
while clock() < stop do
	local n = math.floor(30000 * (0.5 + math.random()))
	parts(n)
	co(3 * n)
end
for i = 1, 3 do print("took " .. i .. " " .. took[i]) end
END
parts() {
	lined --sample-rate 0 -- "$T/host" script "$T/parts.lua"
	lines_of '*'
	# shellcheck disable=SC2016
	awk 'FNR == NR && $1 == "took" { said[$2] = $3; all += $3; next }
		FILENAME ~ /parts.lua$/ { if (match($0, /-- [123]$/)) at[FNR] = substr($0, RSTART + 3)
			if (/table.concat/) in_c = FNR; next }
		{ split($0, f, ","); n = split($0, g, ",") }
		f[2] == "line" { line = $0; sub(/^.*parts.lua,/, "", line); split(line, f, ",")
			is[f[1]] += f[2]; sum += (f[1] in at) ? f[2] : 0; every += f[2] }
		END {
			for (line in at) {
				x = 100 * said[at[line]] / all
				y = 100 * is[line] / sum
				print at[line], "said", x, "is", y
				bad = bad || x - y > 8 || y - x > 8
			}
			print "in C:", is[in_c] + 0, "of", every
			exit bad || sum < 200 || is[in_c] > 0.1 * every
		}' "$T/out" "$T/parts.lua" "$T/lines.csv" >"$T/shares" ||
		fail "the program says otherwise: $(cat "$T/shares" "$T/lines.csv")"
}
one_of 3 parts
# What the head says is a share of all time on the CPU, as in weft report: of C's, too.
report
"$WEFT" lines parts "$T/trace" >"$T/lines" 2>"$T/err" || fail "$(cat "$T/err")"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cpu_ns") at = i
		switches = at > 0; at = at ? at : 7; next }
	{ all += $at } index($1, "parts <") == 1 { is += $at }
	END { printf "%.1f%% of all %s;\n", 100 * is / all, switches ? "CPU time" : "time" }' \
	"$T/report.csv" >"$T/share"
grep '^parts <' "$T/lines" | grep -qF "$(cat "$T/share")" ||
	fail "not $(cat "$T/share"): $(grep '^parts <' "$T/lines")"
record --sample-rate 0 -- "$T/host" script "$T/parts.lua" || fail "no recording"
"$WEFT" lines --csv parts "$T/trace" >"$T/lines.csv" 2>&1 && fail "lines from nowhere"

# The program counts its own calls, and those of its own hooks.
cat >"$T/counts.lua" <<'END'
local n = { fib = 0, pick = 0, body = 0, throws = 0, counted = 0, lined = 0 }
local function pick(...) n.pick = n.pick + 1 return (select(-1, ...)) end
local function fib(i)
	n.fib = n.fib + 1
	if i < 2 then return pick(i, 1) end
	return fib(i - 1) + fib(i - 2)
end
local function throws() n.throws = n.throws + 1 error("x") end
local function body(i)
	n.body = n.body + 1
	while true do i = coroutine.yield(fib(i)) end
end
for round = 1, 60 do
	fib(16)
	pcall(throws)
	local co = coroutine.wrap(body)
	for i = 8, 14 do co(i) end
end
if not jit then
	local function spin(m) local s = 0 for i = 1, m do s = s + i % 7 end return s end
	debug.sethook(function() n.counted = n.counted + 1 end, "", 1000)
	spin(20000000)
	debug.sethook(function() n.lined = n.lined + 1 end, "l")
	spin(1000000)
	debug.sethook()
end
for _, name in ipairs{ "fib", "pick", "body", "throws" } do print("calls " .. n[name] .. " " .. name) end
print("hooks", n.counted, n.lined)
END
"$T/host" script "$T/counts.lua" >"$T/alone" || fail "counts fails by itself"
lined -- "$T/host" script "$T/counts.lua"
diff "$T/alone" "$T/out" >"$T/err" || fail "the program counts otherwise: $(cat "$T/err")"
"$WEFT" dump --raw "$T/trace" 2>/dev/null | grep -q 'NOTED flags=3[2-9]' || fail "nothing was noted"
report --raw -n 0
nothing_lost
while read -r _ count name; do
	is=$(lua_calls "$name")
	[ "$is" = "$count" ] || fail "$name: $is calls, not $count"
done < <(grep '^calls' "$T/out")

# The same output, the same end; without LuaJIT's compiler its hooks see more.
for what in many migrate closed forked hooked naps late blocked; do
	if [ $v$what = luajithooked ]; then
		record -- "$T/host" $what && cp "$T/out" "$T/alone"
	else
		"$T/host" $what >"$T/alone"
	fi || fail "$what fails by itself"
	lined -- "$T/host" $what
	diff "$T/alone" "$T/out" >"$T/err" || fail "$what: another output"
	report
	nothing_lost
done
exit 0
