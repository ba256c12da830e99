#!/bin/bash
# Every command that reads, on what is no trace: a message and a status that is
# not zero. Then traces with bits flipped, in the stream, the index, the
# metadata and a spill file: no crash, no hang, and figures are either those of
# the undamaged trace or something is said to be lost.
# time: 400
# SPDX-License-Identifier: MIT
. tests/lib.sh
commands="check info report tree coroutines cold dump plot"

# sane WHAT COMMAND TRACE [OPTIONS]: ends by itself and in time.
sane() {
	local what=$1 command=$2
	shift 2
	timeout 60 "$WEFT" $command "$@" >"$T/o" 2>"$T/e" </dev/null
	status=$?
	[ $status != 124 ] && [ $status -lt 126 ] ||
		fail "$command of $what: status $status"
}
refuse() {
	local what=$1 trace=$2 c
	for c in $commands; do
		[ $c = plot ] && set -- -o "$T/plot.svg" "$trace" ||
			set -- "$trace"
		sane "$what" $c "$@"
		[ $status != 0 ] || fail "$c of $what: status 0"
		[ -s "$T/e" ] || fail "$c of $what: no message"
	done
}
mkdir "$T/empty" "$T/junk" "$T/spill"
head -c 5000 /dev/urandom >"$T/junk/metadata"
head -c 50000 /dev/urandom >"$T/spill/spill.weft"
: >"$T/nothing"
refuse "no such folder" "$T/none"
refuse "an empty folder" "$T/empty"
refuse "an empty file" "$T/nothing"
refuse "a file" tests/lib.sh
refuse "junk metadata" "$T/junk"
refuse "a junk spill file" "$T/spill"

"$B/tests/prog/p_write_trace" "$T/made" threads=2 chunks=10 records=120 \
	cpus=1 coroutines=1 spill_from=7 >"$T/truth" || fail "no trace written"
truth=$(awk '{ n += $2 } END { print n }' "$T/truth")

# flip FILE SEED: one to four bits, anywhere.
flip() {
	lua5.4 - "$1" "$2" <<-'LUA'
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
}

# The figures are the undamaged ones, or the report says what is not.
honest() {
	local calls said=0
	sane "$1" report --csv "$T/trace"
	cp "$T/e" "$T/report.err"
	if [ $status != 0 ]; then
		[ -s "$T/e" ] || fail "$1: no message"
		return
	fi
	calls=$(awk 'NR > 1 { n += $2 } END { print n + 0 }' \
		FS=',[a-z]*,[^,]*,[^,]*,[0-9]*,' "$T/o")
	grep -q 'nothing was lost' "$T/report.err" || said=1
	[ "$calls" = "$truth" ] || [ $said = 1 ] ||
		fail "$1: $calls of $truth calls and nothing was lost"
	sane "$1" check "$T/trace"
	[ "$calls" = "$truth" ] || [ $status != 0 ] ||
		fail "$1: weft check finds it whole"
}
for file in ctf/ust/uid/0/64-bit/weft_0 ctf/ust/uid/0/64-bit/metadata \
	ctf/ust/uid/0/64-bit/index/weft_0.idx spill.weft; do
	for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
		rm -rf "$T/trace"
		cp -r "$T/made" "$T/trace"
		flip "$T/trace/$file" $seed
		honest "$file, flipped by $seed"
	done
	# Cut at any place.
	size=$(stat -c %s "$T/made/$file")
	for part in 0 1 9 37 61 99; do
		rm -rf "$T/trace"
		cp -r "$T/made" "$T/trace"
		truncate -s $((size * part / 100)) "$T/trace/$file"
		honest "$file, cut to $part %"
	done
done
# All commands on one that is damaged.
for c in info tree "tree -b" "callers --all" coroutines cold dump; do
	sane "a cut spill file" $c "$T/trace"
	[ $status = 0 ] || fail "$c of a cut spill file: status $status"
done
exit 0
