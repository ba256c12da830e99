#!/bin/bash
# filter.weft.explode on a made-up trace, whose calls of each function are
# known: as text, through sink.ctf.fs and back, cut to a span, and against
# weft report.
# SPDX-License-Identifier: MIT
. tests/lib.sh
plugins=--plugin-path=$B/lib/babeltrace2/plugins
"$B/tests/prog/p_write_trace" "$T/trace" threads=4 chunks=12 records=300 \
	cpus=3 rotate=1 coroutines=1 partials=5 >"$T/truth" ||
	fail "no trace was written"
babeltrace2 "$plugins" "$T/trace/ctf" --component=filter.weft.explode \
	>"$T/text" 2>"$T/err" || fail "babeltrace2 fails"

# The text's calls of each function, by number: their offsets are
# 0x1000 * (number + 1), and function 5 is the Lua one.
count() {
	awk -v what="$1" '$0 ~ what {
		if (match($0, /offset = 0x[0-9A-Fa-f]+000/))
			n[substr($0, RSTART + 11, RLENGTH - 14) - 1]++
		else
			n[5]++
	}
	END { for (f = 0; f < 6; f++) print f, n[f] + 0 }' "$2"
}
count 'weft:(native_enter|lua_call):' "$T/text" | diff - "$T/truth" ||
	fail "the entries are not the calls"
count 'weft:(native_exit|lua_return):' "$T/text" | diff - "$T/truth" ||
	fail "the exits are not the calls"
[ "$(grep -c 'late_by = 0 }' "$T/text")" = "$(wc -l <"$T/text")" ] ||
	fail "some events are late: $(grep -v 'late_by = 0 }' "$T/text" |
		head -n 3)"
sed 's/.*\[\([0-9:.]*\)\].*/\1/' "$T/text" | sort -c ||
	fail "the times fall"
for k in coroutine_resume coroutine_suspend; do
	[ "$(grep -c "weft:$k:" "$T/text")" -gt 100 ] || fail "no $k"
done
awk '/coroutine_resume/ { n++ } /coroutine_suspend/ { n-- }
	END { exit n != 0 }' "$T/text" || fail "a resume without its suspend"

# Nested by themselves: every exit closes the innermost call of its thread and
# coroutine.
awk '{
	match($0, /tid = [0-9]+, coroutine = [0-9]+/)
	who = substr($0, RSTART, RLENGTH)
	match($0, /function = "[^"]*"/)
	f = substr($0, RSTART, RLENGTH)
}
/native_enter|lua_call/ { open[who, depth[who]++] = f }
/native_exit|lua_return/ {
	if (depth[who] < 1 || open[who, --depth[who]] != f) {
		print "does not nest: " $0
		exit 1
	}
}' "$T/text" || fail "entries and exits do not nest"

"$WEFT" report --csv "$T/trace" >"$T/report.csv" 2>"$T/report.err" ||
	fail "weft report fails"
calls=$(awk 'NR > 1 { n += $2 } END { print n }' FS=',[a-z]*,[^,]*,[^,]*,[0-9]*,' \
	"$T/report.csv")
[ "$calls" = "$(awk '{ n += $2 } END { print n }' "$T/truth")" ] ||
	fail "weft report counts $calls calls"

# Written out as CTF and read again, the text is the same.
babeltrace2 "$plugins" "$T/trace/ctf" --component=filter.weft.explode \
	--component=sink.ctf.fs --params="path=\"$T/events\"" >"$T/err" 2>&1 ||
	fail "sink.ctf.fs fails"
babeltrace2 "$T/events" 2>"$T/err" >"$T/again" ||
	fail "what sink.ctf.fs wrote cannot be read"
# Events of one nanosecond may change places between threads.
cut -d' ' -f1,3- "$T/text" | sort >"$T/a"
cut -d' ' -f1,3- "$T/again" | sort >"$T/b"
cmp "$T/a" "$T/b" || fail "sink.ctf.fs and back changes the events"

# Cut to a span: the trimmer behind the filter.
babeltrace2 "$plugins" run \
	--component="in:source.ctf.fs" \
	--params="inputs=[\"$T/trace/ctf/ust/uid/0/64-bit\"]" \
	--component="muxer:filter.utils.muxer" \
	--component="explode:filter.weft.explode" --params="window=1.5" \
	--component="trim:filter.utils.trimmer" \
	--params='begin="1700000005.000005000",end="1700000005.000010000"' \
	--component="out:sink.text.pretty" \
	--connect=in:muxer --connect=muxer:explode --connect=explode:trim \
	--connect=trim:out >"$T/cut" 2>"$T/err" || fail "the trimmer fails"
inside=$(babeltrace2 --clock-seconds "$T/events" |
	awk -F'[][]' '$2 >= "1700000005.000005000" &&
		$2 <= "1700000005.000010000"' | wc -l)
[ "$(wc -l <"$T/cut")" = "$inside" ] && [ "$inside" -gt 100 ] ||
	fail "cut: $(wc -l <"$T/cut") events, not $inside"
# Functions on the same lines: the second has no name of its own.
"$B/tests/prog/p_write_trace" "$T/twins" twins=1 coroutines=1 chunks=6 \
	>"$T/truth" || fail "no trace was written"
babeltrace2 "$plugins" "$T/twins/ctf" --component=filter.weft.explode \
	>"$T/text" 2>"$T/err" || fail "babeltrace2 fails"
for f in '4 "made-up.lua:20#2".*ordinal = 1' '5 "body".*ordinal = 0'; do
	n=$(grep -c "lua_call.*function = ${f#* }," "$T/text")
	[ "$n" = "$(awk -v f="${f%% *}" '$1 == f { print $2 }' "$T/truth")" ] ||
		fail "$f: $n calls"
done
babeltrace2 "$plugins" "$T/trace/ctf" --component=filter.weft.explode \
	--params='window="soon"' >"$T/cut" 2>"$T/err" &&
	fail "a window that is no number is taken"
grep -q 'number of seconds' "$T/err" || fail "does not say what window is"
exit 0
