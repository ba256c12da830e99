#!/bin/bash
# weft diff --counts --fail-over 0 of a program whose threads race, on a machine
# that others keep busy: no alarm where nothing changed, in eight comparisons; one
# more call of any function is found and named with its numbers, which are the
# program's own; so is one more distinct stack without any more calls. What was
# lost is not judged. A build of a source with another name has the same functions.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cc -O1 -g -finstrument-functions -o "$T/counts" tests/prog/p_counts.c -lpthread ||
	fail "does not build"
nice bash -c 'while :; do :; done' &
rival=$!
trap 'kill $rival 2>/dev/null' EXIT
# made NAME MORE PATH OPTION...
made() {
	local name=$1 more=$2 path=$3
	shift 3
	"$WEFT" record -q --sample-rate 0 --on-full wait "$@" -o "$T/$name" -- \
		"$T/counts" $more $path >"$T/$name.own" || fail "$name: not recorded"
}
# judge STATUS SIDE...: of weft diff --counts --fail-over 0, in $T.
judge() {
	local wanted=$1 status=0
	shift
	(cd "$T" && "$WEFT" diff --counts --fail-over 0 "$@") >"$T/o" 2>"$T/e" ||
		status=$?
	[ $status = $wanted ] ||
		fail "$*: status $status, not $wanted: $(cat "$T/o" "$T/e")"
}
own() {
	sed -n "s/^$2 //p" "$T/$1.own"
}

for n in 1 2 3; do
	made same$n 0 0
done
made counted 0 0 --count-only
for a in 1 2 3; do
	judge 0 same$a counted
	judge 0 counted same$a
done
judge 0 same1 same2 vs same3 counted
judge 0 same1 same2
cp tests/prog/p_counts.c "$T/renamed.c"
cc -O1 -g -finstrument-functions -DRENAMED -o "$T/other" "$T/renamed.c" -lpthread ||
	fail "does not build"
"$WEFT" record -q --sample-rate 0 --on-full wait -o "$T/renamed" -- "$T/other" 0 0 \
	>"$T/o" || fail "renamed: not recorded"
judge 0 same1 renamed
for f in 1 2 3 4; do
	made more$f $f 0
	judge 4 same1 more$f
	was=$(own same1 f$f) is=$(own more$f f$f)
	[ $is = $((was + 1)) ] || fail "the program says $was and $is"
	grep -q "^weft: diff: \"f$f\" is called" <(tr -d , <"$T/e") || [ $f = 2 ] ||
		fail "names another: $(cat "$T/e")"
	"$WEFT" diff --counts --csv "$T/same1" "$T/more$f" 2>/dev/null |
		grep -q "^$was,$is,.*,f$f," || fail "f$f: not from $was to $is"
	judge 4 same1 same2 same3 vs more$f
	# One call less is no alarm, but is shown.
	judge 0 more$f same1
	grep -q "^-1 .* f$f\$" "$T/o" || fail "f$f: less is not shown"
	# One in several thousand is less than one percent.
	(cd "$T" && "$WEFT" diff --counts --fail-over 1 same1 more$f) >/dev/null ||
		fail "1 % is allowed"
done
made path 0 1
judge 4 same1 path
grep -q '"f4" has distinct stacks: ' "$T/e" || fail "no stack: $(cat "$T/e")"
"$WEFT" diff --counts --sort adds "$T/same1" "$T/same2" 2>"$T/e"
[ $? = 1 ] && grep -q 'leave out --sort' "$T/e" || fail "takes --sort"

# The commands of the page, as they stand there.
mkdir "$T/old" "$T/new"
cp "$T/counts" "$T/old/program"
cp "$T/counts" "$T/new/program"
sed -n 's/^    \$ //p' docs/ci.md >"$T/commands"
[ "$(wc -l <"$T/commands")" = 3 ] || fail "commands: $(cat "$T/commands")"
(cd "$T" && PATH=$(dirname "$WEFT"):$PATH && bash -e commands) >"$T/o" 2>&1 ||
	fail "the page's commands: $(cat "$T/o")"
grep -qx 'every function is called as often as before' "$T/o" ||
	fail "the page's commands: $(cat "$T/o")"

# Lua of a folder with a version, and of a file with another name.
mkdir "$T/shop-1.2" "$T/shop-1.3"
cat >"$T/shop-1.2/shop.lua" <<'END'
local function price(n) return n * 2 end
local sum = 0
for i = 1, 100 do sum = sum + price(i) end
END
{ echo "-- one more" && sed s/100/101/ "$T/shop-1.2/shop.lua"; } >"$T/shop-1.3/shop.lua"
cp "$T/shop-1.3/shop.lua" "$T/new.lua"
cd "$T" || exit 1
for file in shop-1.2/shop.lua shop-1.3/shop.lua new.lua; do
	"$WEFT" record -q --lua-init --sample-rate 0 -o "${file%.lua}.weft" -- lua5.4 $file ||
		fail "$file: not recorded"
done
for file in shop-1.3/shop new; do
	"$WEFT" diff --counts --csv shop-1.2/shop.weft $file.weft >o 2>e ||
		fail "$file: $(cat e)"
	[ "$(sed 1d o | cut -d, -f1,2,5)" = "100,101,price <${file##*/}.lua:2>" ] ||
		fail "$file: $(cat o)"
	grep -q "across files: 2 functions of Lua (shop-1.2/shop.lua is $file.lua)" e ||
		fail "$file: does not say which files: $(cat e)"
done

# A side that lacks something: its counts cannot be judged.
"$B/tests/prog/p_write_trace" "$T/half" chunks=9 no_end=1 >/dev/null
"$B/tests/prog/p_write_trace" "$T/whole" chunks=9 >/dev/null
judge 2 half whole
grep -q 'the counts of the side before are not exact' "$T/e" ||
	fail "does not say it: $(cat "$T/e")"
echo "8 comparisons without an alarm; 4 of 4 single calls and 1 stack found"
