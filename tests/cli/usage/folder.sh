#!/bin/bash
# A folder of traces stands for the traces in it, in every command that reads
# one: the same output and status as if each were named.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
mkdir "$T/all" "$T/all/empty" "$T/one"
make_trace all/b coroutines=2 chunks=5 threads=2 samples=20
make_trace all/a coroutines=1 chunks=3 threads=3
make_trace one/alone chunks=3
echo "no trace" >"$T/all/notes"
ln -s nowhere "$T/all/gone"
cd "$T" || exit 1
commands=$("$W" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
# run COMMAND TRACE...: with what it needs besides.
run() {
	local command=$1
	shift
	case $command in
	callers | lines | slow) "$W" $command '*0x2000' "$@" ;;
	path) "$W" $command --call '*0x2000' "$@" ;;
	stacks) "$W" $command --every 1us "$@" ;;
	plot | html) "$W" $command -o - "$@" ;;
	diff) "$W" $command --min-share 0 "$@" vs "$@" ;;
	*) "$W" $command "$@" ;;
	esac
}
# alike COMMAND FOLDER TRACE...
alike() {
	local command=$1 folder=$2 status=0 named=0
	shift 2
	run $command $folder >out 2>err || status=$?
	run $command "$@" >out.named 2>err.named || named=$?
	[ $status = $named ] || fail "$command $folder: status $status, not $named"
	# The commands that it advises have the name that was given.
	[ $command != explain ] || sed -i "s|\(\$ weft .*\) $folder$|\1 $*|" out
	cmp out out.named || fail "$command $folder prints otherwise"
	grep -q "^weft: traces in $folder: $#, the first is $1$" err ||
		fail "$command does not say it: $(cat err)"
}
n=0
for c in $commands; do
	case $c in
	record | recover | top | validate | help) continue ;;
	status | start | stop | snapshot | finish) continue ;; # no trace
	esac
	"$W" "$c" --help | head -n 1 | grep -q 'TRACE\|DIR' || continue
	alike $c all all/a all/b
	alike $c one one/alone
	n=$((n + 1))
done
[ $n -ge 16 ] || fail "$n commands"
# A trace that is named is one, whatever lies in it.
cp -r one/alone one/alone/inner
"$W" report --csv one/alone 2>err >out
grep -q 'traces in' err && fail "a trace is no folder of traces"
# Snapshots have records in common: of several the newest is read.
mkdir snaps
cp -r all/a snaps/snapshot-9
cp -r all/b snaps/snapshot-10
touch -d '1 hour ago' snaps/snapshot-9
"$W" report --csv snaps >out 2>err || fail "snapshots: $(cat err)"
"$W" report --csv all/b >out.named 2>/dev/null
cmp out out.named || fail "not the newest snapshot"
grep -q '^weft: snapshots: 2, .* is the newest: snaps/snapshot-10$' err ||
	fail "snapshots: nothing is said: $(cat err)"
exit 0
