#!/bin/bash
# --max-size and --max-files: the pieces of a trace have together what the
# program called, to the call; each can be read alone; and what is on the disk
# has a bound.
# SPDX-License-Identifier: MIT
. tests/lib.sh
MB=$((1 << 20))
sizes() {
	find "$T/trace" -name spill.weft -printf '%s\n' 2>/dev/null
}

# Nothing is lost where a piece ends, whatever a thread is about then.
record --compress none --on-full wait --max-size 1M -- "$P/p_pieces" 400000
[ $? = 0 ] || fail "status"
report
nothing_lost
same_calls
pieces=$(find "$T/trace" -name 'piece-*' | wc -l)
[ "$pieces" -ge 10 ] || fail "$pieces pieces"
[ "$(sizes | sort -n | tail -n 1)" -le $MB ] || fail "a piece is too large"
grep -qx "weft: $pieces pieces" "$T/err" || fail "it does not say how many"
[ -e "$T/trace/ctf" ] && fail "it is in LTTng's files, too"

# Each is a trace of its own: every command takes it, none has all, and no call
# that was whole in one is missing in their sum (one that ends in the next is
# counted where it began).
sum=0
for piece in "$T"/trace/piece-*; do
	"$WEFT" report --csv "$piece" >"$T/report.csv" 2>"$T/report.err" ||
		fail "${piece##*/}: weft report fails"
	grep '^# lost' "$T/report.err" && fail "${piece##*/}: something is lost"
	part=$(calls early)
	[ "$part" -lt 1600000 ] || fail "${piece##*/} has all"
	sum=$((sum + part))
done
# Of a chunk whose beginning was delivered before its piece ended, the next one
# has the whole.
[ $sum -ge 1600000 ] || fail "the sum of the pieces: $sum"
for command in info tree check 'export --format collapsed -o -'; do
	"$WEFT" $command "$T/trace/piece-000002" >"$T/o" 2>&1 ||
		fail "$command: $(cat "$T/o")"
done

# Of two, calls would be counted twice.
"$WEFT" report "$T/trace/piece-000001" "$T/trace/piece-000002" \
	>"$T/o" 2>"$T/err" && fail "two pieces are read as two traces"
grep -q 'are of one recording and have calls in common' "$T/err" ||
	fail "it does not say why"

# With names in each piece, the end notes of the last are found all the same.
# Those of earlier pieces do not hide that a recorder was killed.
echo 'local function step() end for _ = 1, 1500000 do step() end' >"$T/steps.lua"
sed s/1500000/30000000/ "$T/steps.lua" >"$T/long.lua"
record --compress none --on-full wait --max-size 1M --lua-init -- \
	lua5.4 "$T/steps.lua" || fail "status"
report
nothing_lost
"$WEFT" info "$T/trace" | grep -q 'exit  *0$' || fail "no end notes"
rm -rf "$T/trace"
"$WEFT" record --compress none --on-full wait --max-size 1M --lua-init \
	-o "$T/trace" -- lua5.4 "$T/long.lua" >"$T/out" 2>"$T/err" &
recorder=$!
await [ -e "$T/trace/piece-000003" ] || fail "no pieces"
kill -KILL $recorder
wait $recorder 2>/dev/null
report
grep -q '# lost: the recorder ended before the recording did' \
	"$T/report.err" || fail "it is not told that the recorder was killed"

# A piece that cannot be moved: what comes later is lost, and the trace says so.
record --compress none --on-full wait --max-size 1M -- sh -c \
	'mkdir "$1/piece-000002" && exec "$2" 400000' sh "$T/trace" "$P/p_pieces"
[ $? = 0 ] || fail "status"
grep -q 'cannot begin a new piece of the trace: File exists' "$T/err" ||
	fail "no message"
report
grep -q '# lost: .* chunks could not be written anywhere' "$T/report.err" ||
	fail "no loss is told"
grep -q 'the recorder ended before' "$T/report.err" && fail "no end notes"

# The same where it is moved and the next one cannot be made: the file system
# has room for one entry more, the folder's.
if mkdir "$T/small" && unshare --mount true 2>/dev/null; then
	export T
	unshare --mount --propagation private bash -c '
		. tests/lib.sh
		mount -t tmpfs -o nr_inodes=100 tmpfs "$T/small" || exit 77
		"$WEFT" record --compress none --on-full wait --max-size 1M \
			-o "$T/small/trace" -- sh -c "
			i=0
			while mkdir \"\$1/\$i\" 2>/dev/null; do i=\$((i + 1)); done
			rmdir \"\$1/0\" && exec \"\$2\" 400000
			" sh "$T/small" "$P/p_pieces" >"$T/out" 2>"$T/err" ||
			fail "status"
		rm -rf "$T/trace"
		cp -r "$T/small/trace" "$T/trace"'
	status=$?
	if [ $status = 77 ]; then
		echo "note: no small file system"
	elif [ $status != 0 ]; then
		exit $status
	else
		grep -q 'cannot begin a new piece of the trace: No space' \
			"$T/err" || fail "no message: $(cat "$T/err")"
		report
		grep -q '# lost: .* chunks could not be written anywhere' \
			"$T/report.err" || fail "no loss is told"
		grep -q 'the recorder ended before' "$T/report.err" &&
			fail "no end notes"
		[ -e "$T/trace/piece-000001" ] && fail "half a piece is left"
	fi
else
	echo "note: a file system that is full is not tried"
fi

# With --max-files, the oldest go: the disk's bound holds at each moment, and
# the newest calls are all there. What waits in the pool is written thread by
# thread, so that the pool must be smaller than what is kept.
rm -rf "$T/trace"
"$WEFT" record --compress none --pool-size 1M --on-full wait --max-size 1M \
	--max-files 3 -o "$T/trace" -- "$P/p_pieces" 800000 >"$T/out" 2>"$T/err" &
recorder=$!
while kill -0 $recorder 2>/dev/null; do
	now=$(sizes | awk '{ n += $1 } END { print n + 0 }')
	[ "$now" -le $((3 * MB)) ] || fail "$now bytes on the disk"
done
wait $recorder || fail "status"
now=$(sizes | awk '{ n += $1 } END { print n + 0 }')
[ "$now" -le $((3 * MB)) ] || fail "$now bytes are left"
[ "$(sizes | wc -l)" = 4 ] || fail "$(sizes | wc -l) files are kept, not 3 and one"
[ "$(find "$T/trace" -mindepth 1 -type d | wc -l)" = 3 ] || fail "empty folders"
report
nothing_lost
early=$(calls early)
[ "$(calls late)" = 32000 ] || fail "late: $(calls late), not 32000"
[ "$early" -gt 50000 ] && [ "$early" -lt 3200000 ] || fail "early: $early"
"$WEFT" info "$T/trace" | grep -q 'pieces.removed  *[1-9]' || fail "info"
grep -q '# note: [0-9]* pieces removed, as --max-files asked' \
	"$T/report.err" || fail "it is not told that pieces were removed"

# Each alone says what it is. What is gone of what was kept is told, be it a
# piece or the end of one.
mv "$T/trace" "$T/kept"
cp "$T/report.csv" "$T/kept.csv"
while read -r file size; do
	case $file in
	piece*)
		"$WEFT" report "$T/kept/${file%/*}" 2>&1 |
			grep -q 'note: piece [0-9]* of a recording: what' ||
			fail "$file: it is not told that it is a piece"
		;;
	esac
	for cut in $size $((size - 1)) $((size - 40)) $((size / 2)) 65536 \
		30000 3000 8; do
		[ "$cut" -le "$size" ] || continue
		rm -rf "$T/trace"
		cp -r "$T/kept" "$T/trace"
		truncate -s "-$cut" "$T/trace/$file"
		[ "$cut" != "$size" ] || rm "$T/trace/$file"
		"$WEFT" report --csv "$T/trace" >"$T/o" 2>"$T/report.err"
		! grep -qx '# nothing was lost' "$T/report.err" ||
			fail "$file: $cut of $size bytes are gone, unsaid"
	done
done < <(find "$T/kept" -name spill.weft -printf '%P %s\n')
grep -q 'records, of which the newest take .* on disk$' "$T/err" ||
	fail "$(cat "$T/err")"
# What each thread lost, and why. What it loses after its last chunk is in the
# pool's counts alone.
record --pool-size 1M --compress small -- "$P/p_pieces" 300000
all=$(sed -n 's/^weft: lost: \([0-9]*\) records (no free buffer.*/\1/p' "$T/err")
"$WEFT" check "$T/trace" >"$T/o" 2>&1
by_thread=$(sed -n 's/^in thread .*; \([0-9]*\) records: no free buffer.*/\1/p' \
	"$T/o" | awk '{ n += $1 } END { print n + 0 }')
echo "note: lost: ${all:-0} records; by thread: $by_thread"
[ "$by_thread" -le "${all:-0}" ] || fail "lost: $all, by thread $by_thread"
[ "$by_thread" = 0 ] || grep -q '^missing in thread .* records at .* for ' "$T/o" ||
	fail "no gap has a time"
for wrong in "--max-files 3" "--max-size 1K" "--max-size 1M --max-files 1" \
	"--max-size 1M --flight-recorder 1M"; do
	# shellcheck disable=SC2086
	"$WEFT" record -o "$T/none" $wrong true 2>"$T/err" &&
		fail "$wrong: it is not refused"
done
exit 0
