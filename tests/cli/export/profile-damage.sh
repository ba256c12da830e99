#!/bin/bash
# Damaged profiles: cut, flipped, of another's making, made to fill memory. A
# message and status 2, or, where the damage hits what weft does not read, the
# right figures; never a crash, a hang or other figures.
# time: 720
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace a coroutines=1 chunks=4 twins=1
make_trace b coroutines=1 chunks=3 threads=3
"$W" export -o "$T/one.pb" "$T/a" 2>/dev/null || fail "export"
"$W" merge -o "$T/two.pb" "$T/a" "$T/b" 2>/dev/null || fail "merge"
for t in one two; do
	gzip -dc "$T/$t.pb" >"$T/$t.raw"
	"$W" report --csv "$T/$t.pb" >"$T/$t.csv" 2>/dev/null || fail "report"
done

# sane WHAT COMMAND...: ends by itself, in time and in bounded memory.
sane() {
	local what=$1
	shift
	(ulimit -v "${memory:-unlimited}"
		exec timeout 300 "$W" "$@") >"$T/o" 2>"$T/e" </dev/null
	status=$?
	case $status in
	0) ;;
	2) [ -s "$T/e" ] || fail "$what: $1 says nothing" ;;
	*) fail "$what: $1 ends with status $status: $(tail -n 3 "$T/e")" ;;
	esac
}
# Bytes of a gzip file: its checksum finds whatever is changed.
cat >"$T/flip.lua" <<'LUA'
-- flip.lua FROM TO SEED: flip 1 to 4 bits, or drop or repeat some bytes.
local from, to, seed = arg[1], arg[2], tonumber(arg[3])
math.randomseed(seed)
local s = assert(io.open(from, "rb")):read("a")
local kind = math.random(6)
local at = math.random(#s)
if kind == 1 then
	s = s:sub(1, at - 1) .. s:sub(at + math.random(40))
elseif kind == 2 then
	s = s:sub(1, at) .. s:sub(math.max(1, at - math.random(200)))
else
	for _ = 1, math.random(4) do
		at = math.random(#s)
		s = s:sub(1, at - 1) ..
			string.char(s:byte(at) ~ 1 << math.random(0, 7)) ..
			s:sub(at + 1)
	end
end
assert(io.open(to, "wb")):write(s)
LUA
for t in one two; do
	for seed in $(seq 25); do
		lua5.4 "$T/flip.lua" "$T/$t.pb" "$T/x.pb" $seed
		sane "$t.pb, flipped by $seed" report --csv "$T/x.pb"
		[ $status = 2 ] || cmp -s "$T/o" "$T/$t.csv" ||
			fail "$t.pb, flipped by $seed: other figures"
	done
	size=$(stat -c %s "$T/$t.pb")
	for part in 0 1 2 3 10 50 90 99; do
		head -c $((size * part / 100)) "$T/$t.pb" >"$T/x.pb"
		sane "$t.pb, cut to $part %" report --csv "$T/x.pb"
		[ $status = 2 ] || fail "$t.pb, cut to $part %: taken as whole"
	done
done

# What is inside, under a checksum that is right: figures may be others, as for
# any file that somebody wrote so; nothing else may happen.
for t in one two; do
	for seed in $(seq "${SEEDS:-60}"); do
		lua5.4 "$T/flip.lua" "$T/$t.raw" "$T/x.raw" $seed
		gzip -c "$T/x.raw" >"$T/x.pb"
		sane "$t.raw, flipped by $seed" report --csv "$T/x.pb"
		case $((seed % 4)) in
		0) sane "$t.raw by $seed" tree --csv "$T/x.pb" ;;
		1) sane "$t.raw by $seed" merge --csv "$T/x.pb" "$T/one.pb" ;;
		2) sane "$t.raw by $seed" diff --csv "$T/two.pb" "$T/x.pb" ;;
		3) sane "$t.raw by $seed" export -o "$T/y.pb" "$T/x.pb" ;;
		esac
	done
done

# Another program's profile: fields that pprof knows, none of weft's.
printf '\x32\x00\x0a\x04\x08\x00\x10\x00' | gzip -c >"$T/other.pb"
sane "another's profile" report "$T/other.pb"
[ $status = 2 ] || fail "another's profile: status $status"
grep -q 'not one that weft wrote' "$T/e" || fail "says: $(cat "$T/e")"
# A later version says so, and an older weft's profile what to do.
printf '\xe2\x3e\x01\x09' | gzip -c >"$T/later.pb"
sane "a later version" report "$T/later.pb"
grep -q 'version is 9' "$T/e" || fail "says: $(cat "$T/e")"
printf '\xc0\x3e\x01' | gzip -c >"$T/old.pb"
sane "an older weft's" report "$T/old.pb"
grep -q 'export the trace again' "$T/e" || fail "says: $(cat "$T/e")"

# Small files that unpack to much: refused, in 2 GiB of memory.
case $(nm "$B/libexec/weft/weft-analyze" 2>/dev/null) in
*__asan_*) exit 0 ;; # its shadow needs terabytes of addresses
esac
memory=2097152
{
	printf '\xe2\x3e\x01\x02\x07\x02' # notes: 40 M empty strings
	lua5.4 -e 'for _ = 1, 20000 do io.write(("\1\0\0\0\0"):rep(1000)) end'
} | gzip -c >"$T/bomb.pb"
sane "strings, ever so many" report "$T/bomb.pb"
[ $status = 2 ] || fail "strings, ever so many: status $status"
{
	printf '\xe2\x3e\x01\x02\x07\x02\x01\x00\xff\xff\xff\xff\x0f'
	head -c 200000000 /dev/zero
} | gzip -1 -c >"$T/bomb.pb"
sane "one huge string" report "$T/bomb.pb"
[ $status = 2 ] || fail "one huge string: status $status"
exit 0
