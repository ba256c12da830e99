#!/bin/bash
# Problems that are planted in random programs are found on the page in at most
# three clicks: a function that is hot, a slow call, a function called too often,
# one that waits (for a lock, or asleep), a coroutine that sleeps; and, between
# two builds, a function that is called more often, one that costs more, and one
# with a new caller. What the page says is what weft report says, too.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need chromium chromium
need lua5.4 lua5.4
level=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 9)
[ "$(id -u)" != 0 ] || level=0

# plant SEED: a program with a problem, recorded into $T/SEED.
plant() {
	local dir=$T/p$1
	local -a program=("$dir/plant" 1)
	mkdir "$dir"
	lua5.4 tests/prog/explain/plant.lua "$1" "$dir" || fail "no program $1"
	if [ -e "$dir/plant.lua" ]; then
		program=(--lua-init -- lua5.4 "$dir/plant.lua" 1)
	else
		cc -O1 -g -finstrument-functions -o "$dir/plant" "$dir/plant.c" \
			-lpthread || fail "program $1 does not build"
	fi
	"$WEFT" record -q --on-full wait -o "$T/$1" "${program[@]}" \
		>"$T/e" 2>&1 || fail "program $1: $(cat "$T/e")"
}
# said KEY: what the page says, without the number of clicks, which is small.
said() {
	local clicks text
	read -r clicks text <<<"$(told "$1" | head -n 1)"
	[ "${clicks:-9}" -le 3 ] || fail "$1: $clicks clicks"
	echo "$text"
}
# most_calls TRACE: those of the first row of weft report.
most_calls() {
	"$WEFT" report --csv -n 1 --sort calls --columns calls "$T/$1" \
		2>/dev/null | sed -n 2p
}

found=0
for seed in $(seq "${SEEDS:-20}"); do
	plant "$seed"
	read -r kind func <"$T/p$seed/truth"
	[ $kind != wait ] || [ "$level" -le 2 ] || continue
	drive clicks.js "$seed"
	case "$(said $kind) " in
	"$func "*) found=$((found + 1)) ;;
	*) fail "seed $seed: $kind: \"$(said $kind)\" is read, not $func" ;;
	esac
	got=$(said often | tr -d ,)
	[ "${got##* }" = "$(most_calls "$seed")" ] || fail "seed $seed: most" \
		"calls: page: $got; report: $(most_calls "$seed")"
	rm -rf "$T/p$seed" "${T:?}/$seed"
done

# Two builds.
for build in before after; do
	flags=
	[ $build = before ] || flags=-DPLANTED
	mkdir "$T/$build"
	cc -O1 -g -finstrument-functions $flags -o "$T/$build/regress" \
		tests/prog/p_regress.c || fail "$build does not build"
	for i in 1 2; do
		"$WEFT" record -q -o "$T/$build$i" "$T/$build/regress" $i 200 \
			>"$T/e" 2>&1 || fail "$build: $(cat "$T/e")"
	done
done
drive clicks.js before1 before2 vs after1 after2
for want in "twice .*call" "shared .*call"; do
	told change | sed 's/^1 //' | grep -qE "^$want" ||
		fail "no change \"$want\": $(told change)"
done
echo "$found planted problems and 2 changes found in at most 3 clicks"
