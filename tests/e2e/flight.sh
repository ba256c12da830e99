#!/bin/bash
# time: 1200
# The flight recorder: nothing is written until a snapshot is wanted, memory
# stays bounded, and what a snapshot holds is exact, by the program's own count.
# SPDX-License-Identifier: MIT
. tests/lib.sh
export FOLDER=$T/trace # where p_flight looks

# snapshot N: its rows between the program's marks, and what it says.
snapshot() {
	"$WEFT" check "$T/trace/snapshot-$1" >"$T/check" ||
		fail "weft check: $(cat "$T/check")"
	"$WEFT" report --csv --top 0 --since-mark from --until-mark to \
		"$T/trace/snapshot-$1" >"$T/report.csv" 2>"$T/report.err" ||
		fail "weft report fails"
	nothing_lost
}

said() { awk -v key="$1" '$1 == key { print $2; exit }' "$T/out"; }

same_count() {
	[ "$(calls tiny)" = "$(said calls)" ] ||
		fail "$(calls tiny) calls of tiny, and $(said calls) were made"
}

# By the program.
record --flight-recorder 1M -- "$P/p_flight" ASK 20000 || fail "no record"
[ "$(said entries)" = 0 ] || fail "something was written before the snapshot"
[ "$(said asked)" = 0 ] || fail "the program could not ask"
snapshot 1
same_count
grep -q 'note: a snapshot (hello?there): the last .* whole, which is what 1.0 MB held; .*recording began' \
	"$T/report.err" || fail "the report does not say what it is"
[ "$(find "$T/trace" -type f | wc -l)" = 1 ] || fail "$(find "$T/trace")"
size=$(stat -c %s "$T/trace/snapshot-1/spill.weft")
[ "$size" -gt 900000 ] && [ "$size" -lt 1500000 ] || fail "$size bytes"
# Ten times the records, some 20 MB of chunks, took no more memory.
[ "$(said kb)" -gt 0 ] && [ "$(said more)" -le 4000 ] ||
	fail "the recorder's memory grew from $(said kb) kB by $(said more)"

# A thread that waits for long delivers beginnings of chunks. Those of chunks
# that ended before the last second are not in it: a gap would follow them.
cat >"$T/naps.lua" <<'EOF'
local function step() end
for _ = 1, 3 do
	for _ = 1, 20000 do step() end
	os.execute("sleep 2.2")
	for _ = 1, 20000 do step() end
end
os.execute("kill -SEGV $PPID")
EOF
{ record --flight-recorder 1s --lua-init -- lua5.4 "$T/naps.lua"; } 2>"$T/shell"
"$WEFT" report --csv "$T/trace/snapshot-1" >"$T/report.csv" \
	2>"$T/report.err" || fail "weft report fails"
nothing_lost

# What could not be written is told in the snapshot.
(
	ulimit -f 2048
	record --compress none --pool-size 1M --on-full wait \
		--flight-recorder 4M -- "$P/p_flight" CRASH 20000
) 2>"$T/shell"
grep -q 'could not be written whole: File too large' "$T/err" ||
	fail "the file's limit is not told"
"$WEFT" report --csv "$T/trace/snapshot-1" >"$T/report.csv" \
	2>"$T/report.err" || fail "weft report fails"
grep -q '# lost: .* chunks could not be written anywhere' "$T/report.err" ||
	fail "no loss is told"

# By a signal to weft record.
record --flight-recorder 30s -- "$P/p_flight" SIGNAL 1000 || fail "no record"
snapshot 1
same_count
grep -q 'a snapshot (SIGUSR1): all of the .* since recording began' \
	"$T/report.err" || fail "the report does not say that it is all"

# By the program's death: its last calls are there, and what was open.
{ record --flight-recorder 1M -- "$P/p_flight" CRASH 20000; } 2>"$T/shell"
[ $? = 139 ] || fail "the program's end is not told"
snapshot 1
same_count
"$WEFT" report --csv --top 0 --since-mark to "$T/trace/snapshot-1" \
	>"$T/report.csv" 2>"$T/report.err" || fail "weft report fails"
[ "$(calls tiny)" = 77 ] || fail "$(calls tiny) calls of 77 before the crash"
# Its share may be less than what is shown otherwise.
"$WEFT" tree --min-share 0 --since-mark to "$T/trace/snapshot-1" |
	grep -A 1 ' main$' |
	grep -q '  crash$' || fail "crash is not below main"
grep -q 'a snapshot (ended by signal 11 (Segmentation fault))' \
	"$T/report.err" || fail "the report does not say why"

# By weft snapshot, while the program waits.
export XDG_RUNTIME_DIR=$T/run
mkdir -m 700 "$T/run"
mkfifo "$T/in"
rm -rf "$T/trace" "$T/out" # what the last program said
"$WEFT" record --flight-recorder 1M -o "$T/trace" -- "$P/p_flight" WAIT 1000 \
	<"$T/in" >"$T/out" 2>"$T/err" &
exec 5>"$T/in"
await grep -q '^calls' "$T/out" || fail "the program does not run"
"$WEFT" snapshot p_flight "by hand" >"$T/said" || fail "weft snapshot fails"
grep -q "^snapshot *$T/trace/snapshot-1$" "$T/said" || fail "$(cat "$T/said")"
exec 5>&-
wait $! || fail "no record"
snapshot 1
same_count
grep -q 'a snapshot (by hand): ' "$T/report.err" || fail "no reason"

# While a slow disk takes a snapshot, the program goes on: what it records is
# taken out of the pool, of which one part in ten is enough for it.
export PROGRESS=$T/progress SAID=$T/progress.said
LD_PRELOAD=$P/p_slow_disk record --compress none --pool-size 1M \
	--on-full wait --flight-recorder 8M -- "$P/p_flight" GO 20000 ||
	fail "no record"
[ "$(cat "$SAID")" = fast ] ||
	fail "the program waits until the snapshot is written"
snapshot 1
same_count

# A request of 500 ms at random among short ones, with the memory used up, is in
# the snapshot that its rule makes, with its whole stack. The rule names what
# only this request calls: on a busy machine short ones may take as long.
RANDOM=7
for i in $(seq "$([ "${DEEP:-}" = 1 ] && echo 100 || echo 5)"); do
	at=$((RANDOM * 60000 / 32768))
	record --flight-recorder 4M --pool-size 4M --on-full wait \
		--snapshot-on 'nothing > 1ns' --snapshot-on 'backend > 400ms' \
		-- "$P/p_flight" SLOW 60000 $at || fail "no record"
	"$WEFT" slow --csv --longer 500ms backend "$T/trace/snapshot-1" \
		>"$T/slow" 2>"$T/report.err" ||
		fail "run $i: request $at made no snapshot"
	grep -q ',returned,0,main;serve;request;handler;backend$' "$T/slow" ||
		fail "run $i: request $at: $(cat "$T/slow")"
	grep -q 'a snapshot (backend > 400ms: a call took ' "$T/report.err" ||
		fail "run $i: the snapshot does not say why"
	nothing_lost
done
grep -q 'note: --snapshot-on "nothing > 1ns": no such function' "$T/err" ||
	fail "a rule without functions is not told"

# A coroutine that is suspended for most of its time, over many chunks, and a
# call that began in an earlier chunk; the program says how long it took.
cat >"$T/co.lua" <<'EOF'
local function step() end
local function busy(seconds)
	local from = os.clock()
	while os.clock() - from < seconds do
		for _ = 1, 1000 do step() end
	end
end
local function ms()
	local file = io.open("/proc/uptime")
	local now = file:read("n")
	file:close()
	return math.floor(now * 1000)
end
local function request()
	for _ = 1, 4 do
		step()
		coroutine.yield()
	end
end
local function outer(co)
	local from = ms()
	while coroutine.resume(co) and coroutine.status(co) == "suspended" do
		busy(0.08)
	end
	print("ms", ms() - from)
end
outer(coroutine.create(request))
EOF
for rule in 'request > 200ms' 'total(outer) > 200ms' 'total(request) > 90ms'; do
	record --flight-recorder 16M --snapshot-on "$rule" --lua-init -- \
		lua5.4 "$T/co.lua" || fail "no record"
	ms=$(sed -n 's/.*> 200ms: a call took \([0-9.]*\) \(m*\)s .*/\1 \2/p' "$T/err" |
		awk '{ print int($2 == "" ? $1 * 1000 : $1) }')
	off=$((${ms:-0} - $(said ms)))
	case $rule in
	*90ms) [ -e "$T/trace" ] && fail "$rule made a snapshot" ;;
	*) [ ${off#-} -lt 150 ] ||
		fail "$rule: ${ms:-none} ms, and it was $(said ms)" ;;
	esac
done

# Two snapshots have calls in common: they are not added up, neither now nor
# as profiles.
record --flight-recorder 4M --on-full wait -- "$P/p_flight" TWICE 1000 ||
	fail "no record"
for n in 1 2; do
	"$WEFT" merge -o "$T/$n.weftprof" "$T/trace/snapshot-$n" ||
		fail "weft merge fails"
	[ -e "$T/$n.weftprof" ] || fail "no profile"
done
for both in "$T/trace/snapshot-1 $T/trace/snapshot-2" \
	"$T/1.weftprof $T/2.weftprof" "$T/trace/snapshot-1 $T/2.weftprof"; do
	# shellcheck disable=SC2086
	"$WEFT" report $both >"$T/o" 2>"$T/err" &&
		fail "$both: calls are counted twice"
	grep -q 'are of one recording and have calls in common' "$T/err" ||
		fail "$both: it does not say why"
done
"$WEFT" diff "$T/trace/snapshot-1" vs "$T/trace/snapshot-2" >"$T/o" ||
	fail "two snapshots are not compared"

# A program that ends well, and nobody asks: nothing is left behind.
record --flight-recorder 1M -- "$P/p_flight" NONE 100 || fail "no record"
[ -e "$T/trace" ] && fail "$(find "$T/trace") is left"

for bad in "--flight-recorder 0" "--flight-recorder 1K" \
	"--flight-recorder 5x" "--flight-recorder 1M --archive" \
	"--flight-recorder 1M --snapshot-on f" "--snapshot-on f>1s" \
	"--flight-recorder 1M --count-only --snapshot-on f>1s"; do
	# shellcheck disable=SC2086
	record $bad -- true && fail "$bad is taken"
done
exit 0
