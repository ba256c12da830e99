#!/bin/bash
# What weft trim advises: built with its flag for gcc, the program makes exactly
# the calls of functions that are not said to be left out; --skip with its pattern
# shows the same, but for those whose names contain one of the list.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
cxx="g++ -O0 -g -finstrument-functions"
# counts [OPTION...]: the functions of $T/trace, each with its calls.
counts() {
	"$WEFT" report --csv --columns name,calls "$@" "$T/trace" 2>/dev/null |
		sed 1d | sort
}
trim() {
	"$WEFT" trim --below 5000 "$@" "$T/trace" 2>"$T/trim.err"
}
# try SOURCE: the functions before, with the flag, and skipped.
try() {
	$cxx -o "$T/before" "$1" || fail "no $1"
	record "$T/before" || fail "$1: weft record fails"
	counts >"$T/all"
	trim --csv >"$T/rows" || fail "$1: weft trim fails"
	pattern=$(trim -f skip) || fail "$1: no pattern"
	counts --skip "$pattern" >"$T/skipped"
	echo "$pattern" >"$T/list"
	flag=$(trim -f gcc) || fail "$1: no flag: $(cat "$T/trim.err")"
	# shellcheck disable=SC2086 # the flag is one word
	$cxx $flag -o "$T/after" "$1" || fail "$1: not with $flag"
	record "$T/after" || fail "$1: weft record fails"
	counts >"$T/kept"
	record --skip "@$T/list" -- "$T/before" || fail "$1: not with --skip"
	counts | cmp - "$T/skipped" || fail "$1: recorded with --skip: others"
	lua5.4 - "$T/all" "$T/rows" "$T/trim.err" "$T/skipped" "$T/kept" \
		"$flag" <<-'E' || fail "$1: see above; the flag: $flag"
	local function read(file, pattern)
	    local t = {}
	    for line in io.lines(file) do
	        local name, calls = line:match(pattern)
	        if name then t[name:gsub('^"(.*)"$', "%1")] = calls end
	    end
	    return t
	end
	local row = "^(.*),(%d+)$"
	local all, skipped = read(arg[1], row), read(arg[4], row)
	local kept = read(arg[5], row)
	local chosen = read(arg[2], '^(.-),(native),')
	for name in pairs(read(arg[2], '^(".-"),(native),')) do
	    chosen[name] = true
	end
	local left = read(arg[3], "^# not in the list: (.-): (.*)$")
	local texts = {}
	for text in arg[6]:match("=(.*)"):gmatch("[^,]+") do
	    texts[#texts + 1] = text
	end
	-- gcc leaves out each that contains one, listed or not. It writes what
	-- templates are made of in its own way.
	local function is_found(name)
	    for _, text in ipairs(texts) do
	        if name:find(text, 1, true) then return true end
	    end
	end
	local listed, bad = 0, false
	local function same(name, what, have, want)
	    if have ~= want then
	        print(what, name, have, want)
	        bad = true
	    end
	end
	for name, calls in pairs(all) do
	    local is_listed = chosen[name] and not left[name]
	    listed = listed + (is_listed and 1 or 0)
	    same(name, "skipped", skipped[name], not chosen[name] and calls or nil)
	    if is_listed or not name:find("<", 1, true) then
	        same(name, "kept", kept[name],
	             not (is_listed or is_found(name)) and calls or nil)
	    end
	end
	print("note: " .. listed .. " functions in the list")
	os.exit(not bad and listed > 2)
	E
}

try tests/prog/trim/more.cc
grep -q "^# not in the list: gear::operator()(long): gcc's list cannot name it" \
	"$T/trim.err" || fail "not said: $(cat "$T/trim.err")"
grep -q "^# gcc leaves out every function whose name contains one" \
	"$T/trim.err" || fail "not said: $(cat "$T/trim.err")"
try tests/prog/p_cpp.cc
grep -q "^# [1-9][0-9]* of these are of C++'s own headers: .*=/c++/ instead" \
	"$T/trim.err" || fail "not said: $(cat "$T/trim.err")"
