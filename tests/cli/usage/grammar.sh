#!/bin/bash
# One grammar: a letter and a word mean the same in every command, and every
# command that reads traces takes each filter or refuses it with a sentence;
# none is ignored.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3 samples=20
cd "$T" || exit 1
commands=$("$W" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 16 ] || fail "commands: $commands"

# Lines "COMMAND LETTER WORD ARGUMENT" of all options, - for what is not there.
for c in $commands; do
	"$W" "$c" --help >help.long || fail "$c --help"
	"$W" "$c" -h | cmp - help.long || fail "$c -h is not $c --help"
	sed -nE "s/^  (-(.), |    )--([a-z-]+)([ =]([A-Za-z|=]+))?.*/$c:\2:\3:\5/p" \
		help.long
done | sed 's/::/:-:/g; s/:$/:-/; s/:/ /g' >options
grep -qx 'report n top N' options || fail "cannot read the help"
awk '
function same(what, key, value,    was) {
	was = seen[what, key]
	if (was == "")
		seen[what, key] = value " in " $1
	else if (was !~ "^" value " in ") {
		print what " " key " is " was ", but " value " in " $1
		bad = 1
	}
}
$2 != "-" { same("letter", $2, $3) }
{ same("word", $3, $2) }
# These take a folder where the others take a file.
$1 != "record" && $1 != "recover" && $1 != "validate" && $3 != "label" { same("argument of", $3, $4) }
END { exit bad }' options || fail "the grammar has exceptions"

# Each filter, and a value that leaves a part of this trace.
cat >filters <<'EOF'
--thread 1001
--process 1000
--coroutine 101
--from 3us
--to 3us
--under *0x2000
--focus *0x2000
--skip *0x3000
--recording none
--since-mark none
--until-mark none
EOF
# run COMMAND ARGUMENT...: with what it needs besides.
run() {
	local command=$1
	shift
	case $command in
	callers | lines | slow) "$W" $command "$@" '*0x2000' t ;;
	path) "$W" $command "$@" --call '*0x2000' t ;;
	stacks) "$W" $command --every 1us "$@" t ;;
	plot) "$W" $command -o - "$@" t ;;
	diff) "$W" $command --min-share 0 "$@" t t ;;
	*) "$W" $command "$@" t ;;
	esac
}
for c in $commands; do
	case $c in
	record | recover | top | validate | help) continue ;;
	status | start | stop | snapshot | finish) continue ;; # no trace
	plot) command -v gnuplot >/dev/null || continue ;;
	esac
	run $c >whole 2>&1 || fail "$c fails: $(cat whole)"
	for option in --debug-dir=/ --max-nodes=1000000; do
		run $c $option >part 2>&1 || fail "$c $option: $(cat part)"
	done
	while read -r filter value; do
		run $c $filter "$value" >part 2>err
		status=$?
		if grep -q "there is no option" err; then
			fail "$c does not know $filter"
		elif grep -q "^weft: $c: $filter cannot be used here: .*" err; then
			[ $status = 1 ] || fail "$c $filter: status $status"
			"$W" $c --help | grep -q -- "  $filter" &&
				fail "$c refuses $filter and says it takes it"
		elif [ $value = none ]; then
			grep -qE 'no mark "none"|title "none"' err ||
				fail "$c $filter: $(cat err)"
		elif [ $filter != --process ]; then
			cat err >>part
			cmp -s whole part && fail "$c ignores $filter"
		fi
	done <filters
done

# So is an option that another one leaves without a meaning: the message names
# it, before anything is read or run.
while read -r named rest; do
	# shellcheck disable=SC2086
	"$W" $rest >part 2>err </dev/null
	status=$?
	[ $status = 1 ] || fail "$rest: status $status"
	grep -q "^weft: ${rest%% *}: .*$named" err || fail "$rest: $(cat err)"
	[ ! -s part ] || fail "$rest prints $(cat part)"
done <<'EOF'
--depth slow --csv --depth 2 f t
--context lines --csv -C 2 f t
--top trim -f gcc -n 3 t
--csv trim -f skip --csv t
--sort diff --counts --sort share t t
--sample-rate validate --sample-rate 0 true
--lua-init record --no-lua --lua-init -- true
--count record --count-only --count f -- true
"record" help report record
--debug-dir report --debug-dir /:/no-such t
EOF
"$W" tree --csv --min-share 100 t >part 2>&1 || fail "$(cat part)"
[ "$("$W" tree --csv t | wc -l)" -gt "$(wc -l <part)" ] ||
	fail "tree --csv ignores --min-share"
exit 0
