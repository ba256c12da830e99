#!/bin/bash
# Help, and command lines that make no sense: one message, status 1.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t chunks=1
same help-overview 0 "$W" help
same help-report 0 "$W" report --help
mkdir "$T/none"
same no-trace 1 env -C none "$W" report
# Without a trace, the newest one here.
cp -r "$T/t" "$T/older" && touch -d '1 hour ago' "$T/older"
for c in report tree dump "slow *1000" "lines *1000" "callers *1000"; do
	# shellcheck disable=SC2086
	(cd "$T" && "$W" $c) >"$T/here" 2>"$T/said"
	(cd "$T" && "$W" $c t) 2>/dev/null | cmp - "$T/here" || fail "$c reads another"
	grep -qx 'weft: no trace is named; this is the newest one here: t' \
		"$T/said" || fail "$c does not say which: $(cat "$T/said")"
done
touch "$T/older"
(cd "$T" && "$W" report) 2>&1 >"$T/here" | grep -q ': older$' ||
	fail "not the newest"
same two-traces 1 "$W" dump t t
same option 1 "$W" tree --no-such t
same letter 1 "$W" tree -z t
same argument 1 "$W" report t --top
same number 1 "$W" report --top many t
same choice 1 "$W" report --sort size t
same share 1 "$W" tree --min-share 200 t
same command 1 "$W" no-such-command
same no-file 2 "$W" report no-such-folder
"$W" help report | diff - <("$W" report --help) || fail "two helps"
"$W" report --no-such --help 2>&1 | diff - <("$W" report --help) ||
	fail "no help after a mistake"
"$W" --version | grep -qE '^weft [0-9]+\.[0-9]+' || fail "no version"

# Each command's help names each of its options once, and so does the man page.
"$W" help --man >"$T/man" || fail "no man page"
for c in $("$W" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -v '^record$'); do
	"$W" $c --help >"$T/help" || fail "$c --help"
	grep -q "^\.SS weft $c" "$T/man" || fail "the man page lacks $c"
	for o in $(grep -oE '^ .{4,6}--[a-z-]+' "$T/help" | grep -oE '[a-z-]{3,}$' |
		sed 's/^--//'); do
		grep -q -- "--$o" "$T/help" || fail "$c --$o"
		grep -qF -- "$(echo "--$o" | sed 's/-/\\-/g')" "$T/man" ||
			fail "the man page lacks $c --$o"
	done
	awk 'length($0) > 80 { print "too wide: " $0; bad = 1 }
		END { exit bad }' "$T/help" || fail "$c --help is too wide"
done
if command -v groff >/dev/null; then
	groff -man -Tutf8 -ww "$T/man" 2>&1 >"$T/man.txt" | grep . &&
		fail "groff complains"
	sed 's/.\x08//g' "$T/man.txt" | grep -q 'weft report .options. TRACE' || fail "the man page is empty"
fi
grep -q '^\.B 4$' "$T/man" || fail "the man page lacks exit status 4"
for o in output paused on-full lua-init; do
	grep -qF -- "$(echo "--$o" | sed 's/-/\\-/g')" "$T/man" ||
		fail "the man page lacks record --$o"
done
"$W" record --help | cmp -s - <("$W" help record) || fail "help record"
# Completion for fish and zsh: they parse it, and fish proposes what there is.
for shell in fish zsh; do
	"$W" help --completion --shell $shell >"$T/weft.$shell"
	if command -v $shell >/dev/null; then
		$shell -n "$T/weft.$shell" || fail "$shell: does not parse"
	fi
done
fish_says() {
	fish -c "source $T/weft.fish; complete -C '$1'" | cut -f 1
}
if command -v fish >/dev/null; then
	fish_says 'weft expl' | grep -qx explain || fail "fish: no command"
	fish_says 'weft report --sor' | grep -qx -e --sort || fail "fish: no option"
	fish_says 'weft report --sort off' | grep -qx off-cpu ||
		fail "fish: no word"
	fish_says 'weft record --on-f' | grep -qx -e --on-full ||
		fail "fish: no option of record"
fi
"$W" help --completion >"$T/completion"
bash -n "$T/completion" || fail "completion does not parse"
complete_words() {
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_weft; echo "${COMPREPLY[@]}"' bash "$T/completion" "$@"
}
[ "$(complete_words weft rep)" = report ] || fail "commands do not complete"
[ "$(complete_words weft report --so)" = --sort ] || fail "options do not"
[ "$(complete_words weft report --sort sus)" = suspended ] ||
	fail "choices do not"
[ "$(complete_words weft plot late)" = latency ] ||
	fail "kinds of plots do not"
[ "$(complete_words weft plot "$T/com")" = "$T/completion" ] ||
	fail "files beside kinds of plots do not"
[ "$(complete_words weft plot --forma)" = --format ] ||
	fail "options beside kinds of plots do not"
[ "$(complete_words weft recor)" = record ] || fail "record does not complete"
[ "$(complete_words weft record --lua-i)" = --lua-init ] ||
	fail "options of record do not"
[ "$(complete_words weft record --on-full wa)" = wait ] ||
	fail "choices of record do not"
[ -z "$(complete_words weft check --thr)" ] || fail "completes what is refused"

# Output that cannot be written is no success.
if [ -c /dev/full ]; then
	"$W" report "$T/t" >/dev/full 2>"$T/e"
	[ $? = 2 ] || fail "writes to a full disk and says nothing"
	grep -q 'cannot write the output' "$T/e" || fail "says: $(cat "$T/e")"
fi
# The help of each command is sentences.
for c in $("$W" help | awk '/^  [a-z]/ { print $1 }'); do
	"$W" help "$c" | sed -n 3p | grep -q '^ *[A-Z-]' ||
		fail "weft help $c: $("$W" help "$c" | sed -n 3p)"
done
exit 0
