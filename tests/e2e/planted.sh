#!/bin/bash
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# weft explain begins with the fault that a server has, in each run: a lock that is
# kept while its holder sleeps, a chain of locks, readers behind a writer, a slow
# producer, a slow disk, threads that nobody joins, a lock that a coroutine keeps
# while it is suspended, and one lock for all calls of Lua. It says who has the lock,
# in both languages; and, unless that one had no core, what it did meanwhile.
# SPDX-License-Identifier: MIT
. tests/lib.sh
lua=$1
pkg-config --exists "$lua" || { echo "no $lua for programs"; exit 77; }
# shellcheck disable=SC2046
gcc -O1 -g -D_GNU_SOURCE -finstrument-functions tests/prog/lua/planted.c \
	-o "$T/planted" -pthread $(pkg-config --cflags --libs "$lua") ||
	fail "the program is not built"
times=3
[ -z "${DEEP-}" ] || times=20

# begins CASE LINE [BY MEANWHILE]: with a finding, and its stacks, as patterns.
begins() {
	local i met=0
	for i in $(seq "$times"); do
		record --waits -- "$T/planted" "$1" \
			< <(for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
				sleep 0.05
				printf x
			done) || fail "$1: weft record fails"
		grep -qx 'weft: lost: 0' "$T/err" || fail "$1: something was lost"
		"$WEFT" explain "$T/trace" >"$T/said" || fail "$1: weft explain"
		grep -q "^1\\. $2" "$T/said" || fail "$1, run $i: $(cat "$T/said")"
		[ $# = 2 ] && continue
		sed 1,/^1/d "$T/said" | head -n 2 >"$T/stacks"
		sed -n 1p "$T/stacks" | grep -q "^   by:        .*$3$" ||
			fail "$1, run $i, stacks: $(cat "$T/said")"
		sed -n 2p "$T/stacks" | grep -q "^   meanwhile: .*$4$" &&
			met=$((met + 1))
	done
	[ $# = 2 ] || [ $met -ge $((times / 3)) ] ||
		fail "$1: what it did meanwhile, $met times: $(cat "$T/said")"
}
lines=' <server.lua:[0-9]*> >'
begins yield 'Threads wait .* the lock index_lock, .* because of l_unlock' \
	"job$lines fill_index$lines l_unlock" 'run_yield > nanosleep'
begins pool 'Threads wait .* the lock vm_lock, .* because of handle' \
	'serve_pool > handle' \
	"handle > on_request$lines query$lines l_nap > nanosleep"
[ "$lua" = lua5.4 ] || exit 0
begins convoy 'Threads wait .* the lock log_lock, .* because of flush_log' \
	'main > run_convoy > flush_log' 'flush_log > nanosleep'
# Which lock is waited for most is chance; at the end of its chain is one thread.
begins chain 'Threads wait .* because of sync_disk' \
	'main > run_chain > sync_disk' 'sync_disk > nanosleep'
begins readers 'Threads wait .* the lock table_lock, .* of reload_table' \
	'main > run_readers > reload_table' 'reload_table > nanosleep'
begins producer 'Threads wait .* the condition filled, .* until fetch_job' \
	'main > run_producer > fetch_job' 'fetch_job > nanosleep'
begins disk 'read waits for .* Most of that is for read_block\.'
begins join '[1-9][0-9]* threads of start_report have ended, and nobody joined'
exit 0
