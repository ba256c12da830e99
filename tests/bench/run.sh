#!/bin/bash
# run.sh - "make bench": one run, everything side by side, medians of ROUNDS (5)
# rounds, one table, and whether each bound holds. BENCH_QUICK=1 shortens it.
# Peers that are not installed are left out, with the reason.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
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
n=$((20 * million)) lua_n=$((20 * million)) pair_n=$((2 * million))
long=$((30 * million)) pace=20
if [ -n "$quick" ]; then
	rounds=${ROUNDS:-3}
	n=$((5 * million)) lua_n=$((5 * million)) pair_n=$million
	long=$((10 * million)) pace=5
fi
T=$(mktemp -d "${BENCH_DIR:-/var/tmp}/weft-bench-XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
results=$T/results
: >"$results"
bad=0

say() { [ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2; }

build() {
	mkdir -p "$W"
	tests/bench/many.sh >"$W/many.c"
	local h="-I. -D_GNU_SOURCE -finstrument-functions"
	# shellcheck disable=SC2086
	gcc -O2 $h -c -o "$W/calls.o" tests/bench/calls.c &&
	gcc -O2 $h -c -o "$W/many.o" "$W/many.c" &&
	gcc -O3 $h -c -o "$W/many3.o" "$W/many.c" &&
	gcc -o "$W/calls" "$W/calls.o" "$W/many.o" -lpthread &&
	gcc -o "$W/calls3" "$W/calls.o" "$W/many3.o" -lpthread &&
	gcc -O2 -I. -shared -fPIC -o "$W/floor.so" tests/bench/floor.c &&
	gcc -O2 -I. -shared -fPIC -DEMPTY -o "$W/empty.so" \
		tests/bench/floor.c &&
	gcc -O2 -I. -D_GNU_SOURCE $(pkg-config --cflags lua5.4) \
		-o "$W/lua_calls" tests/bench/lua_calls.c -llua5.4 &&
	gcc -O2 -I. -D_GNU_SOURCE -o "$W/measure" tests/bench/measure.c
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

# weft NAME [OPTION...] -- PROGRAM...: records; the program's first figure is
# NAME's, the bytes a call NAME.bytes', the records lost NAME.lost's.
weft() {
	local name=$1 out lost
	shift
	rm -rf "$T/trace"
	out=$("$WEFT" record -o "$T/trace" "$@" 2>"$T/err") || {
		echo "bench: weft record fails:" >&2
		cat "$T/err" >&2
		return 1
	}
	put "$name" "${out% *}"
	put "$name.bytes" "$(du -sb "$T/trace" | awk -v calls="${out#* }" \
		'{ print $1 / calls }')"
	lost=$(sed -n 's/^weft: lost: *\([0-9]*\).*/\1/p' "$T/err")
	put "$name.lost" "${lost:-0}"
}

# with LIBRARY NAME PROGRAM...
with() {
	local out
	out=$(LD_PRELOAD=$W/$1.so "${@:3}") && put "$2" "${out% *}"
}

native() {
	local name=$1
	shift
	with floor "$name.floor" "$@"
	with empty "$name.empty" "$@"
	weft "$name" -- "$@"
	if [ "$(tail -n 1 "$results" | awk '{ print $2 }')" != 0 ]; then
		# On a disk too slow for a flood the path measured must still
		# be the one that records.
		put "$name.flood" 1
	fi
}

round() {
	say "bench: round $1 of $rounds"
	native calls "$W/calls" calls $n
	weft off --paused -- "$W/calls" calls $n
	native fib "$W/calls" fib $n
	native random "$W/calls" random $n
	native inlined "$W/calls3" inlined $n
	native two "$W/calls" two $n
	native deep "$W/calls" deep $n
	local out
	for what in call pair; do
		local k=$lua_n
		[ $what = call ] || k=$pair_n
		out=$("$W/lua_calls" $what $k clock) &&
			put "lua.$what.clock" "${out% *}"
		weft "lua.$what" -- "$W/lua_calls" $what $k
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

reading() {
	say "bench: weft report"
	weft long --on-full wait -- "$W/calls" calls "$long"
	report report "$long"
	weft longer --on-full wait -- "$W/calls" calls $((4 * long))
	report report4 $((4 * long))
	rm -rf "$T/trace"
}

pacing() {
	say "bench: 5 M calls a second for $pace s"
	weft paced -- "$W/calls" paced $((5 * million * pace)) 5e6
	rm -rf "$T/trace"
}

idling() {
	say "bench: idle"
	"$WEFT" record -q -o "$T/trace" -- "$W/calls" idle 14 >/dev/null 2>&1 &
	local recorder=$! before after
	sleep 3
	before=$("$W/measure" -cpu lttng weft- calls)
	sleep 10
	after=$("$W/measure" -cpu lttng weft- calls)
	wait $recorder
	put idle "$(echo "$before $after" | awk '{ print ($2 - $1) * 10 }')"
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
				put uftrace "${out% *}"
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
			put cyg "${out% *}"
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

# row NAME VALUE UNIT BOUND HOLDS COMPARISON
row() {
	printf '%-46s %9s %-9s %-18s %-4s %s\n' "$@"
	[ "$5" != NO ] || bad=1
}

# at_most VALUE BOUND; at_least VALUE BOUND
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { print (a <= b) ? "yes" : "NO" }'; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { print (a >= b) ? "yes" : "NO" }'; }
calc() { awk "BEGIN { printf \"%.${2:-2}f\", $1 }"; }

ratio_row() {
	local name=$1 text=$2 bound=$3 floor weft ratio note=
	floor=$(median "$name.floor")
	weft=$(median "$name")
	ratio=$(calc "$weft / $floor")
	[ "$(median "$name.lost")" = 0 ] ||
		note=" (some rounds outran the disk)"
	row "$text" "$(calc "$weft" 1)" "ns" \
		"${bound:+at most $bound x}" \
		"${bound:+$(at_most "$ratio" "$bound")}" \
		"$ratio x the floor of $(calc "$floor" 1) ns$note"
}

table() {
	local v
	printf 'weft, %s, %s, %s CPUs; medians of %s rounds\n\n' \
		"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" \
		"$(uname -r)" "$(nproc)" "$rounds"
	row figure "" "" "must reach" holds comparison
	ratio_row calls "a native call, recorded to disk" 1.45
	ratio_row fib "... fib" 1.7
	ratio_row random "... 400 functions in random order" 1.7
	ratio_row inlined "... 400 functions at -O3, inlined" 1.7
	ratio_row two "... two threads" 1.7
	ratio_row deep "... 2,000 functions, 30 deep, 4 threads" ""
	v=$(calc "$(median off) - $(median calls.empty)")
	row "recording off, above empty hooks" "$v" ns "at most 2" \
		"$(at_most "$v" 2)" "empty hooks: $(calc "$(median calls.empty)" 1) ns"
	v=$(calc "$(median calls.bytes)" 1)
	row "bytes on disk a native call" "$v" bytes "at most 12" \
		"$(at_most "$v" 12)" ""
	v=$(calc "$(median lua.call) - $(median lua.call.clock)" 1)
	row "Lua call + return, above a clock-only hook" "$v" ns "at most 10" \
		"$(at_most "$v" 10)" "that hook: $(calc \
		"$(median lua.call.clock)" 1) ns"
	v=$(calc "$(median lua.pair) - $(median lua.pair.clock)" 1)
	row "resume + yield, above the same" "$v" ns "at most 100" \
		"$(at_most "$v" 100)" "that hook: $(calc \
		"$(median lua.pair.clock)" 1) ns"
	v=$(median paced.lost)
	row "lost at 5 M calls/s for $pace s" "$v" records "0" \
		"$(at_most "$v" 0)" ""
	v=$(calc "$(median report.speed)" 1)
	row "weft report, $((long / million)) M calls" "$v" "M calls/s" \
		"at least 20" "$(at_least "$v" 20)" ""
	v=$(calc "$(median report.mb)" 0)
	row "... its memory" "$v" MB "at most 200" "$(at_most "$v" 200)" ""
	v=$(calc "$(median report4.mb)" 0)
	row "... its memory for 4 x the calls" "$v" MB \
		"at most 200" "$(at_most "$v" 200)" \
		"$(calc "$(median report4.speed)" 1) M calls/s"
	v=$(calc "$(median idle)" 2)
	row "an idle recording, LTTng's daemons included" "$v" "% of a core" \
		"at most 0.5" "$(at_most "$v" 0.5)" ""
	v=$(median uftrace)
	[ "$v" = nan ] || row "for comparison: uftrace record" \
		"$(calc "$v" 1)" ns "" "" "$(calc "$v / $(median calls.floor)" 1) x the floor; report $(calc "$(median uftrace.speed)" 1) M calls/s"
	v=$(median cyg)
	[ "$v" = nan ] || row "for comparison: LTTng cyg-profile-fast" \
		"$(calc "$v" 1)" ns "" "" "$(calc "$v / $(median calls.floor)" 1) x the floor; babeltrace2 -o dummy $(calc "$(median cyg.speed)" 1) M calls/s"
}

need=$((long * 4 * 12 / 1024 + 500000))
free=$(df -Pk "$T" | awk 'NR == 2 { print $4 }')
if [ "$free" -lt $need ]; then
	echo "bench: $T has $free KiB free and needs $need: name another" \
		"folder in BENCH_DIR" >&2
	exit 1
fi
build || exit 1
for i in $(seq "$rounds"); do
	round "$i" || exit 1
done
reading || exit 1
pacing || exit 1
idling
peers >"$T/left-out"
say ""
table
cat "$T/left-out"
exit $bad
