#!/bin/bash
# Functions at one address are named together, and either name finds them: those
# that a linker folds (gold and lld with --icf=all), as the program counted their
# calls, and aliases. Names that are one function's own (a constructor's two,
# those that a library keeps for itself) are not.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/alias.c" <<'C'
#define ALIAS(of) __attribute__((alias(#of)))
int same1(int x) { return x * 3 + 1; }
int same2(int x) ALIAS(same1);
int plain(int x) { return x - 1; }
int __plain(int x) ALIAS(plain);
int __libc_plain(int x) ALIAS(plain);
int f6(int x) { return x + 7; }
int f5(int) ALIAS(f6), f4(int) ALIAS(f6), f3(int) ALIAS(f6);
int f2(int) ALIAS(f6), f1(int) ALIAS(f6);
int other(int x) { return x; }

int main(void)
{
	volatile int sum = 0;

	for (int i = 0; i < 1500; i++)
		sum += i < 1000 ? same1(i) : same2(i);
	for (int i = 0; i < 30; i++)
		sum += plain(i) + __libc_plain(i) + f1(i) + f6(i);
	return other(sum) == 0;
}
C
cat >"$T/fold.cc" <<'C'
#include <cstdio>
template <class A, class B> struct pair { };
struct shop {
	int kept;
	__attribute__((noinline)) shop(int x) : kept(x) { }
};
template <class A, class B> __attribute__((noinline))
int twice(pair<A, B> *, int x) { return 2 * x; }
extern "C" __attribute__((noinline)) int same1(int x) { return x * 3 + 1; }
extern "C" __attribute__((noinline)) int same2(int x) { return x * 3 + 1; }

int main()
{
	volatile int sum = 0;
	pair<int, long> a;
	pair<long, int> b;

	for (int i = 0; i < 1500; i++)
		sum += i < 1000 ? same1(i) : same2(i);
	for (int i = 0; i < 70; i++)
		sum += twice(&a, i) + twice(&b, i);
	return shop(sum).kept == 1;
}
C
# has CALLS NAME: in the row of that name, which may have commas.
has() {
	grep -qE "^\"?$(printf %s "$2" | sed 's/[(*]/\\&/g; s/)/\\)/g')\"?,native,.*,$1," \
		"$T/report.csv" || fail "no $2 with $1 calls: $(cat "$T/report.csv")"
}
alias() {
	has 1500 "same1, same2"
	has 60 plain
	has 60 "f1, f2, f3, f4, and 2 more"
	has 1 other
	for name in same1 same2 'same2|no' 'sam*2' f4; do
		"$WEFT" callers "$name" "$T/trace" >"$T/said" 2>"$T/report.err" ||
			fail "weft callers $name fails"
	done
	"$WEFT" callers f "$T/trace" >"$T/said" 2>&1 &&
		fail "a part of a name finds it"
	"$WEFT" trim -f skip --min-share 0 --below 1000000000 "$T/trace" \
		>"$T/short" 2>"$T/report.err" || fail "weft trim fails"
	grep -q 'same1|same2' "$T/short" || fail "trim: $(cat "$T/short")"
	sed -i 's/|main|other//' "$T/short"
	report --skip @"$T/short"
	has 1 main
	grep -q same "$T/report.csv" && fail "weft trim's list leaves out none"
	report --only same2
	has 1500 "same1, same2"
	[ "$(wc -l <"$T/report.csv")" = 2 ] || fail "--only has other rows"
}
for debug in -g -g0; do
	gcc -O1 $debug -fno-inline -finstrument-functions "$T/alias.c" \
		-o "$T/alias" || fail "gcc fails"
	record "$T/alias" || fail "weft record fails"
	report
	alias
done
"$WEFT" coverage --all --csv "$T/trace" >"$T/said" 2>"$T/report.err"
grep -q '"same1, same2"' "$T/said" || fail "coverage: $(cat "$T/said")"
# The recorder leaves out only what all names ask for; the reports do the rest.
for only in '--skip same2' '--only plain|other'; do
	record $only -- "$T/alias" || fail "weft record $only fails"
	report
	grep -q same "$T/report.csv" && fail "$only: $(cat "$T/report.csv")"
	has 60 plain
done

for linker in lld gold; do
	g++ -O1 -g -ffunction-sections -finstrument-functions "$T/fold.cc" \
		-fuse-ld=$linker -Wl,--icf=all -o "$T/fold" 2>"$T/err" || {
		said="${said-}$linker "
		continue
	}
	record "$T/fold" || fail "weft record fails"
	report
	has 1500 "same1, same2"
	has 1 "shop::shop(int)"
	has 140 "int twice<int, long>(pair<int, long>*, int), int twice<long, int>(pair<long, int>*, int)"
	"$WEFT" coverage --all --csv "$T/trace" >"$T/said" 2>"$T/report.err"
	grep -q '"same1, same2"' "$T/said" || fail "coverage: $(cat "$T/said")"
	"$WEFT" callers 'int twice<long, int>' "$T/trace" >"$T/said" 2>"$T/report.err" ||
		fail "$linker: weft callers fails"
done
echo "note: without ${said:-none}"
