#!/bin/bash
# weft explain names the problem that was planted in random programs, each by
# its kind and function: a hot function, a slow call, a function called too
# often, one that waits, a coroutine that sleeps. In the same programs without
# the problem it finds nothing at all. What else a busy machine does is a problem,
# too, or hides one: of 8 programs (20 with DEEP=1) that have two tries each, one in
# eight tries may be wrong; without the kernel's switches, one in two.
# time: 900
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
command -v lua5.4 >/dev/null || { echo "Lua is not installed"; exit 77; }
record -q -- "$P/p_exit" exit
switches=shown
no_switches >"$T/why" && switches=hidden
found=0 quiet=0 unknown=0 missed=0 alarms=0
# run SEED PLANTED: record and explain; sets out.
run() {
	local dir=$T/$1
	local -a program=("$dir/plant" $2)
	[ ! -e "$dir/plant.lua" ] ||
		program=(--lua-init -- lua5.4 "$dir/plant.lua" $2)
	[ -e "$dir/plant.lua" ] || program=(-- "${program[@]}")
	rm -rf "$dir/trace"
	"$WEFT" record -q --on-full wait -o "$dir/trace" "${program[@]}" \
		>"$dir/log" 2>&1 || fail "seed $1: not recorded: $(cat "$dir/log")"
	out=$("$WEFT" explain --json "$dir/trace" 2>"$dir/err") ||
		fail "seed $1: $(cat "$dir/err")"
}
# Is the problem among what it says?
names() {
	echo "$out" | grep -A 1 "\"kind\": \"$1\"" |
		grep -qE "\"function\": \"$2( |\")"
}
# paste [OPTION...] TRACE: each command that it prints works in a shell, and shows
# the same part.
paste() {
	local n=0 more
	"$WEFT" explain "$@" >"$T/text" 2>"$T/err" ||
		fail "seed $seed: $(cat "$T/err")"
	while read -r more; do
		PATH=$(dirname "$WEFT"):$PATH sh -c "$more" >"$T/more" \
			2>&1 </dev/null ||
			fail "seed $seed: $more: $(cat "$T/more")"
		cmp -s <(grep -o '^shown: from "0s"\|thread "\*"' "$T/text") \
			<(grep -o '^shown: from "0s"\|thread "\*"' "$T/more") ||
			fail "seed $seed: $more: another part"
		n=$((n + 1))
	done < <(sed -n 's/^   \$ //p' "$T/text")
	pasted=$((pasted + n))
}
pasted=0
programs=8
[ -z "${DEEP-}" ] || programs=20
for seed in $(seq $programs); do
	mkdir "$T/$seed"
	lua5.4 tests/prog/explain/plant.lua $seed "$T/$seed" ||
		fail "seed $seed: no program"
	[ -e "$T/$seed/plant.lua" ] || cc -O1 -g -finstrument-functions \
		-o "$T/$seed/plant" "$T/$seed/plant.c" -lpthread ||
		fail "seed $seed does not build"
	read -r kind func <"$T/$seed/truth"
	if [ $kind = wait ] && [ $switches = hidden ]; then
		unknown=$((unknown + 1))
		continue
	fi
	for _ in 1 2; do
		run $seed 0
		quiet=$((quiet + 1))
		[ "$out" = "[]" ] || {
			alarms=$((alarms + 1))
			echo "note: seed $seed without a problem: $out"
		}
		run $seed 1
		found=$((found + 1))
		names $kind "$func" || {
			missed=$((missed + 1))
			echo "note: seed $seed: not $kind $func, but: $out"
		}
	done
	paste "$T/$seed/trace"
	# The filters are in them; also one in which a shell sees more.
	paste --thread '*' --from 0s "$T/$seed/trace"
	rm -rf "$T/${seed:?}"
done
few=8
[ $switches = shown ] || few=2
[ $((alarms * few)) -le $quiet ] || fail "$alarms of $quiet invented"
[ $((missed * few)) -le $found ] || fail "$missed of $found not found"
# A name that means something in a pattern and to a shell.
cat >"$T/or.cc" <<'C'
struct x { unsigned long n; };
__attribute__((noinline)) bool operator||(const x &a, const x &b)
{
	volatile unsigned long n = 0;

	while (n < 300 * a.n + b.n)
		n = n + 1;
	return n;
}
int main()
{
	const x a = { 1000 };
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += a || a;
	return sum == 0;
}
C
c++ -O1 -g -finstrument-functions -o "$T/or" "$T/or.cc" || fail "no program"
seed=or
record --on-full wait -- "$T/or" || fail "not recorded"
before=$pasted
paste "$T/trace"
[ $pasted -gt $before ] || fail "operator|| is not hot: $(cat "$T/text")"
# Two processes whose coroutines have the same numbers.
cat >"$T/two.lua" <<'L'
local function body() coroutine.yield() end
for _ = 1, 50 do
	local c = coroutine.create(body)
	coroutine.resume(c)
	coroutine.resume(c)
end
local c = coroutine.create(body)
coroutine.resume(c)
local begun = os.clock()
while os.clock() - begun < tonumber(arg[1]) do math.sin(1) end
coroutine.resume(c)
L
seed=two
two() {
	record --on-full wait --lua-init -- sh -c \
		'lua5.4 "$0" 0.1; lua5.4 "$0" 0.4' "$T/two.lua" ||
		fail "not recorded"
	paste "$T/trace"
	grep -q 'weft path --id [0-9]*:[0-9]* ' "$T/text" ||
		fail "no process of the coroutine: $(cat "$T/text")"
}
one_of 8 two
[ $pasted -ge $((programs - unknown)) ] || fail "only $pasted commands"
echo "$pasted commands work in a shell"
echo "note: $((found - missed)) of $found found; invented in $alarms of $quiet without one"
