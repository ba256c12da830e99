#!/bin/bash
# yardstick.sh [PROGRAM...] - how near weft's self times of real programs are to
# kernel samples of the same programs while nothing records them: "perf record -e
# cpu-clock -F 4000", RUNS (3) times. PROGRAM is sqlite, json, zip, lua or server
# (all). Each is built with -finstrument-functions, with the flag and -g, and,
# with -g, without the flag: what is shipped. A function's self is compared with
# each build's own. Then what a recording costs, by user CPU time: medians of
# ROUNDS (3) rounds. TOP (10) functions are shown, RECORD has options of weft
# record, BENCH_DIR is the folder that traces go to. Nothing else should run
# meanwhile.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "${1-}" != --help ] || exec sed -n '2,/SPDX/{/SPDX/!s/^# *//p}' tests/bench/yardstick.sh
echo "yardstick: runs for long, and nothing else should run meanwhile (RUNS and ROUNDS shorten it; tests/bench/yardstick.sh --help says more)" >&2
: "${B:=build}" "${RUNS:=3}" "${ROUNDS:=3}" "${TOP:=10}" "${RECORD:=}"
case $B in
/*) ;;
*) B=$PWD/$B ;;
esac
export LC_ALL=C
W=$B/bench
WEFT=$B/bin/weft
quick=
. tests/bench/real.sh
sqlite_size=100 lua_runs=300 batches=10000 json_rounds=4000 zip_rounds=600
T=$(mktemp -d "${BENCH_DIR:-/var/tmp}/weft-yardstick-XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 130' INT TERM

die() {
	echo "yardstick: $*" >&2
	exit 1
}

has() { "$WEFT" record --help | grep -q -- " $1\>"; }

json() {
	"${@:2}" -O2 -w -I"$R/cjson" -o "$R/$1" tests/bench/json.c \
		"$R/cjson/cJSON.c" -lm >>"$R/log" 2>&1
}
zip() {
	"${@:2}" -O2 -w -D_GNU_SOURCE -DHAVE_UNISTD_H -I"$R/zlib" -o "$R/$1" \
		tests/bench/zip.c "$R"/zlib/*.c >>"$R/log" 2>&1
}

sources() {
	local why
	why=$(real_sources) || die "$why"
	[ -e "$R/cjson/cJSON.c" ] && [ -e "$R/zlib/zlib.h" ] || {
		why=$(tests/source.sh "$R/src" cjson zlib 2>&1) &&
			unpack cjson && unpack zlib || die "${why##*$'\n'}"
	}
}

# build PROGRAM: its three builds, unless they are there.
build() {
	[ -x "$R/$1.flag" ] || "$1" "$1.flag" gcc -finstrument-functions
	[ -x "$R/$1.flag-g" ] || "$1" "$1.flag-g" gcc -g -finstrument-functions
	[ -x "$R/$1.plain-g" ] || "$1" "$1.plain-g" gcc -g
}

# truth BUILD FLAGGED: the runs of perf, $T/BUILD.perf.1 and so on.
truth() {
	local i
	real_command "$1"
	for i in $(seq "$RUNS"); do
		perf record -q -e cpu-clock -F 4000 -o "$T/perf" -- \
			"${run[@]}" >/dev/null 2>"$T/err" &&
			perf script -i "$T/perf" --show-mmap-events -F ip,dso \
				>"$T/script" 2>>"$T/err" &&
			lua5.4 tests/bench/yardstick.lua perf "$R/$1" "$R/$2" \
				<"$T/script" >"$T/$1.perf.$i" ||
			die "perf of $1: $(tail -n 1 "$T/err")"
		[ -s "$T/$1.perf.$i" ] ||
			die "perf takes no samples of $1: $(tail -n 1 "$T/err")"
	done
}

# recorded BUILD [OPTION...]: into $T/trace.
recorded() {
	real_command "$1"
	rm -rf "$T/trace"
	# shellcheck disable=SC2086 # one word each
	"$WEFT" record $RECORD "${@:2}" -o "$T/trace" -- "${run[@]}" \
		>/dev/null 2>"$T/err" || die "$1: $(tail -n 1 "$T/err")"
	grep '^weft: lost: *[1-9]' "$T/err"
}

# shares BUILD LABEL OPTION: what weft report says of $T/trace is one more row of
# the table. With --sampled, libc's time is not its caller's; raw times cannot
# tell.
shares() {
	local to=$T/shares.${#rows[@]}
	"$WEFT" report --csv -n 0 "$3" "$T/trace" 2>"$T/err" >"$T/csv" &&
		lua5.4 tests/bench/yardstick.lua weft "$R/$1" <"$T/csv" \
			>"$to" || die "$1: $(tail -n 1 "$T/err")"
	rows+=("$2" "$to")
}

# compared BUILD: the table.
compared() {
	lua5.4 tests/bench/yardstick.lua table "$TOP" "$T/$1".perf.* -- \
		"${rows[@]}"
}

flagged() {
	local -a rows=()
	truth "$1" "$1"
	recorded "$1"
	shares "$1" raw --raw
	shares "$1" net --sampled
	! has --reference || {
		recorded "$1" --reference
		shares "$1" --reference --sampled
	}
	echo
	echo "== ${1/./, built with the }: perf of this build, unrecorded"
	compared "$1"
}

# Of PROGRAM, without the flag, beside its build with it.
plain() {
	local -a rows=("perf with the flag" "$T/perf.flag")
	truth "$1.plain-g" "$1.flag-g"
	cat "$T/$1.flag-g".perf.* >"$T/perf.flag"
	recorded "$1.flag-g"
	shares "$1.flag-g" raw --raw
	shares "$1.flag-g" net --sampled
	! has --reference || {
		recorded "$1.flag-g" --reference="$R/$1.plain-g"
		shares "$1.flag-g" --reference=PLAIN --sampled
	}
	echo
	echo "== $1, built with the flag: perf of the build without it"
	compared "$1.plain-g"
}

# user NAME [OPTION...]: the user CPU time of the program itself.
user() {
	local -a weft=()
	[ $# = 1 ] || weft=("$WEFT" record -o "$T/trace" "${@:2}" --)
	rm -rf "$T/trace"
	"${weft[@]}" /usr/bin/time -o "$T/time" -f %U "${run[@]}" >/dev/null \
		2>"$T/err" || die "$1: $(tail -n 1 "$T/err")"
	echo "$1 $(tail -n 1 "$T/time")" >>"$T/times"
}

costs() {
	local i
	[ "$ROUNDS" -gt 0 ] || return 0
	real_command "$1.flag"
	rm -f "$T/times"
	for i in $(seq "$ROUNDS"); do
		user unrecorded
		user recorded --compress auto
		user --count-only --count-only
		user "--budget 5%" --budget 5%
	done
	echo
	echo "user CPU time, of the unrecorded run's (medians of $ROUNDS rounds)"
	awk '
	{ time = $NF; sub(/ [^ ]*$/, "") }
	$0 == "unrecorded" { base = time; next }
	{ print $0 "\t" time / base }' "$T/times" | sort -t '	' -k 1,1 -k 2,2g |
		awk -F '	' -v middle=$(((ROUNDS + 1) / 2)) '
			++n[$1] == middle { printf "  %-14s %5.2f x\n", $1, $2 }'
}

command -v perf >/dev/null ||
	die "perf is not installed: apt-get install linux-perf"
[ "$RUNS" -ge 2 ] || die "RUNS=$RUNS: the noise needs two"
[ $# -gt 0 ] || set -- sqlite json zip lua server
sources
sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1
for p in "$@"; do
	case $p in
	sqlite | json | zip | lua | server) ;;
	*) die "no program \"$p\"" ;;
	esac
	build "$p" || die "$p: not built: see $R/log"
	flagged "$p.flag"
	flagged "$p.flag-g"
	plain "$p"
	costs "$p"
done
