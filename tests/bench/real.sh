# real.sh - real programs beside the microbenchmarks, for run.sh, which sources
# it: SQLite's speedtest1, Lua's interpreter with load.lua, and server.c, in C
# and Lua. Each is built plain and with the compiler's flag, and runs plain,
# instrumented, recorded, counted, with a budget, without what "weft trim" lists
# for --skip, and, built twice more, without what it lists for gcc. Recordings of
# all calls are compared with the floor, too. Sources of other programs are
# Debian's; what is built stays in build/bench/real for the next time.
# SPDX-License-Identifier: MIT
R=$W/real
sqlite_size=15 lua_runs=10 batches=4000
[ -z "$quick" ] || sqlite_size=5 lua_runs=3 batches=1000

# unpack PACKAGE: into $R/PACKAGE.
unpack() {
	rm -rf "${R:?}/$1"
	mkdir -p "$R/$1" &&
	tar xf "$R"/src/"$1"_*.orig.tar.* -C "$R/$1" --strip-components 1
}

# The sources, SQLite's as one file. What it prints says why there are none.
real_sources() {
	[ ! -e "$R/sources" ] || return 0
	command -v tclsh >/dev/null || {
		echo "SQLite's source needs tclsh"
		return 1
	}
	mkdir -p "$R/src"
	tests/source.sh "$R/src" sqlite3 lua5.4 >"$R/log" 2>&1 || {
		tail -n 1 "$R/log"
		return 1
	}
	rm -f "$R"/src/*orig-www*
	unpack sqlite3 && unpack lua5.4 && (cd "$R/sqlite3" &&
		./configure --disable-tcl --disable-readline &&
		make sqlite3.c) >>"$R/log" 2>&1 || {
		echo "SQLite's source: see $R/log"
		return 1
	}
	touch "$R/sources"
}

# sqlite NAME COMPILER..., lua and server likewise: a program, unless it is
# there.
sqlite() {
	[ ! -e "$R/$1" ] || return 0
	"${@:2}" -O2 -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION \
		-I"$R/sqlite3" -o "$R/$1" "$R/sqlite3/test/speedtest1.c" \
		"$R/sqlite3/sqlite3.c" -lm >>"$R/log" 2>&1
}
lua() {
	[ ! -e "$R/$1" ] || return 0
	# shellcheck disable=SC2046 # one word each
	"${@:2}" -O2 -w -DLUA_USE_LINUX -Wl,-E -o "$R/$1" $(ls \
		"$R"/lua5.4/src/*.c | grep -v luac.c) -lm -ldl >>"$R/log" 2>&1
}

server() {
	[ ! -e "$R/$1" ] || return 0
	# shellcheck disable=SC2046 # one word each
	"${@:2}" -O2 -w -D_GNU_SOURCE -o "$R/$1" tests/bench/server.c $(
		pkg-config --cflags --libs lua5.4) >>"$R/log" 2>&1
}

# All but what needs a recording. What it prints says what is left out.
real_build() {
	local why
	why=$(real_sources) || {
		echo "left out: real programs: $why"
		return 1
	}
	sqlite sqlite-gcc.plain gcc &
	sqlite sqlite-gcc gcc -finstrument-functions
	wait $!
	lua lua.plain gcc
	lua lua gcc -finstrument-functions
	server server.plain gcc
	server server gcc -finstrument-functions
	command -v clang >/dev/null || {
		echo "left out: clang's speedtest1: clang is not installed"
		return 0
	}
	sqlite sqlite-clang.plain clang &
	sqlite sqlite-clang clang -finstrument-functions-after-inlining
	wait $!
}

# real_command PROGRAM: $run is the program with its arguments.
real_command() {
	run=("$R/$1")
	case $1 in
	lua*) run+=(tests/bench/load.lua $lua_runs) ;;
	server*) run+=($batches) ;;
	json*) run+=($json_rounds) ;;
	zip*) run+=($zip_rounds) ;;
	*) run+=(--memdb --size $sqlite_size) ;;
	esac
}

# real_run NAME PROGRAM [OPTION...]: NAME is put, the program's own seconds.
# With options it is recorded, and NAME.lost is put, too; $preload is a library.
real_run() {
	local name=$1 out
	local -a run
	real_command "$2"
	run=(taskset -c "$BENCH_CPU" "${run[@]}")
	[ -z "${preload-}" ] || run=(env LD_PRELOAD="$preload" "${run[@]}")
	shift 2
	if [ $# -gt 0 ]; then
		rm -rf "$T/trace"
		run=("$WEFT" record -o "$T/trace" "$@" -- "${run[@]}")
	fi
	out=$("${run[@]}" 2>"$T/err") || {
		echo "bench: $name: $(tail -n 1 "$T/err")" >&2
		return 1
	}
	put "$name" "$(echo "$out" | awk '/TOTAL/ { print $NF + 0 }')"
	[ $# = 0 ] || put "$name.lost" "$(sed -n \
		's/^weft: lost: *\([0-9]*\).*/\1/p' "$T/err" | grep . || echo 0)"
}

# What weft trim lists of $T/trace: $R/NAME.skip.
real_trim() {
	[ ! "$R/$1.skip" -nt "$B/libexec/weft/weft-analyze" ] || return 0
	"$WEFT" trim "$T/trace" 2>/dev/null |
		sed -n '/^[0-9]* functions:/p' >"$R/$1.says"
	"$WEFT" trim -f skip "$T/trace" >"$R/$1.skip" 2>/dev/null
}

# real_trimmed NAME [BEFORE]: $R/NAME is SQLite built with weft trim's flag for
# gcc, of $T/trace, and with those of the build BEFORE.
real_trimmed() {
	local flags=$R/$1.flags
	local -a list
	[ ! "$R/$1" -nt "$B/libexec/weft/weft-analyze" ] || return 0
	rm -f "$R/$1"
	[ -z "${2-}" ] || cat "$R/$2.flags" >"$flags.new" || return 1
	"$WEFT" trim -f gcc "$T/trace" >>"$flags.new" 2>/dev/null || return 1
	mv "$flags.new" "$flags"
	mapfile -t list <"$flags"
	sqlite "$1" gcc -finstrument-functions "${list[@]}"
}

# real_ratio NAME BASE TO: TO is put, of the last runs of both.
real_ratio() {
	put "$3" "$(awk -v name="$1" -v base="$2" '
		$1 == name { a = $2 }
		$1 == base { b = $2 }
		END { print a == "" || b == 0 ? "nan" : a / b }' "$results")"
}

# real_recorded NAME PROGRAM BASE OPTION...: and its ratio to BASE.
real_recorded() {
	real_run "$1" "$2" "${@:4}" && real_ratio "$1" "$3" "$1.x"
}

# real_floored NAME PROGRAM BASE: the same, and under the floor. That knows no
# calls of Lua's.
real_floored() {
	case $2 in
	server*) ;;
	*)
		preload=$W/floor.so real_run "$1.floor" "$2" &&
			real_ratio "$1.floor" "$3" "$1.floor.x" || return 1 ;;
	esac
	real_recorded "$@" --compress auto &&
		real_ratio "$1" "$1.floor" "$1.over"
}

# real_again NAME: a program that was built again.
real_again() {
	[ ! -x "$R/$1" ] || { real_run "$1.off" "$1" &&
		real_floored "$1" "$1" "$1.off"; }
}

# One round of a program: each way of running it, one after the other.
real_program() {
	local p=$1 skip=$R/$1.skip
	say "bench: $p"
	real_run "$p.plain" "$p.plain" && real_run "$p.off" "$p" &&
		real_ratio "$p.off" "$p.plain" "$p.off.x" &&
		real_floored "$p.on" "$p" "$p.off" || return 1
	real_trim "$p" || echo "bench: $p: weft trim fails" >&2
	[ "$p" != server ] ||
		real_recorded "$p.heap" "$p" "$p.on" --compress auto --heap
	[ "$p" != sqlite-gcc ] || {
		real_trimmed "$p.trimmed" && real_again "$p.trimmed" &&
			real_trimmed "$p.twice" "$p.trimmed" &&
			real_again "$p.twice"
	} || echo "bench: $p: not built without what weft trim lists" >&2
	! has --count-only ||
		real_recorded "$p.counted" "$p" "$p.off" --count-only
	! has --budget ||
		real_recorded "$p.budget" "$p" "$p.off" --budget 5%
	! has --skip || [ ! -s "$skip" ] ||
		real_recorded "$p.skipped" "$p" "$p.off" --skip "$(cat "$skip")"
}

real_programs() {
	local p
	for p in sqlite-gcc sqlite-clang lua server; do
		[ ! -x "$R/$p" ] || real_program $p
	done
	rm -rf "$T/trace"
}

# real_row NAME FIGURE BOUND [COMPARISON]: what was not run has no row.
real_row() {
	local v lost
	v=$(calc "$(median "$1.x")")
	[ "$v" != nan ] || return 0
	lost=$(median "$1.lost")
	[ "$lost" != 0 ] || lost=
	row "$2" "$v x" "${3:+at most $3 x}" "${3:+$(at_most "$v" "$3")}" \
		"${4-}${lost:+${4:+; }$lost records lost}"
}

# real_floor_row NAME FIGURE BOUND COMPARISON: the bound is a multiple of the
# floor.
real_floor_row() {
	local v over lost
	v=$(calc "$(median "$1.x")")
	over=$(calc "$(median "$1.over")")
	[ "$over" != nan ] || {
		real_row "$1" "$2" "" "$4"
		return
	}
	lost=$(median "$1.lost")
	[ "$lost" != 0 ] || lost=
	row "$2" "$v x = $over x the floor" "${3:+at most $3 x the floor}" \
		"${3:+$(at_most "$over" "$3")}" "floor $(calc \
			"$(median "$1.floor.x")") x; $4${lost:+; $lost records \
lost}"
}

# real_rows PROGRAM FIGURE [FLOOR COUNTED BUDGET TWICE]: with these bounds.
real_rows() {
	local p=$1 part="instrumented, of the first build's time:"
	[ "$(median "$p.on.x")" != nan ] || return 0
	real_floor_row "$p.on" "$2, recorded / instrumented" "${3-}" \
		"instrumented / plain $(calc "$(median "$p.off.x")") x"
	real_row "$p.heap" "... with \`--heap\` / recorded without" 1.01
	real_row "$p.counted" "... \`--count-only\`" "${4-}"
	real_row "$p.budget" "... \`--budget 5%\`" "${5-}"
	real_row "$p.skipped" "... \`--skip\` as \`weft trim\` says" "" \
		"$(cat "$R/$p.says")"
	real_floor_row "$p.trimmed" "... built again as \`weft trim\` says" \
		"${3-}" "$part $(calc "$(median "$p.trimmed.off") / $(median \
			"$p.off")")"
	real_row "$p.twice" "... built once more as it then says" "${6-}" \
		"floor $(calc "$(median "$p.twice.floor.x")") x; $part $(calc \
			"$(median "$p.twice.off") / $(median "$p.off")")"
}
