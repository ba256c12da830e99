# desk.sh - what the commands that read a trace cost, for run.sh, which sources
# it: each one's processor time, of both its processes, as a multiple of that of
# "weft report" of the same trace, and the most memory that one of them takes.
# Two traces: calls of 400 functions at random, and of three functions, which
# "weft report" replays in half the time.
# SPDX-License-Identifier: MIT

# cost NAME COMMAND ARGUMENT...: its processor time on the trace $kind, and its
# memory; the least of three, because everything else makes it longer.
cost() {
	local out i
	for i in 1 2 3; do
		out=$("$W/measure" "$WEFT" "${@:2}" 2>&1 >/dev/null |
			tail -n 1)
		put "desk.$kind.$1" "$(echo "$out" | cut -d ' ' -f 3)"
		put desk.mb "$(echo "$out" | cut -d ' ' -f 2)"
	done
}

# The list of commands; those that read a trace more than once,
# or write single calls, are marked.
desk_plain="tree bottom-up callers coroutines coverage trim pprof collapsed \
speedscope callgrind csv plot merge diff info check"
desk_twice="html slow stacks sqlite json speedscope-time chrome perfetto \
firefox"

# desk_trace KIND CALLS FUNCTION: all commands on a trace of so many calls.
desk_trace() {
	local kind=$1 t=$T/trace f
	say "bench: the other commands, $kind"
	recorded desk.call --on-full wait -- "$W/calls" "$kind" "$2" ||
		return 1
	cost report report "$t"
	cost tree tree "$t"
	cost bottom-up tree --bottom-up "$t"
	cost callers callers "$3" "$t"
	cost coroutines coroutines "$t"
	cost coverage coverage "$t"
	cost trim trim "$t"
	cost html html -o "$T/export" "$t"
	for f in pprof collapsed speedscope callgrind csv sqlite \
		json speedscope-time chrome perfetto firefox; do
		rm -f "$T/export"
		cost $f export -f $f -o "$T/export" "$t"
	done
	! command -v gnuplot >/dev/null || cost plot plot -o "$T/plot.svg" "$t"
	cost merge merge -o "$T/merged" "$t"
	cost diff diff "$t" "$t"
	cost info info "$t"
	cost check check "$t"
	cost slow slow "$3" "$t"
	cost stacks stacks --every 100ms "$t"
	rm -rf "$t" "$T/export" "$T/plot.svg" "$T/merged"
}

desk() {
	desk_trace random $((long / 3)) r1 &&
		desk_trace calls $((long / 4 * 3)) leaf
}

# desk_row KIND FIGURE BOUND NAME...
desk_row() {
	local kind=$1 name v all= most=0
	for name in "${@:4}"; do
		[ "$(least "desk.$kind.$name")" != nan ] || continue
		v=$(calc "$(least "desk.$kind.$name") / \
			$(least "desk.$kind.report")")
		# Two traces are twice the work.
		[ "$name" != diff ] || v=$(calc "$v / 2")
		all="$all $name $v,"
		most=$(echo "$most $v" | awk '{ print ($2 > $1 ? $2 : $1) }')
	done
	all=${all%,}
	row "$2" "${all# } x" "at most $3 x" "$(at_most "$most" "$3")" ""
}

desk_rows() {
	local kind mb of
	mb=$(awk '$1 == "desk.mb" && $2 > v { v = $2 } END { print v }' \
		"$results")
	for kind in random calls; do
		[ $kind = random ] && of=400 || of=3
		desk_row $kind "other commands, processor time, as a multiple \
of \`weft report\`'s, calls of $of functions" 2 $desk_plain
		desk_row $kind "... that read the trace twice, or write single \
calls" 3 $desk_twice
	done
	row "... the most memory" "$(calc "$mb" 0) MB" "at most 200 MB" \
		"$(at_most "$mb" 200)" ""
}
