#!/bin/bash
# run.sh - "make bench": everything side by side, medians of ROUNDS (5) rounds,
# one table, and whether each bound holds. Each round measures a program under
# the floor, under empty hooks and recorded, one after the other; a ratio is the
# median of the rounds' ratios. A run that lost records is no measurement: it is
# made again, and the table says how often. Programs of one thread run on the
# last CPU, so that the recorder has the others. Peers that are not installed are
# left out, with the reason. A Lua row is a ratio too, to calls under a hook that
# reads the clock, and is told in ns of the fastest round of that: a machine that
# is slow for a while slows both. BENCH_QUICK=1 shortens it; BENCH_DOCS=1 writes the
# table into docs/benchmarks.md; BENCH_DIR is the folder that traces go to. What
# this weft has no option for yet is left out, and said.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "${1-}" != --help ] || exec sed -n '2,/SPDX/{/SPDX/!s/^# *//p}' tests/bench/run.sh
echo "bench: runs for long, and nothing else should run meanwhile (BENCH_QUICK=1 shortens it; tests/bench/run.sh --help says more)" >&2
: "${B:=build}"
case $B in
/*) ;;
*) B=$PWD/$B ;;
esac
export LC_ALL=C
W=$B/bench
WEFT=$B/bin/weft
quick=${BENCH_QUICK-}
rounds=${ROUNDS:-5}
million=1000000
n=$((20 * million)) lua_n=$((5 * million)) pair_n=$million
long=$((30 * million)) pace=20
# Each Lua: its pkg-config name, and the most ns and instructions that a call +
# return may cost.
luas="lua5.4:10:135 lua5.3:10:135 lua5.2:10:135 lua5.1:12:150 luajit:12:135"
if [ -n "$quick" ]; then
	rounds=${ROUNDS:-3}
	n=$((3 * million)) lua_n=$million pair_n=$((million / 4))
	long=$((10 * million)) pace=3
fi
TRIES=4
BENCH_CPU=$(($(nproc) - 1))
export BENCH_CPU
T=$(mktemp -d "${BENCH_DIR:-/var/tmp}/weft-bench-XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
results=$T/results
processor=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)
: >"$results"

. tests/bench/desk.sh
. tests/bench/real.sh

# Does weft record have the option?
has() { "$WEFT" record --help | grep -q -- " $1[= ]"; }

say() { [ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2; }

build() {
	local v
	mkdir -p "$W"
	tests/bench/many.sh >"$W/many.c"
	local h="-I. -D_GNU_SOURCE -finstrument-functions"
	# shellcheck disable=SC2086
	gcc -O2 $h -c -o "$W/calls.o" tests/bench/calls.c &&
	gcc -O2 $h -c -o "$W/many.o" "$W/many.c" &&
	gcc -O3 $h -c -o "$W/many3.o" "$W/many.c" &&
	gcc -o "$W/calls" "$W/calls.o" "$W/many.o" -lpthread &&
	gcc -o "$W/calls3" "$W/calls.o" "$W/many3.o" -lpthread &&
	gcc -O1 -finstrument-functions -o "$W/flat_out" \
		tests/prog/p_flat_out.c -lpthread &&
	gcc -O1 -finstrument-functions -o "$W/prefork" \
		tests/prog/p_prefork.c -lpthread &&
	gcc -O2 -I. -shared -fPIC -o "$W/floor.so" tests/bench/floor.c &&
	gcc -O2 -I. -shared -fPIC -DEMPTY -o "$W/empty.so" \
		tests/bench/floor.c &&
	gcc -O2 -I. -D_GNU_SOURCE -o "$W/pairs" tests/bench/pairs.c \
		-pthread -L"$B/lib" -Wl,-rpath,"$B/lib" -lweft &&
	g++ -O2 -o "$W/news" tests/bench/news.cc &&
	gcc -O2 -I. -D_GNU_SOURCE -o "$W/measure" tests/bench/measure.c ||
		return 1
	for v in $luas; do
		v=${v%%:*}
		gcc -O2 -I. -D_GNU_SOURCE $(pkg-config --cflags "$v") \
			-o "$W/lua_calls-$v" tests/bench/lua_calls.c \
			$(pkg-config --libs "$v") || return 1
		gcc -O2 -I. -D_GNU_SOURCE -rdynamic $(pkg-config --cflags "$v") \
			-o "$W/lua_asks-$v" tests/bench/lua_calls.c \
			tests/bench/ask.c $(pkg-config --libs "$v") || return 1
	done
}

# put NAME VALUE: one measurement.
put() { echo "$1 $2" >>"$results"; }

# median NAME
median() {
	awk -v name="$1" '$1 == name { print $2 }' "$results" | sort -n |
		awk '{ v[NR] = $1 } END {
			if (NR == 0) print "nan"
			else print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
		}'
}

# least NAME
least() {
	awk -v name="$1" '$1 == name && (v == "" || $2 < v) { v = $2 }
		END { print v == "" ? "nan" : v }' "$results"
}

# recorded NAME [OPTION...] -- PROGRAM...: one recording; the program's first
# figure is NAME's, the bytes a call NAME.bytes', and $lost what was lost.
recorded() {
	local name=$1 out
	shift
	rm -rf "$T/trace"
	out=$("$WEFT" record -o "$T/trace" "$@" 2>"$T/err") || {
		echo "bench: weft record fails:" >&2
		cat "$T/err" >&2
		return 1
	}
	lost=$(sed -n 's/^weft: lost: *\([0-9]*\).*/\1/p' "$T/err")
	: "${lost:=0}"
	[ "$lost" = 0 ] || return 0
	# shellcheck disable=SC2086
	set -- $out # ns a call, calls, ns by the wall clock
	put "$name" "$1"
	last=$1 last_wall=${3-}
	# A flight recorder writes nothing.
	[ ! -e "$T/trace" ] || put "$name.bytes" "$(du -sb "$T/trace" |
		awk -v calls="$2" '{ print $1 / calls }')"
}

# above NAME: what the last run of weft found: $last ns above a hook that reads
# the clock, where that takes $last_wall.
above() {
	[ -n "$last" ] || return 0
	put "$1.share" "$(calc "$last / $last_wall" 5)"
	put "$1.clock" "$last_wall"
}

# weft NAME [OPTION...] -- PROGRAM...: the same, again where records were lost.
weft() {
	local try
	for try in $(seq $TRIES); do
		recorded "$@" || return 1
		[ "$lost" != 0 ] || return 0
		put "$1.again" "$lost"
	done
	echo "bench: $1: records are lost at every try; left out" >&2
}

# with LIBRARY NAME PROGRAM...
with() {
	local out
	out=$(LD_PRELOAD=$W/$1.so "${@:3}") || return
	put "$2" "${out%% *}"
	last=${out%% *} last_wall=${out##* }
}

native() {
	local name=$1 floor wall
	shift
	with floor "$name.floor" "$@"
	floor=$last wall=$last_wall last=
	weft "$name" -- "$@" || return 1
	[ -n "$last" ] || return 0
	put "$name.ratio" "$(calc "$last / $floor" 4)"
	put "$name.wall" "$(calc "$last_wall / $wall" 4)"
}

# instructions_of NAME CALLS HOW PROGRAM WHAT [clock]: of each of CALLS calls,
# recorded with the options HOW, or with a library preloaded.
instructions_of() {
	local name=$1 calls=$2 how=$3 one= two= run
	local -a run_it
	shift 3
	for run in 1 2; do
		run_it=(valgrind --tool=callgrind
			--callgrind-out-file=/dev/null
			"$1" "$2" $((run * calls)) "${@:3}")
		rm -rf "$T/trace"
		case $how in
		-*)
			# shellcheck disable=SC2086
			run_it=("$WEFT" record $how -o "$T/trace" --
				"${run_it[@]}") ;;
		*) run_it=(env LD_PRELOAD="$how" "${run_it[@]}") ;;
		esac
		two=$("${run_it[@]}" 2>&1 | sed -n 's/.*Collected : *//p')
		[ $run = 2 ] || one=$two
	done
	put "ir.$name" "$(calc "(${two:-nan} - ${one:-nan}) / $calls" 1)"
}

# Less, on purpose: a call that is skipped, counted and not recorded, or kept in
# memory; or more: samples. Sets $option; false if this weft cannot.
less="skip count min sample flight"
less_option() {
	case $1 in
	skip) option="--skip leaf|mid" ;;
	count) option=--count-only ;;
	min) option="--min-duration 1ms" ;;
	sample) option="--sample-rate 1000" ;;
	flight) option="--flight-recorder 64M" ;;
	esac
	has "${option%% *}"
}

# The costs in instructions, which are the same at every run and on every
# processor.
instructions() {
	local v
	command -v valgrind >/dev/null || {
		echo "left out: instructions a call: valgrind is not installed"
		return
	}
	say "bench: instructions"
	for v in empty floor; do
		instructions_of $v 200000 "$W/$v.so" "$W/calls" calls
	done
	instructions_of on 200000 -q "$W/calls" calls
	instructions_of off 200000 --paused "$W/calls" calls
	instructions_of unrecorded 200000 "$B/lib/libweft.so" "$W/calls" calls
	instructions_of inlined 200000 -q "$W/calls3" inlined
	instructions_of inlined.empty 200000 "$W/empty.so" "$W/calls3" inlined
	for v in $less; do
		less_option $v && instructions_of less.$v 200000 "$option" \
			"$W/calls" calls
	done
	for v in $luas; do
		v=${v%%:*}
		instructions_of "$v" 20000 -q "$W/lua_calls-$v" once
		instructions_of "$v.clock" 20000 "" "$W/lua_calls-$v" once clock
	done
	rm -rf "$T/trace"
}

round() {
	local out v empty
	say "bench: round $1 of $rounds"
	native calls "$W/calls" calls $n || return 1
	recorded_call=$last
	with empty off.empty "$W/calls" calls $n
	empty=$last
	weft off --paused -- "$W/calls" calls $n || return 1
	put off.above "$(calc "$last - $empty" 3)"
	for v in $less; do
		less_option $v || continue
		# shellcheck disable=SC2086
		weft less.$v $option -- "$W/calls" calls $n || return 1
		put less.$v.above "$(calc "$last - $empty" 3)"
		put less.$v.part "$(calc "($last - $empty) / \
			($recorded_call - $empty)" 3)"
	done
	native fib "$W/calls" fib $n || return 1
	native random "$W/calls" random $n || return 1
	native inlined "$W/calls3" inlined $n || return 1
	native two "$W/calls" two $n || return 1
	native deep "$W/calls" deep $n || return 1
	for v in $luas; do
		v=${v%%:*}
		last=
		weft "$v.call" -- "$W/lua_calls-$v" call $lua_n || return 1
		above "$v.call"
		last=
		weft "$v.ask" -- "$W/lua_asks-$v" call $lua_n || return 1
		above "$v.ask"
		out=$("$W/lua_calls-$v" plain $lua_n) || return 1
		last=
		weft "$v.plain" --paused -- "$W/lua_calls-$v" plain $lua_n ||
			return 1
		[ -z "$last" ] || {
			put "$v.off" "$(calc "$last / ${out%% *}" 4)"
			put "$v.after" "$(calc "$last_wall / $last" 4)"
		}
		out=$("$W/lua_calls-$v" pair $pair_n clock) || return 1
		last=
		weft "$v.pair" -- "$W/lua_calls-$v" pair $pair_n || return 1
		last_wall=${out%% *}
		[ -z "$last" ] || last=$(calc "$last - $last_wall" 3)
		above "$v.pair"
	done
	sampled native lua5.4 --lua off && sampled words luajit &&
		sampled matrix luajit
}

# sampled NAME LUA OPTION...: with --lua sampled, above and of the same without
# (where there are options: recorded with these).
sampled() {
	local base name=$1 of="$W/lua_calls-$2"
	last=
	if [ $# -gt 2 ]; then
		weft "$name.base" "${@:3}" -- "$of" "$name" $lua_n || return 1
		base=$last
	else
		base=$("$of" "$name" $lua_n) || return 1
	fi
	last=
	weft "$name" --lua sampled -- "$of" "$name" $lua_n || return 1
	[ -n "$last" ] && [ -n "$base" ] || return 0
	put "$name.above" "$(calc "$last - ${base%% *}" 3)"
	put "$name.ratio" "$(calc "$last / ${base%% *}" 4)"
}

# pair NAME WHAT N OPTION...: of one kind, above the same without weft.
pair() {
	local name=pair.$1 out
	out=$("$W/pairs" "$2" "$3") || return 1
	last=
	weft "$name" "${@:4}" -- "$W/pairs" "$2" "$3" || return 1
	[ -n "$last" ] || return 0
	put "$name.above" "$(calc "$last - ${out%% *}" 3)"
	put "$name.ratio" "$(calc "$last / ${out%% *}" 4)"
	put "$name.wall" "$last_wall"
}

# heaped NAME PROGRAM...: with memory, by the same without: by samples, and each.
heaped() {
	local how base name=heaped.$1
	last=
	weft "$name.base" --lua sampled -- "${@:2}" || return 1
	base=$last
	for how in "" =exact; do
		last=
		weft "$name$how" --lua sampled --heap$how -- "${@:2}" || return 1
		[ -z "$last" ] || [ -z "$base" ] ||
			put "$name$how.ratio" "$(calc "$last / $base" 4)"
	done
}

# What is recorded beside calls.
pairs() {
	local i
	say "bench: memory, locks, zones"
	for i in $(seq "$rounds"); do
		pair heap memory $n --heap &&
		pair exact memory $((n / 10)) --heap=exact &&
		heaped news "$W/news" $((n / 2)) &&
		heaped lua5.4 "$W/lua_calls-lua5.4" tables $((n / 2)) &&
		heaped luajit "$W/lua_calls-luajit" tables $((n / 2)) &&
		pair locks locks $n --waits &&
		pair unled locks $n &&
		pair served served $((n / 10)) --waits &&
		pair zones zones $((n / 4)) --lua off &&
		pair off zones $n --paused || return 1
	done
}

# report NAME: of $T/trace, its calls a second and the MB it takes.
report() {
	local out i
	for i in $(seq "$rounds"); do
		out=$("$W/measure" "$WEFT" report "$T/trace" 2>&1 >"$T/report" |
			tail -n 1)
		put "$1.speed" "$(echo "$out" | awk -v calls="$2" \
			'{ print calls / $1 / 1e6 }')"
		put "$1.mb" "$(echo "$out" | awk '{ print $2 }')"
	done
}

# Bytes on disk a call, of two functions and of 400, by the way of packing.
packing() {
	local how what
	say "bench: bytes on disk"
	for how in none fast small auto; do
		for what in calls random; do
			recorded "disk.$what.$how" --compress $how \
				--on-full wait -- "$W/calls" $what \
				$((n / 10)) || return 1
		done
	done
	rm -rf "$T/trace"
}

reading() {
	say "bench: weft report"
	recorded long --on-full wait -- "$W/calls" calls "$long" || return 1
	report report "$long"
	recorded longer --on-full wait -- "$W/calls" calls $((4 * long)) ||
		return 1
	report report4 $((4 * long))
	rm -rf "$T/trace"
}

pacing() {
	local a b
	say "bench: 5 M calls a second for $pace s"
	{ recorded paced -- "$W/calls" paced $((5 * million * pace)) 5e6 &&
		put paced.lost "$lost"; } &
	sleep 1
	# shellcheck disable=SC2046 # one word each
	a=$(ticks $(pgrep -f -- "-o $T/trace"))
	sleep $((pace - 2))
	# shellcheck disable=SC2046
	b=$(ticks $(pgrep -f -- "-o $T/trace"))
	wait $! || return 1
	put paced.cpu "$(calc "($b - $a) / ($pace - 2)" 1)"
	rm -rf "$T/trace"
}

# crowd NAME [OPTION...] -- PROGRAM...: of which many call flat out: NAME.lost and
# NAME.s.
crowd() {
	rm -rf "$T/trace"
	"$WEFT" record -o "$T/trace" "${@:2}" \
		>"$T/out" 2>"$T/err" || return 1
	lost=$(sed -n 's/^weft: lost: *\([0-9]*\).*/\1/p' "$T/err")
	put "$1.lost" "${lost:-0}"
	put "$1.s" "$(sed -n 's/^weft: recorded \([0-9.]*\) s:.*/\1/p' "$T/err")"
}

crowding() {
	local i
	say "bench: many threads"
	for i in $(seq "$rounds"); do
		crowd crowd -- "$W/flat_out" 32 500000 &&
			crowd prefork -- "$W/prefork" 64 &&
			crowd room --pool-size 256M -- \
				"$W/flat_out" 256 20000 &&
			crowd wait --pool-size 8M --on-full wait -- \
				"$W/flat_out" 256 20000 || return 1
	done
	rm -rf "$T/trace"
}

# ticks PID...: CPU time used so far, in 1/100 s.
ticks() {
	local pid
	for pid in "$@"; do
		sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null
	done | awk '{ n += $12 + $13 } END { print n + 0 }'
}

idling() {
	local recorder own daemons a b c d
	say "bench: idle"
	"$WEFT" record -q -o "$T/trace" -- "$W/calls" idle 14 >/dev/null 2>&1 &
	recorder=$!
	sleep 2
	own="$recorder $(pgrep -P $recorder weft | tr '\n' ' ')"
	daemons=$(pgrep '^lttng-' | tr '\n' ' ')
	# shellcheck disable=SC2086
	a=$(ticks $own) c=$(ticks $daemons)
	sleep 10
	# shellcheck disable=SC2086
	b=$(ticks $own) d=$(ticks $daemons)
	wait $recorder
	put idle "$(calc "($b - $a) / 10" 2)"
	# One of them may have ended meanwhile: then that is not known.
	[ "$d" -lt "$c" ] || put idle.lttng "$(calc "($d - $c) / 10" 2)"
	rm -rf "$T/trace"
}

peers() {
	local out i
	say "bench: peers"
	if ! command -v uftrace >/dev/null; then
		echo "left out: uftrace: not installed"
	else
		for i in $(seq "$rounds"); do
			rm -rf "$T/uf"
			out=$(timeout 120 uftrace record -d "$T/uf" --no-pager \
				"$W/calls" calls $((n / 10)) 2>/dev/null) &&
				put uftrace "${out%% *}"
		done
		out=$("$W/measure" timeout 120 uftrace report -d "$T/uf" \
			--no-pager 2>&1 >/dev/null | tail -n 1)
		put uftrace.speed "$(echo "$out" | awk -v calls=$((n / 10)) \
			'{ print calls / $1 / 1e6 }')"
		rm -rf "$T/uf"
	fi
	local cyg
	cyg=$(ls /usr/lib/*/liblttng-ust-cyg-profile-fast.so.1 2>/dev/null |
		head -n 1)
	if [ -z "$cyg" ] || ! command -v lttng >/dev/null; then
		echo "left out: LTTng cyg-profile-fast: not installed"
	elif ! lttng_peer "$cyg"; then
		echo "left out: LTTng cyg-profile-fast: its session cannot be made"
	fi
}

lttng_peer() {
	local session=weft-bench-$$ i out started=0
	if ! lttng list >/dev/null 2>&1; then
		lttng-sessiond --daemonize --no-kernel >/dev/null 2>&1 || return 1
		started=1
	fi
	for i in $(seq "$rounds"); do
		rm -rf "$T/cyg"
		{ lttng -q create $session --output="$T/cyg" &&
		lttng -q enable-channel -u c --subbuf-size=4M --num-subbuf=8 &&
		lttng -q enable-event -u -c c \
			'lttng_ust_cyg_profile_fast:*' &&
		lttng -q start; } >/dev/null 2>&1 || return 1
		out=$(LD_PRELOAD=$1 "$W/calls" calls $((n / 10))) &&
			put cyg "${out%% *}"
		lttng -q stop >/dev/null 2>&1
		lttng -q destroy $session >/dev/null 2>&1
	done
	out=$("$W/measure" babeltrace2 "$T/cyg" -o dummy 2>&1 >/dev/null |
		tail -n 1)
	# What was discarded was not read; two events are a call.
	put cyg.speed "$(babeltrace2 "$T/cyg" 2>/dev/null | wc -l |
		awk -v s="${out%% *}" '{ print $1 / 2 / s / 1e6 }')"
	rm -rf "$T/cyg"
	[ $started = 0 ] || kill "$(cat /var/run/lttng/lttng-sessiond.pid \
		2>/dev/null)" 2>/dev/null
	return 0
}

# row FIGURE MEASURED BOUND HOLDS COMPARISON
row() {
	printf '| %s | %s | %s | %s | %s |\n' "$@"
	[ "$4" != NO ] || echo "$1" >>"$T/bad"
}

# at_most VALUE BOUND; at_least VALUE BOUND: what was not measured does not hold.
at_most() { holds "$1 + 0 <= $2"; }
at_least() { holds "$1 + 0 >= $2"; }
holds() {
	case $1 in
	*nan*) echo NO ;;
	*) awk "BEGIN { if ($1) print \"yes\"; else print \"NO\" }" ;;
	esac
}
calc() {
	case $1 in
	*nan*) echo nan ;;
	*) awk "BEGIN { printf \"%.${2:-2}f\", $1 }" ;;
	esac
}

# again NAME: what to say of runs that lost records.
again() {
	local n
	n=$(grep -c "^$1.again " "$results")
	[ "$n" = 0 ] || echo "; made again where records were lost: $n"
}

ratio_row() { # NAME FIGURE BOUND [wall]
	local ratio wall=
	[ -z "${4-}" ] ||
		wall="; by the wall clock $(calc "$(median "$1.wall")") x"
	ratio=$(calc "$(median "$1.ratio")")
	row "$2" "$(calc "$(median "$1")" 1) ns = $ratio x the floor" \
		"${3:+at most $3 x}" "${3:+$(at_most "$ratio" "$3")}" \
		"floor $(calc "$(median "$1.floor")" 1) ns$wall$(again "$1")"
}

lua_row() { # NAME FIGURE BOUND
	local v
	v=$(calc "$(median "$1.share") * $(least "$1.clock")" 1)
	row "$2" "$v ns = $(calc "$(median "$1.share")") of it" "${3:+at most $3 ns}" "${3:+$(at_most "$v" "$3")}" \
		"with that hook $(calc "$(least "$1.clock")" 1) ns, median \
$(calc "$(median "$1.clock")" 1)$(again "$1")"
}

# above_row NAME BASE FIGURE BOUND COMPARISON: instructions above those of BASE.
above_row() {
	local v
	v=$(calc "$(median "ir.$1") - $(median "ir.$2")" 0)
	row "$3" "$v" "at most $4" "$(at_most "$v" "$4")" "$5"
}

instruction_rows() {
	local v lua
	above_row on empty "instructions a native call, above empty hooks" 95 \
		"floor $(calc "$(median ir.floor) - $(median ir.empty)" 0)"
	above_row off empty "... recording off" 16 ""
	above_row unrecorded empty "... preloaded and not recorded" 16 ""
	above_row inlined inlined.empty "... 400 functions at -O3, inlined" 135 ""
	for v in $luas; do
		lua=${v%%:*}
		above_row "$lua" "$lua.clock" "instructions a $lua call + \
return, above a hook that reads the clock" "${v##*:}" \
			"with that hook $(calc "$(median "ir.$lua.clock")" 0)"
	done
}

ratios_row() { # NAME FIGURE BOUND: of each Lua
	local v all= holds=yes one
	for v in $luas; do
		one=$(calc "$(median "${v%%:*}.$1")" 2)
		all="$all $one"
		[ "$(at_most "$one" "$3")" = yes ] || holds=NO
	done
	row "$2" "${all# } x" "at most $3 x" "$holds" ""
}

report_row() { # NAME CALLS SPEED
	local v
	v=$(calc "$(median "$1.speed")" 1)
	row "\`weft report\` of $(($2 / million)) M calls" "$v M calls/s" \
		"${3:+at least $3}" "${3:+$(at_least "$v" "$3")}" ""
	v=$(calc "$(median "$1.mb")" 0)
	row "... its memory" "$v MB" "at most 200 MB" "$(at_most "$v" 200)" ""
}

peer_row() { # NAME FIGURE READER
	[ "$(median "$1")" != nan ] || return
	row "$2" "$(calc "$(median "$1")" 1) ns = $(calc \
		"$(median "$1") / $(median calls.floor)" 1) x the floor" "" "" \
		"$3 $(calc "$(median "$1.speed")" 1) M calls/s"
}

# packing_of WHAT: bytes a call, by the way of packing.
packing_of() {
	local how all=
	for how in none fast small; do
		all="$all, --compress $how $(calc \
			"$(median "disk.$1.$how.bytes")" 1)"
	done
	echo "${all#, }"
}

# less_row NAME FIGURE NS PART: at most NS above empty hooks, or PART of what
# a recorded call is above them; the same in instructions.
less_row() {
	local v i
	[ "$(median "less.$1")" != nan ] || return 0
	v=$(calc "$(median "less.$1.above")")
	i=$(calc "$(median "ir.less.$1") - $(median ir.empty)" 0)
	if [ -n "$3" ]; then
		row "$2, above empty hooks" "$v ns" "at most $3 ns" \
			"$(at_most "$v" "$3")" "$i instructions"
		return
	fi
	v=$(calc "$(median "less.$1.part")")
	row "$2, of a recorded one" "$v x" "at most $4 x" "$(at_most "$v" "$4")" \
		"both above empty hooks; $i instructions"
}

less_rows() {
	less_row skip "a skipped call" 3 ""
	less_row count "a call with \`--count-only\`" "" 0.5
	# It takes no room in the trace, and time like any other.
	less_row min "a call that \`--min-duration\` counts" "" 2.5
	less_row sample "a call with 1,000 samples a second" "" 1.05
	less_row flight "a call with a flight recorder of 64 MB" "" 1.1
}

pair_row() { # NAME FIGURE BOUND
	local v
	v=$(calc "$(median "pair.$1.above")" 1)
	row "$2" "$v ns above = $(calc "$(median "pair.$1.ratio")") x" \
		"${3:+at most $3 ns}" "${3:+$(at_most "$v" "$3")}" \
		"$(again "pair.$1")"
}

heaped_row() { # NAME FIGURE
	local v ns
	v=$(calc "$(median "heaped.$1.ratio")" 3)
	ns=$(calc "$(median "heaped.$1.base")" 1)
	row "$2" "$v x" "at most 1.03 x" "$(at_most "$v" 1.03)" "$ns ns a turn; \
with \`--heap=exact\` $(calc "$(median "heaped.$1=exact.ratio")") x"
}

table() {
	local v lua
	echo "$processor, $(nproc) CPUs, Linux $(uname -r | sed 's/-.*//');" \
		"$(date -u +%F), commit $(git rev-parse --short HEAD \
			2>/dev/null || echo unknown);" \
		"medians of $rounds rounds of $((n / million)) M calls. The floor: two readings of the" \
		"clock in otherwise empty hooks." | fmt -w 100
	echo
	row figure measured bound holds "for comparison"
	row --- --- --- --- ---
	ratio_row calls "a native call (entry + exit), recorded to disk" 1.45
	ratio_row fib "... fib" 1.7
	ratio_row random "... 400 functions in random order" 1.7
	ratio_row inlined "... 400 functions at -O3, inlined" 1.7
	ratio_row two "... two threads, their CPU time" 1.7 wall
	ratio_row deep "... 2,000 functions, 30 deep, 4 threads, CPU time" \
		"" wall
	v=$(calc "$(median off.above)")
	row "recording off, above empty hooks" "$v ns" "at most 1 ns" \
		"$(at_most "$v" 1)" \
		"empty hooks $(calc "$(median off.empty)" 1) ns"
	[ "$(median ir.on)" = nan ] || instruction_rows
	less_rows
	v=$(calc "$(median disk.calls.auto.bytes)" 1)
	row "bytes on disk a native call" "$v" "at most 3.5" \
		"$(at_most "$v" 3.5)" "$(packing_of calls)"
	row "... 400 functions in random order" \
		"$(calc "$(median disk.random.auto.bytes)" 1)" "" "" \
		"$(packing_of random)"
	for lua in $luas; do
		lua_row "${lua%%:*}.call" "${lua%%:*} call + return, above a \
hook that reads the clock" "$(echo "$lua" | cut -d: -f2)"
		v=
		[ "${lua%%:*}" != lua5.4 ] || v=100
		lua_row "${lua%%:*}.ask" "... by Lua's API, where its layout \
is not known" 22
		lua_row "${lua%%:*}.pair" "... resume + yield, above the \
same" "$v"
	done
	lua=$(echo "$luas" | sed 's/:[0-9]*//g;s/ /, /g')
	ratios_row off "Lua calls in $lua, recording off, with weft / without" \
		1.05
	ratios_row after "... once recording has ended / before it began" 1.05
	row "a native call by five Lua 5.4 functions, \`--lua sampled\`" \
		"$(calc "$(median native.above)" 1) ns above" "" "" \
		"with \`--lua off\` $(calc "$(median native.base)" 1) ns"
	row "LuaJIT joins strings in a loop, \`--lua sampled\` / unrecorded" \
		"$(calc "$(median words.ratio)") x" "" "" ""
	row "... it multiplies matrices" \
		"$(calc "$(median matrix.ratio)") x" "" "" ""
	pair_row heap "a malloc and its free, with \`--heap\`" 4
	pair_row exact "... with \`--heap=exact\`"
	heaped_row news "C++ that takes memory often, \`--heap\` / recorded without"
	heaped_row lua5.4 "Lua 5.4 makes tables, likewise"
	heaped_row luajit "LuaJIT makes tables, likewise"
	pair_row locks "a free mutex, locked and unlocked, with \`--waits\`" 2
	pair_row unled "... without \`--waits\`" 0.2
	v=$(calc "$(median pair.served.ratio)" 3)
	row "a server that takes mostly free mutexes, its CPU time, \`--waits\` \
/ unrecorded" "$v x" "at most 1.02 x" "$(at_most "$v" 1.02)" \
		"$(calc "1000 / $(median pair.served.wall)") M locks a second"
	pair_row zones "a zone, begun and ended"
	pair_row off "... recording off" 1.5
	v=$(median paced.lost)
	row "lost at 5 M calls/s for $pace s" "$v" 0 "$(at_most "$v" 0)" ""
	v=$(median paced.cpu)
	row "... the recorder's processor time" "$v % of a core" "at most 25 %" \
		"$(at_most "$v" 25)" ""
	v=$(median crowd.lost)
	row "lost by 32 threads that call flat out, 16 M calls" "$v" 0 \
		"$(at_most "$v" 0)" "user $(id -u)"
	v=$(median prefork.lost)
	row "... by 64 workers whose threads fork, 2,112 processes" "$v" 0 \
		"$(at_most "$v" 0)" "$(median prefork.s) s"
	v=$(calc "$(median wait.s) / $(median room.s)")
	row "256 threads that wait for 8 MB of buffers / that have room" \
		"$v x" "at most 3 x" "$(at_most "$v" 3)" \
		"$(median wait.s) s; with room $(median room.s) s, $(median \
			room.lost) lost"
	report_row report "$long" 20
	report_row report4 $((4 * long)) 20
	desk_rows
	real_rows sqlite-gcc "SQLite's speedtest1, gcc -O2" 1.45 2 1.35 1.3
	real_rows sqlite-clang "SQLite's speedtest1, clang -O2, after inlining"
	real_rows lua "Lua 5.4 built with the flag, a Lua program"
	real_rows server "A server in C and Lua, its CPU time" "" "" 1.07
	v=$(calc "$(median idle)")
	row "an idle recording" "$v % of a core" "at most 0.5 %" \
		"$(at_most "$v" 0.5)" \
		"all LTTng daemons of this machine $(median idle.lttng) %"
	peer_row uftrace "peer: uftrace record" "uftrace report"
	peer_row cyg "peer: LTTng cyg-profile-fast" "babeltrace2 -o dummy"
}

need=$((long * 4 * 12 / 1024 + 500000))
free=$(df -Pk "$T" | awk 'NR == 2 { print $4 }')
if [ "$free" -lt $need ]; then
	echo "bench: $T has $free KiB free and needs $need: name another" \
		"folder in BENCH_DIR" >&2
	exit 1
fi
build || exit 1
: >"$T/left-out"
# What is built meanwhile does not change instructions.
real_build >"$T/built" &
instructions >>"$T/left-out"
say "bench: building real programs"
wait $!
cat "$T/built" >>"$T/left-out"
for option in --skip --count-only --min-duration --sample-rate \
	--flight-recorder; do
	has $option || echo "left out: weft record has no $option" \
		>>"$T/left-out"
done
for i in $(seq "$rounds"); do
	round "$i" && real_programs || exit 1
done
packing || exit 1
pairs || exit 1
reading || exit 1
desk || exit 1
pacing || exit 1
crowding || exit 1
idling
peers >>"$T/left-out"
say ""
table >"$T/table"
cat "$T/table"
echo
cat "$T/left-out"
if [ -n "${BENCH_DOCS-}" ]; then
	tests/bench/docs.sh docs/benchmarks.md "$T/table" "$processor"
fi
if [ -s "$T/bad" ]; then
	echo "bench: these do not hold:" >&2
	cat "$T/bad" >&2
	exit 1
fi
