#!/bin/bash
# Every command that reads, as weft help lists them, on what is no trace: a
# message and a status that is not zero. Then traces with bits flipped, and cut,
# in the stream, the index, the metadata and a spill file, and damaged profiles:
# no crash, no hang; figures are those of the undamaged trace or something is
# said to be lost. With sanitizers, where make test built them in.
# time: 1200
# harms
# SPDX-License-Identifier: MIT
. tests/lib.sh
set -f
unset COLUMNS DEBUGINFOD_URLS
weft=$WEFT
if [ -z "${EMULATED-}" ] &&
	[ -x "$B/san-address-undefined/libexec/weft/weft-analyze" ]; then
	weft=$B/san-address-undefined/libexec/weft/weft-analyze
else
	echo "note: without sanitizers, which make test builds in"
fi
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99

"$B/tests/prog/p_write_trace" "$T/made" threads=2 chunks=10 records=120 \
	cpus=1 coroutines=1 samples=20 spill_from=7 packed=2 >"$T/truth" || fail "no trace written"
truth=$(awk '{ n += $2 } END { print n }' "$T/truth")

# Each command, maybe in several ways; the trace comes behind these words.
ways=()
for c in $("$WEFT" help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p'); do
	case $c in
	record | help | validate | top) ;; # read no trace
	status | start | stop | snapshot | finish) ;;
	callers) ways+=("callers --all") ;;
	coroutines) ways+=("coroutines --columns +lua,native --csv") ;;
	diff) ways+=("diff $T/made") ;;
	export) ways+=("export -o $T/x.pb" "export -f collapsed"
		"export -f speedscope" "export -f callgrind"
		"export -f speedscope-time --max-events 30"
		"export -f chrome" "export -f perfetto -o $T/x.pftrace"
		"export -f firefox" "export -f json" "export -f csv"
		"export -f sqlite -o $T/x.db") ;;
	html) ways+=("html -o -") ;;
	lines) ways+=("lines *0x2000") ;;
	merge) ways+=(merge "merge -o $T/sum.pb $T/made") ;;
	recover) ways+=("recover -o $T/recovered") ;;
	push) ;; # reads as export does, and needs a server
	path) ways+=("path --call *0x2000" "path --id 101") ;;
	plot) command -v gnuplot >/dev/null && ways+=("plot -o $T/plot.svg") ;;
	report) ways+=("report --tables thread" "report --from 3us --by vm") ;;
	slow) ways+=("slow -n 5 *") ;;
	stacks) ways+=("stacks --at 0s,5us,12us" "stacks --every 3us --group") ;;
	tree) ways+=("tree --csv" "tree --bottom-up --root coroutine") ;;
	*) ways+=("$c") ;;
	esac
done
[ ${#ways[@]} -ge 18 ] || fail "weft help lists: ${ways[*]}"

# sane WHAT COMMAND TRACE: ends by itself and in time.
sane() {
	rm -rf "$T/recovered"
	timeout 300 "$weft" $2 "$3" >"$T/o" 2>"$T/e" </dev/null
	status=$?
	[ $status -le 2 ] || fail "$2 of $1: status $status: $(cat "$T/e")"
	grep -qE 'Sanitizer|runtime error|bug in weft' "$T/e" &&
		fail "$2 of $1: $(cat "$T/e")"
	[ $status = 0 ] || [ -s "$T/e" ] || fail "$2 of $1: no message"
}
refuse() {
	for way in "${ways[@]}"; do
		sane "$1" "$way" "$2"
		[ $status != 0 ] || fail "$way of $1: status 0"
	done
}
for way in "${ways[@]}"; do
	sane "a whole trace" "$way" "$T/made"
	[ $status = 0 ] || fail "$way: how is it called? $(cat "$T/e")"
done
"$weft" report --csv "$T/made" >"$T/made.csv" 2>"$T/e" || fail "report --csv"
mkdir "$T/empty" "$T/junk" "$T/spill"
cat >"$T/junk.lua" <<'LUA'
math.randomseed(tonumber(arg[1]))
for _ = 1, arg[1] do
	io.write(string.char(math.random(0, 255)))
end
LUA
lua5.4 "$T/junk.lua" 5000 >"$T/junk/metadata"
lua5.4 "$T/junk.lua" 50000 >"$T/spill/spill.weft"
: >"$T/nothing"
refuse "no such folder" "$T/none"
refuse "an empty folder" "$T/empty"
refuse "an empty file" "$T/nothing"
refuse "a file" tests/lib.sh
refuse "junk metadata" "$T/junk"
refuse "a junk spill file" "$T/spill"

# flip FILE SEED: one to four bits, anywhere.
cat >"$T/flip.lua" <<'LUA'
math.randomseed(tonumber(arg[2]))
local f = assert(io.open(arg[1], "r+b"))
local size = f:seek("end")
for _ = 1, math.random(4) do
	local at = math.random(0, size - 1)
	f:seek("set", at)
	local byte = f:read(1):byte() ~ (1 << math.random(0, 7))
	f:seek("set", at)
	f:write(string.char(byte))
end
f:close()
LUA

# Each damage is seen by some ways, each way sees damage of every kind.
next=0
some_ways() {
	local lost=$3 way
	for _ in 1 2 3; do
		next=$(((next + 1) % ${#ways[@]}))
		way=${ways[next]}
		sane "$1" "$way" "$2"
		[ $status = 0 ] && [ "$lost" = 1 ] || continue
		case $way in
		plot* | dump*) continue ;; # a picture; records only
		esac
		grep -qE 'lost|not whole' "$T/o" "$T/e" ||
			fail "$way of $1 does not say that something is lost"
	done
}
# The figures are the undamaged ones, or the report says what is not.
honest() {
	local calls said=0
	sane "$1" "report --csv" "$T/trace"
	if [ $status != 0 ]; then
		some_ways "$1" "$T/trace" 0
		return
	fi
	calls=$(awk 'NR > 1 { n += $2 } END { print n + 0 }' \
		FS=',[a-z]*,[^,]*,[^,]*,[0-9]*,' "$T/o")
	grep -q 'nothing was lost' "$T/e" || said=1
	cmp -s "$T/o" "$T/made.csv" && [ "$calls" = "$truth" ] ||
		[ $said = 1 ] || fail "$1: other figures, and nothing was lost"
	sane "$1" check "$T/trace"
	[ "$calls" = "$truth" ] || [ $status != 0 ] ||
		fail "$1: weft check finds it whole"
	[ $said = 0 ] || [ $status != 0 ] ||
		fail "$1: weft check finds it whole, weft report does not"
	some_ways "$1" "$T/trace" $said
}
fresh() {
	rm -rf "$T/trace"
	cp -r "$T/made" "$T/trace"
}
seeds="1 2 3 4" parts="9 61" profiles=12
[ -z "${DEEP-}" ] || {
	seeds=$(seq -s ' ' 12) parts="0 1 9 37 61 99" profiles=40
}
for file in ctf/ust/uid/0/64-bit/weft_0 ctf/ust/uid/0/64-bit/metadata \
	ctf/ust/uid/0/64-bit/index/weft_0.idx spill.weft; do
	for seed in $seeds; do
		fresh
		lua5.4 "$T/flip.lua" "$T/trace/$file" $seed
		honest "$file, flipped by $seed"
	done
	# Cut at any place.
	size=$(stat -c %s "$T/made/$file")
	for part in $parts; do
		fresh
		truncate -s $((size * part / 100)) "$T/trace/$file"
		honest "$file, cut to $part %"
	done
done
# All ways of one that is damaged: what there is is shown.
for way in "${ways[@]}"; do
	sane "a cut spill file" "$way" "$T/trace"
	[ $status = 0 ] || [ "$way" = check ] ||
		fail "$way of a cut spill file: status $status"
done

# A profile: what a profile can tell is told, and damage is found out by its
# checksum, or, below a right one, does no harm.
"$WEFT" export -o "$T/whole.pb" "$T/made" 2>/dev/null || fail "export"
gzip -dc "$T/whole.pb" >"$T/raw"
for seed in $(seq $profiles); do
	if [ $((seed % 4)) = 0 ]; then
		cp "$T/whole.pb" "$T/bad.pb"
		lua5.4 "$T/flip.lua" "$T/bad.pb" "$seed"
	else
		cp "$T/raw" "$T/flipped"
		lua5.4 "$T/flip.lua" "$T/flipped" "$seed"
		gzip -c "$T/flipped" >"$T/bad.pb"
	fi
	some_ways "a profile, flipped by $seed" "$T/bad.pb" 0
done
exit 0
