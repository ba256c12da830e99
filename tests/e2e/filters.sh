#!/bin/bash
# What --skip and --only leave out of a recording is what the same patterns leave
# out of a whole one, in every table, whenever the recorder learned the names:
# before the start, or in mid-run, as of the program that a shell starts and of a
# library that is loaded late. All of it is told. What weft cannot take for a
# pattern is refused.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS

cat >"$T/lib.c" <<'C'
static volatile long sum;
long late_leaf(long x) { return sum = sum + x; }
long late_mid(long x) { return late_leaf(x) + late_leaf(x + 1); }
C
cat >"$T/main.c" <<'C'
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#define SILENT __attribute__((no_instrument_function))
static volatile long sum;
static jmp_buf back;
long leaf(long x) { return sum = sum + x; }
long tiny(long x) { return leaf(x) + leaf(x + 1); }
long deep(long n) { return n > 0 ? deep(n - 1) + leaf(n) : tiny(n); }
void jumps(long n) { if (leaf(n) == -1 || n % 3 == 0) longjmp(back, 1); }
long catches(long n) { if (setjmp(back) == 0) jumps(n); return tiny(n); }
long work(long n) { return deep(n % 7) + catches(n) + tiny(n); }
int main(int argc, char **argv)
{
	const long n = atol(argv[1]);
	void *const lib = dlopen(argv[2], RTLD_NOW);
	long (*const mid)(long) = (long (*)(long))dlsym(lib, "late_mid");

	for (long i = 0; i < n; i++) {
		work(i);
		if (i % 2 == 0)
			mid(i);
	}
	return argc - 3;
}
C
gcc -g -O1 -fno-inline -shared -fPIC -finstrument-functions -o "$T/liblate.so" \
	"$T/lib.c" &&
gcc -g -O1 -fno-inline -finstrument-functions -o "$T/prog" "$T/main.c" ||
	fail "no program"
n=60000

# tables OPTION...: what the trace has, without times: stacks, pairs, functions.
tables() {
	"$WEFT" tree --csv "$@" "$T/trace" 2>"$T/report.err" | awk -F, '
		NR > 1 {
			path[$1] = $2 == 0 ? "" : path[$2] " > " $4
			print path[$1], $10
		}' | sort
	"$WEFT" callers --all --csv "$@" "$T/trace" 2>/dev/null |
		cut -d, -f1,2,7,12,13 | sort
	"$WEFT" report --csv --columns name,calls "$@" "$T/trace" 2>/dev/null |
		sort
}
# same RECORDED AT_THE_DESK -- PROGRAM...: options of both.
same() {
	local options=$1 desk=$2
	shift 3
	# shellcheck disable=SC2086
	record $options -- "$@" || fail "$options: weft record fails"
	tables >"$T/have"
	nothing_lost
	grep -q "^# note: recorded with $options: what\|^# note: recorded with --" \
		"$T/report.err" || fail "$options: reports do not tell"
	cp "$T/trace.whole.$desk" "$T/want"
	diff "$T/want" "$T/have" >"$T/diff" ||
		fail "$options, $*: $(head -n 20 "$T/diff")"
}
# whole NAME OPTION...: the tables that $T/whole gives with them.
whole() {
	local name=$1
	shift
	tables "$@" >"$T/trace.whole.$name"
}

record "$T/prog" $n "$T/liblate.so" || fail "weft record fails"
whole skip --skip 'leaf|late_leaf'
printf '# no leaf\ncatches\n\nwork|main\n' >"$T/names"
whole many --skip deep --skip "@$T/names"
whole module --skip 'module=liblate.so'
whole only --skip 'main|work|catches|jumps|late_mid|late_leaf|deep'
records=$("$WEFT" info "$T/trace" | awk '/^data/ { gsub(",", "", $2); print $2 }')
for run in "" "sh -c"; do
	program=("$T/prog" $n "$T/liblate.so")
	[ -z "$run" ] || program=(sh -c "\"$T/prog\" $n \"$T/liblate.so\"; exit")
	same "--skip leaf|late_leaf" skip -- "${program[@]}"
	less=$("$WEFT" info "$T/trace" |
		awk '/^data/ { gsub(",", "", $2); print $2 }')
	[ "$less" -lt $((records * 9 / 10)) ] ||
		fail "$less records where the whole has $records"
	same "--skip deep --skip catches|work|main" many -- "${program[@]}"
	same "--skip module=liblate.so" module -- "${program[@]}"
	same "--only leaf|tiny" only -- "${program[@]}"
done

# A file of patterns, as weft trim writes it; in the smallest pool there is.
printf '# what is small\n\nleaf\nlate_leaf\n' >"$T/list"
same "--pool-size 2M --on-full wait --skip @$T/list" skip -- \
	"$T/prog" $n "$T/liblate.so"
"$WEFT" info "$T/trace" >"$T/info"
grep -q '^filter.skip *leaf|late_leaf$' "$T/info" &&
	grep -q '^filter.functions *2$' "$T/info" &&
	grep -q '^filter.no-room *0$' "$T/info" || fail "info: $(cat "$T/info")"

# Files are known to reports alone: nothing is left out early, all is at last.
record --skip 'file=lib.c' -- "$T/prog" 100 "$T/liblate.so" ||
	fail "weft record fails"
"$WEFT" report --csv "$T/trace" 2>/dev/null | grep -q late_ &&
	fail "late_ is in the report"

# Nothing is left.
record --skip '*' -- "$T/prog" 100 "$T/liblate.so" || fail "weft record fails"
"$WEFT" report "$T/trace" >"$T/said" 2>&1 && fail "a report of nothing"
grep -q -e '--skip' "$T/said" || fail "not told: $(cat "$T/said")"

for bad in "--skip @$T/none" "--only |" "--skip @/dev/null"; do
	# shellcheck disable=SC2086
	record $bad -- true && fail "$bad is taken"
	grep -q "see weft record --help" "$T/err" || fail "$(cat "$T/err")"
done
exit 0
