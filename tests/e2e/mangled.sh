#!/bin/bash
# Names of D, as its compilers mangle them, and of C++ that have more than 1,000
# characters as symbols: with and without debug information they are shown as
# they are written, and weft record selects by them. gcc's parts of a coroutine of
# C++20 bear its name; clang's, which have no hooks, are said to have none.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/d.c" <<'C'
__attribute__((noinline)) void leaf(int x) __asm__("_D7d_fiber4leafFiZv");
__attribute__((noinline)) void step(int x) __asm__("_D7d_fiber4stepFiZv");
static volatile int sum;
void leaf(int x) { sum += x; }
void step(int x) { for (int i = 0; i < 10; i++) leaf(x); }
int main(void) { for (int i = 0; i < 30; i++) step(i); return 0; }
C
cat >"$T/long.cc" <<'C'
template <class A, class B> struct a_rather_long_name_of_a_pair_of_types { };
template <class T> __attribute__((noinline)) int deep(T *)
{
	static volatile int kept;
	return kept++;
}
template <int N> struct make {
	typedef a_rather_long_name_of_a_pair_of_types<
		typename make<N - 1>::type, char[N]> type;
};
template <> struct make<0> { typedef int type; };
template <int N> struct run {
	static void go() { deep((typename make<N>::type *)0); run<N - 1>::go(); }
};
template <> struct run<0> { static void go() { } };
template <class T> __attribute__((noinline)) void hot(T *)
{
	for (volatile int i = 0; i < 200000000; i++) { }
}
int main() { hot((make<100>::type *)0); run<200>::go(); return 0; }
C
# rows PATTERN: how many begin so.
rows() {
	grep -cE "^\"?$1" "$T/report.csv"
}
for debug in -g -g0; do
	gcc -O1 $debug -finstrument-functions "$T/d.c" -o "$T/d" &&
		g++ -O0 $debug -finstrument-functions "$T/long.cc" \
			-o "$T/long" || fail "the compiler fails"
	record "$T/d" || fail "weft record fails"
	report
	[ "$(calls 'd_fiber.leaf(int)') $(calls 'd_fiber.step(int)')" = \
		"300 30" ] || fail "D, $debug: $(cat "$T/report.csv")"
	record --skip 'd_fiber.leaf' -- "$T/d" || fail "weft record fails"
	grep -q '^weft: [0-9][0-9] records' "$T/err" || fail "D is not skipped"
	record "$T/long" || fail "weft record fails"
	report
	[ "$(rows 'int deep<') $(rows _Z)" = "200 0" ] ||
		fail "C++, $debug: $(cut -c 1-100 "$T/report.csv")"
	# In sentences and stacks they are short; scripts get them whole.
	"$WEFT" slow -n 1 'void hot<*' "$T/trace" >"$T/said" || fail "weft slow"
	"$WEFT" explain "$T/trace" | grep -v '^   [$] ' >>"$T/said"
	[ "$(grep -c 'void hot<.*[.][.][.]' "$T/said")" -ge 2 ] &&
		[ "$(wc -L <"$T/said")" -lt 300 ] || fail "C++, $debug: $(cut -c 1-300 "$T/said")"
	"$WEFT" explain --json "$T/trace" | grep '"function": "void hot' |
		awk 'length > 1000 { n++ } END { exit !n }' ||
		fail "the name is not whole in JSON, $debug: $("$WEFT" explain --json "$T/trace" | cut -c 1-300)"
	"$WEFT" slow -n 1 --csv 'void hot<*' "$T/trace" |
		awk 'length > 1000 { n++ } END { exit !n }' ||
		fail "the name is not whole in CSV, $debug"
done
# What cannot be demangled has its plain name, in its scopes.
cat >"$T/new.cc" <<'C'
namespace outer { namespace {
struct box {
	static int odd(int n) __asm__("_ZN5outer3box3oddITnNSt9enable_ifIXclsr4_T_EE1xEEEii");
};
__attribute__((noinline)) int box::odd(int n) { __asm__(""); return n; }
} }
int main() { return outer::box::odd(0); }
C
g++ -O1 -g -finstrument-functions "$T/new.cc" -o "$T/new" || fail "the compiler fails"
record "$T/new" || fail "weft record fails"
report
[ "$(calls 'outer::(anonymous namespace)::box::odd')" = 1 ] ||
	fail "a new way to mangle: $(cat "$T/report.csv")"
nm "$T/long" | awk 'length($3) > 1500 { n++ } END { exit n < 20 }' ||
	fail "no symbol is long"
# Of the long ones, weft record is not certain; the reports are.
record --only 'int deep<*' -- "$T/long" || fail "weft record fails"
report
[ "$(rows 'int deep<') $(wc -l <"$T/report.csv")" = "200 201" ] || fail "--only: $(cat "$T/report.csv")"
record --skip 'int deep<*' -- "$T/long" || fail "weft record fails"
report
[ "$(rows 'int deep<') $(rows main,)" = "0 1" ] ||
	fail "--skip: $(cat "$T/report.csv")"
cat >"$T/co.cc" <<'C'
#include <coroutine>
struct task {
	struct promise_type {
		task get_return_object() { return { std::coroutine_handle<
			promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> h;
};
static volatile int sink;
namespace app {
task generate(int n) {
	for (int i = 0; i < n; i++) {
		sink = i;
		co_await std::suspend_always{};
	}
}
}
int main() {
	for (int k = 0; k < 3; k++) {
		task t = app::generate(5);
		while (!t.h.done())
			t.h.resume();
		t.h.destroy();
	}
	return 0;
}
C
for compiler in g++ clang++; do
	$compiler -std=c++20 -O1 -g -finstrument-functions "$T/co.cc" -o "$T/co" ||
		fail "$compiler fails"
	record "$T/co" || fail "weft record fails"
	report
	# gcc's begins with what comes before the first suspension.
	got="$(calls 'app::generate(int)') $(calls 'app::generate(int) [resumed]')"
	got="$got $(calls 'app::generate(int) [destroyed]')"
	[ $compiler != g++ ] || [ "$got" = "3 24 3" ] || fail "$compiler: $got"
	[ $compiler != clang++ ] || [ "$got" = "3 0 0" ] || fail "$compiler: $got"
done
n=$("$WEFT" coverage "$T/trace" |
	grep -c "^clang's part of a coroutine: no hooks.* app::generate(int)")
[ "$n" -ge 2 ] || fail "$("$WEFT" coverage "$T/trace")"
