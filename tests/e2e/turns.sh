#!/bin/bash
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# Wherever a thread is when recording is turned on, and by whomever, each call
# from then on is there: native ones without exception; those of Lua, too, unless
# weft status says that recording has not reached the Lua state. That may be so at
# the place itself and where an error is caught without a function of Lua's that
# returns, but only where nothing in the state has turned recording on; in LuaJIT
# until the host calls into it. Its compiler is off meanwhile, and on again
# afterwards. Shared libraries, programs linked with weft, interpreters; by
# --duty, weft start, --start-on and attaching, in all of them at once.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
lua=$1
v=${lua#lua} archive=lib$lua.a script=tests/prog/lua/turns.lua
[ "$lua" != luajit ] || v=5.1 archive=libluajit-5.1.a
archive=$(find /usr/lib -name "$archive" | head -n 1)
[ -n "$archive" ] && pkg-config --exists "$lua" ||
	{ echo "no $lua for programs"; exit 77; }

make --no-print-directory -s B="$B" PREFIX="$T/weft" install-record ||
	fail "it does not install"
export PKG_CONFIG_PATH=$T/weft/lib/pkgconfig
build() {
	# shellcheck disable=SC2046
	gcc -O1 -finstrument-functions -I. $(pkg-config --cflags "$lua") \
		tests/prog/lua/turns.c "$@" || fail "it is not built: $*"
}
# shellcheck disable=SC2046
build -DHOST -o "$T/shared" $(pkg-config --libs "$lua")
# shellcheck disable=SC2046
build -DHOST -o "$T/static" -Wl,-E -Wl,--whole-archive "$archive" \
	-Wl,--no-whole-archive $(pkg-config --libs weft-lua-static) -lm -ldl
build -shared -fPIC -o "$T/turns.so"
ln -s "$(command -v "$lua")" "$T/interpreter"
export LUA_CPATH="$T/?.so;$B/lib/lua/$v/?.so"

places="main called protected coroutine wrapped dies resumes nested caught
	unsaid spawned apart suspended"
name=turns-$$
on="$WEFT start $name >$T/said"
off="$WEFT stop $name >$T/said"
status="$WEFT status $name | grep '^waits .*thread THREAD '"
export COMPILES

# judge WHAT MAY [UNASKED]: the script's counts in $T/out are those in
# $T/report.csv, but for those that wait, whose names MAY matches (UNASKED:
# whether they wait was not asked).
judge() {
	grep '^wrong' "$T/out" && fail "$1"
	# Calls that were open are of unknown age, and not of hours, as 10^13
	# ticks are.
	"$WEFT" dump --raw "$T/trace" 2>"$T/o" | grep -E ' f[0-9]+@[0-9]{13}' &&
		fail "$1: open calls have an age"
	awk -v may="^($2)\$" -v unasked="${3-}" '
		NR == FNR {
			split($0, c, ",")
			if (c[2] == "lua" && c[5] != 0)
				got[c[4]] += c[6]
			if (c[1] == "native_step")
				native += c[6]
			next
		}
		$1 == "waits" { waits[$2] = 1 }
		$1 == "calls" { want[$3] += $2; wanted += $2 > 0 }
		END {
			for (f in want) {
				n++
				if (got[f] + 0 == want[f] ||
				    ((unasked || f in waits) && f ~ may &&
				     got[f] < want[f]))
					continue
				print f ": " want[f] " calls, weft says " \
					got[f] + 0 (f in waits ? ", waits" : "")
				bad = 1
			}
			if (native != wanted) {
				print wanted " native calls, weft says " native
				bad = 1
			}
			exit bad || n == 0
		}' "$T/report.csv" "$T/out" || fail "$1"
}

# in_turn HOST WAY MAY OPTION...: one program goes through all places.
in_turn() {
	local host=$1 way=$2 may=$3 all=$places
	shift 3
	[ "$host" = interpreter ] && set -- "$@" --lua-init
	[ "$way" != outside ] || [ "$host" = interpreter ] ||
		all="$all native"
	COMPILES=
	case $host-$way in
	interpreter-outside | *-hook) ;;
	*) COMPILES=yes ;;
	esac
	# shellcheck disable=SC2086
	record --name $name --paused "$@" -- "$T/$host" $script "$way" "$on" \
		"$off" "$status" $all || fail "$host, $way: it fails"
	report
	nothing_lost
	judge "$host, $way" "$may"
}

# What may wait where recording is turned on from outside.
outside='.*_there|caught_mid'
case $lua in
luajit) outside='.*' ;;
lua5.1) outside='.*_there' ;;
esac

in_turn shared outside "$outside"
in_turn static outside "$outside"
in_turn interpreter outside none
for host in shared static interpreter; do
	for way in title resume hook; do
		in_turn $host $way none
	done
done
in_turn shared C "$outside"
in_turn shared title none --budget 5%

# Each host at each place, while somebody else turns recording on.
export LUA=$lua SCRIPT=$script PLACES=$places
cat >"$T/hosts" <<'END'
#!/bin/bash
# hosts ON OFF STATUS: see turns.lua. The interpreter has a process at each place.
for host in shared static; do
	HOST=${host}_ "$T/$host" $SCRIPT together "$@" $PLACES &
done
for place in $PLACES; do
	HOST=interpreter_ COMPILES= "$T/interpreter" $SCRIPT together "$1" \
		"$2" "" $place & # in which nothing waits
done
wait
END
chmod +x "$T/hosts"
set -- $places
each=$#

# said WORD N: so many times.
said() {
	[ "$(grep -cx "$1" "$T/out")" = "$2" ]
}

# together WAY ON OFF STATUS OPTION...
together() {
	local way=$1 on=$2 off=$3 status=$4
	shift 4
	export COMPILES=yes GO=$T/go
	rm -rf "$T/trace" "$GO"
	"$WEFT" record -o "$T/trace" --name $name --lua-init "$@" -- \
		"$T/hosts" "$on" "$off" "$status" >"$T/out" 2>"$T/err" &
	recorder=$!
	await said ready $((2 + each)) || fail "$way: not all are at a place"
	case $way in
	started) "$WEFT" start $name >"$T/said" || fail "weft start" ;;
	start-on) touch "$GO" ;;
	esac
	await said 'done' $((3 * each)) || fail "$way: not all have gone on"
	[ $way = duty ] || "$WEFT" stop $name >"$T/said" || fail "weft stop"
	wait $recorder || fail "$way: it fails"
	report
	nothing_lost
}

together started "" "" "$status" --paused
judge "all, started" "(shared|static)_($outside)"
together start-on go "" "" --start-on go
judge "all, start-on" none
in_time() {
	together duty "" 1 "" --duty 3s/4s
	! grep -qx late "$T/out"
}
for _ in 1 2 3 4 5; do
	in_time && break
done
judge "all, duty" "(shared|static)_($outside)" unasked

# attached MAY [VARIABLE=VALUE]: a program that runs already, at all places.
has_gone_on() {
	grep -cx 'done' "$T/answers" | grep -qx "$each"
}
attached() {
	local may=$1
	shift
	env "$@" "$T/shared" $script together "" away "" $places \
		>"$T/answers" 2>"$T/program.err" &
	pid=$!
	await grep -qx ready "$T/answers" || fail "it is at no place"
	begin_recorder
	await has_gone_on || fail "not all go on: $(why_not)"
	detach
	wait $pid || fail "attached $*: the program fails"
	mv "$T/answers" "$T/out"
	report
	nothing_lost
	judge "attached $*" "$may" unasked
}

# Calls that began before a program had the library are led nowhere: what the
# next one leads to is exact.
late='.*_there|(coroutine|wrapped|nested|caught|spawned|apart)_mid'
late="$late|(nested|caught|spawned)_back"
late="$late|(called|protected|dies|unsaid|apart)_again"
early=$outside
if [ $lua = luajit ]; then
	late='.*_(there|mid|back)|[^m].*_again'
	early='.*_(there|mid|back)|[^mcua].*_again|(coroutine|caught)_again'
fi
export COMPILES=yes
attached "$early" LD_PRELOAD="$B/lib/libweft.so"
attached "$late"
