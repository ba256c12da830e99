#!/bin/bash
# What weft trim advises: built with its flag for gcc, the program makes exactly
# the calls that are not in the list; --skip with its pattern shows the same. A
# name that is a part of another one is not in the list.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
cat >"$T/more.cc" <<'C'
static volatile long sum;
struct gear {
	long turn(long x) { return x + 1; }
	long turn_back(long x) { return x - 1; }
	long operator()(long x) { return x ^ 1; }
	~gear() { sum = sum + 1; }
};
template <class A, class B> struct pair_of {
	long add(A a, B b) { return (long)a + (long)b; }
};
template <class A> long half(A a) { return (long)a / 2; }
namespace deep { long step(long x) { return x + 3; } }
extern "C" long c_name(long x) { return x + 4; }
static long steps_of(long x) { return deep::step(x) + c_name(x); }
/* Long calls, and few. */
long back_and_forth(gear &g, long n)
{
	for (long i = 0; i < n; i++)
		sum = sum + g.turn(i) + g.turn_back(i) + g(i);
	for (long i = 0; i < n; i++)
		sum = sum + pair_of<int, long>().add((int)i, i) + half<int>(1);
	for (long i = 0; i < n; i++)
		sum = sum + steps_of(i);
	return sum;
}
long half_an_hour(long n)
{
	for (volatile long i = 0; i < n; i = i + 1)
		;
	return n;
}
int main()
{
	gear g;
	for (int i = 0; i < 3; i++)
		sum = sum + back_and_forth(g, 3000) + half_an_hour(100000);
	return 0;
}
C
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
		<<-'E' || fail "$1: see above; the flag: $flag"
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
	    same(name, "kept", kept[name], not is_listed and calls or nil)
	end
	print("note: " .. listed .. " functions in the list")
	os.exit(not bad and listed > 5)
	E
}

try "$T/more.cc"
for why in 'gear::operator()(long): gcc.s list cannot name it' \
	'long half<int>(int): its name is a part of half_an_hour(long)'; do
	grep -q "^# not in the list: $why" "$T/trim.err" ||
		fail "not said: $why: $(cat "$T/trim.err")"
done
try tests/prog/p_cpp.cc
