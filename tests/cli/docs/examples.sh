#!/bin/bash
# Every command that a page shows works as it stands there, in the order of the
# page, and prints the lines that the page shows below it. Figures are not
# compared; nor is which rows come first, as that depends on times: all rows are
# looked through.
# time: 900
# each: README tutorial guide fleets report-reading times queries ci explode
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
root=$PWD
page=docs/$1.md
[ "$1" != README ] || page=README.md
make --no-print-directory -s B="$B" demo-program tutorial || fail "no program"
lua5.4 tests/cli/docs/examples.lua list $page >"$T/commands" ||
	fail "$page: cannot be read"
mkdir "$T/bin" "$T/home" "$T/srv" "$T/work" || fail "no folder"
ln -s "$WEFT" "$T/bin/weft"
# What is recorded wherever a page does not say which program it is.
printf '#!/bin/sh\ncd "%s"\nexec "%s" --rounds $ROUNDS --answers 1 docs/*.md\n' \
	"$root" "$B/demo/search" >"$T/bin/program"
chmod +x "$T/bin/program"
# Wide enough that no column is left out, whatever the figures.
export ROUNDS=10 HOME=$T/home PATH=$T/bin:$PATH COLUMNS=200
cd "$T/work" && ln -s "$root"/{docs,tests,tracer,analyzer} . || exit 1

quietly() {
	"$@" >"$T/made" 2>&1 </dev/null || {
		cat "$T/made"
		fail "$*"
	}
}
build() {
	local from=$1 to=$2
	shift 2
	quietly gcc -O1 -g -finstrument-functions -o "$to" \
		"$root/tests/prog/$from" "$@" -lpthread
}
# Sessions of a program whose second build differs from the first.
sessions() {
	local n side
	build p_regress.c ./regress-old
	build p_regress.c ./regress-new -DPLANTED
	for n in 1 2 3 4; do
		for side in old new; do
			quietly weft record --sample-rate 0 -o ./session -- \
				./regress-$side $n 400
			quietly weft export -o $side-$n.pb ./session
			rm -r ./session
		done
	done
}
# provide NAME: what a page takes for granted. What it does not name, and what a
# command of it has made, is not touched.
provide() {
	[ ! -e "$1" ] || return 0
	case $1 in
	build/demo/search)
		mkdir -p build && ln -s "$B/demo" build/demo ;;
	build/tutorial/server)
		mkdir -p build && ln -s "$B/tutorial" build/tutorial ;;
	search.weft) quietly weft record -o search.weft -- program ;;
	search) ln -s "$T/bin/program" search ;;
	trace)
		cp "$B/demo/search" "$T/srv/search"
		[ "$page" != docs/guide.md ] || strip "$T/srv/search"
		mkdir -p "$HOME/build"
		objcopy --only-keep-debug "$B/demo/search" \
			"$HOME/build/search.debug"
		quietly weft record -o trace -- "$T/srv/search" --answers 1 \
			--queries "$root/tests/prog/demo/queries.txt" \
			"$root"/docs/*.md ;;
	DIR) cp -r search.weft DIR ;;
	hot.weft)
		build lines/hot.c "$T/srv/hot"
		quietly weft record -o hot.weft -- "$T/srv/hot" ;;
	orders.weft)
		build zone/orders.c ./orders -I"$root/tracer/host" -L"$B/lib" \
			-lweft
		quietly weft record -o orders.weft -- ./orders ;;
	more.weft)
		quietly g++ -O0 -g -finstrument-functions -o more \
			"$root/tests/prog/trim/more.cc"
		quietly weft record -o more.weft -- ./more ;;
	before.weft | after.weft)
		[ -e counts ] || build p_counts.c ./counts
		quietly weft record --count-only -o "$1" -- ./counts \
			$([ "$1" = before.weft ] && echo 0 0 || echo 3 1) ;;
	old-\*.pb | new-\*.pb) [ -e old-1.pb ] || sessions ;;
	old/program | new/program)
		[ -e counts ] || build p_counts.c ./counts
		mkdir -p "${1%/*}" && printf '#!/bin/sh\nexec ./counts 0 0\n' >"$1"
		chmod +x "$1" ;;
	A | B | A[123] | B[123] | *.pb)
		quietly weft export -o "$1" search.weft ;;
	part\*.pb | before-\* | after-\*) provide "${1/\*/1}" &&
		provide "${1/\*/2}" ;;
	before-[12] | after-[12] | base.weft | head.weft)
		quietly weft export -o "$1" search.weft ;;
	esac
}
# widely COMMAND: the same with all rows that it can have.
widely() {
	case $1 in
	"weft report "*) echo "$1 --top 0" ;;
	"weft tree "*) echo "$1 --min-share 0" ;;
	"weft trim "*) echo "$1 --min-share 0 --below 1000000000" ;;
	"weft callers "*) echo "$1 --lines 0" ;;
	"weft merge "*) echo "$1 --top 0" ;;
	"weft diff --counts"*) echo "$1 --top 0" ;;
	"weft diff "*) echo "$1 --top 0 --min-share 0" ;;
	"weft slow "*) echo "$1 --top 500" ;;
	"weft stacks --at "*) echo "$1" | sed 's/--at [^ ]*/--every 2ms/' ;;
	*) echo "$1" ;;
	esac
}
# excepted KIND COMMAND: prints why the command is "not run" or "not compared",
# if there is a reason.
excepted() {
	local where begin kind why
	while IFS='|' read -r where begin kind why; do
		[ "$where,$kind" = "${page#docs/},$1" ] || continue
		case $2 in
		"$begin"*)
			echo "$begin" >>"$T/used"
			echo "$1: $2: $why"
			return ;;
		esac
	done <"$T/exceptions"
	[ $is_sampled = 1 ] || case $2 in
	"weft lines "* | "weft validate "*) echo "$1: $2: no samples here" ;;
	esac
}
# attempt LINE COMMAND: with what it is to read.
attempt() {
	local word words status=0
	read -ra words <<<"$2"
	for word in "${words[@]}"; do
		provide "${word#./}"
	done
	case $2 in
	"weft record"*" -o "*) rm -rf "$(sed 's/.* -o \([^ ]*\).*/\1/' <<<"$2")" ;;
	esac
	# A judgement of times needs some more samples.
	case $2 in
	"weft validate "*) export ROUNDS=30 ;;
	*) export ROUNDS=10 ;;
	esac
	bash -eu -c "$2" >out 2>err </dev/null || status=$?
	[ $status = 0 ] || {
		cat out err
		fail "$page:$1: exit status $status: $2"
	}
}

: >"$T/used"
grep "^${page#docs/}|" "$root/tests/cli/docs/examples.txt" >"$T/exceptions"
provide search.weft
# Where the kernel shows no samples or switches, or a slow machine too few, reports
# say other things: only the heads of tables are compared.
is_sampled=0
weft report search.weft >"$T/first"
! grep -q 'net, estimated from' "$T/first" ||
	! grep -q '^ *cpu ' "$T/first" || is_sampled=1
ran=0 bad=0
while IFS=$'\t' read -r line command; do
	excepted "not run" "$command" | tee why
	[ ! -s why ] || continue
	echo "$page:$line: $command"
	attempt "$line" "$command"
	ran=$((ran + 1))
	awk -F'\t' -v at="$line" -v of="$command" '$1 != "" {
		on = $1 == at && $2 == of } $1 == "" && on { print $2 }' \
		"$T/commands" >shown
	[ -s shown ] || continue
	excepted "not compared" "$command" | tee why
	[ ! -s why ] || continue
	cat out err >have
	wide=$(widely "$command")
	[ "$wide" = "$command" ] || {
		attempt "$line" "$wide"
		cat out err >>have
	}
	lua5.4 "$root/tests/cli/docs/examples.lua" compare shown have \
		$is_sampled || {
		head -n 20 have
		echo "$page:$line: it shows other lines"
		bad=$((bad + 1))
	}
done < <(grep -v '^	' "$T/commands")
[ $bad = 0 ] || fail "$bad examples are not as shown"
[ $ran -gt 0 ] || [ $is_sampled = 1 ] || {
	echo "all commands on $page need samples, and there are too few here"
	exit 77
}
[ $ran -gt 0 ] || fail "no command on $page"
while IFS='|' read -r where begin rest; do
	grep -qxF -e "$begin" "$T/used" ||
		fail "examples.txt: not of use: $begin"
done <"$T/exceptions"
echo "$ran commands work"
