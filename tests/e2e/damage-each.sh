#!/bin/bash
# Each chunk of a trace damaged in turn, in each of its parts and in the packet
# around it; zeros and noise over it; the file cut there. A chunk that is gone is
# said to be, whichever it is: the last one of a thread, the recorder's own; else
# figures are those of the undamaged trace. Of made-up traces in two versions of
# the format, of a snapshot, and of a recording through LTTng.
# each: 0 1 snapshot lttng
# time: 1200
# harms
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset COLUMNS DEBUGINFOD_URLS
every=1
case $1 in
snapshot)
	FOLDER=$T/trace record --flight-recorder 1M --compress none -- \
		"$P/p_flight" ASK 3000 || fail "no recording"
	mv "$T/trace/snapshot-1" "$T/made"
	;;
lttng)
	record --compress none -- "$P/p_threads" in-turn 5 || fail "no recording"
	mv "$T/trace" "$T/made"
	;;
*)
	"$P/p_write_trace" "$T/made" threads=2 chunks=3 records=120 cpus=1 \
		coroutines=1 spill_from=2 names=1 packed="$1" >"$T/out" ||
		fail "no trace was written"
	;;
esac
[ -n "${DEEP-}" ] || [ "$1" = 0 ] || [ "$1" = 1 ] || every=3

# damage.lua FILE: the chunks in it, AT SIZE each.
# damage.lua FILE TO KIND AT SIZE: a damaged copy.
cat >"$T/damage.lua" <<'LUA'
local function whole(path)
	local f = assert(io.open(path, "rb"))
	local all = f:read("a")
	f:close()
	return all
end
local all = whole(arg[1])
if not arg[2] then
	local at = 1
	while true do
		local a = all:find("WEFT2 . %x%x%x%x%x ", at)
		local b = all:find("WEFTCHNK", at, true)
		local size
		if a and not (b and b < a) then
			at, size = a, 104 + tonumber(all:sub(a + 8, a + 12), 16)
		elseif b then
			at, size = b, 8 * string.unpack("<I8", all, b + 16)
		else
			break
		end
		-- What packets leave over is cut off.
		if at + size - 1 <= #all and (at == b or
		   not all:sub(at, at + size - 1):find("\0", 1, true)) then
			print(at - 1, size)
			at = at + size
		else
			at = at + 1
		end
	end
	os.exit()
end
local kind, at, size = arg[3], tonumber(arg[4]), tonumber(arg[5])
local function put(where, bytes)
	all = all:sub(1, where) .. bytes .. all:sub(where + #bytes + 1)
end
local function flip(where)
	put(where, string.char(all:byte(where + 1) ~ 4))
end
-- babeltrace2 sees no event beyond a packet's content.
local function shorten()
	local packet
	for p in all:sub(1, at):gmatch("()\xc1\x1f\xfc\xc1") do
		packet = p - 1
	end
	put(packet + 48, string.pack("<I8", (at - 45 - packet) * 8))
end
local kinds = {
	magic = function() flip(at + 2) end,
	head = function() flip(at + 30) end,
	number = function() flip(at + 79) end,
	body = function() flip(at + size // 2 + 52) end,
	seal = function() flip(at + 90) end,
	last = function() flip(at + size - 1) end,
	zeros = function() put(at, ("\0"):rep(size)) end,
	hole = function()
		local where = at + size // 2 + 52
		put(where, all:byte(where + 1) == 0 and "\1" or "\0")
	end,
	pages = function()
		local from = at // 4096 * 4096
		put(from, ("\0"):rep(math.min(#all, at + size) - from))
	end,
	noise = function()
		put(at, (("."):rep(size):gsub(".", function()
			return string.char(math.random(0, 255))
		end)))
	end,
	before = function() put(math.max(at - 40, 0), ("\0"):rep(20)) end,
	cut = function() all = all:sub(1, at + size // 2) end,
	["cut before"] = function() all = all:sub(1, at) end,
	short = function() shorten() end,
	["short, magic"] = function() shorten() flip(at + 2) end,
	["short, head"] = function() shorten() flip(at + 30) end,
	["short, body"] = function() shorten() flip(at + size // 2 + 52) end,
	["short, seal"] = function() shorten() flip(at + 90) end,
}
kinds[kind]()
local f = assert(io.open(arg[2], "wb"))
f:write(all)
f:close()
LUA

figures() {
	timeout 300 "$WEFT" report --csv --top 0 "$1" >"$T/now.csv" \
		2>"$T/now.err"
}
figures "$T/made" || fail "weft report fails"
cp "$T/now.csv" "$T/made.csv"
"$WEFT" check "$T/made" >"$T/o" || fail "not whole: $(cat "$T/o")"

# honest WHAT IS_GONE: what weft says of $T/trace.
honest() {
	local status=0 checked=0
	figures "$T/trace" || status=$?
	timeout 300 "$WEFT" check "$T/trace" >"$T/o" 2>&1 || checked=$?
	[ $status -le 2 ] && [ $checked -le 2 ] ||
		fail "$1: status $status and $checked: $(cat "$T/o")"
	[ $status = 0 ] && grep -qx '# nothing was lost' "$T/now.err" ||
		status=2
	[ $status = $checked ] || fail "$1: weft check says other things than" \
		"weft report: $(cat "$T/o" "$T/now.err")"
	[ $status = 0 ] || return
	cmp -s "$T/made.csv" "$T/now.csv" ||
		fail "$1: other figures, and nothing was lost"
	[ "$2" = 0 ] || fail "$1: a chunk is gone, and nothing was lost"
}

tried=0
while read -r file; do
	lua5.4 "$T/damage.lua" "$T/made/$file" >"$T/chunks"
	last=$(wc -l <"$T/chunks") n=0
	while read -r at size; do
		n=$((n + 1))
		[ $n -le 2 ] || [ $n -ge $((last - 2)) ] ||
			[ $((n % every)) = 0 ] || continue
		for kind in magic head number body seal last zeros hole pages \
			noise before cut "cut before" short "short, magic" \
			"short, head" "short, body" "short, seal"; do
			gone=1
			case $file-$kind in
			*spill*-short* | *spill*-before) continue ;;
			*-before | *-short) gone=0 ;;
			esac
			rm -rf "$T/trace"
			cp -r "$T/made" "$T/trace"
			lua5.4 "$T/damage.lua" "$T/made/$file" \
				"$T/trace/$file" "$kind" "$at" "$size" ||
				fail "cannot damage: $kind"
			what="$file, chunk $n of $last at $at, $kind"
			honest "$what" $gone
			case $kind in
			*body | *seal | last)
				grep -qxF "damaged in ${file#./}: the chunk at \
byte $at" "$T/o" || fail "$what: weft check does not say where: $(cat "$T/o")"
				;;
			esac
			tried=$((tried + 1))
		done
	done <"$T/chunks"
done < <(cd "$T/made" && find . -name 'weft_[0-9]*' ! -name '*.idx' -o \
	-name spill.weft)
[ $tried -ge 60 ] || fail "only $tried damages were tried"
echo "$tried damages"
