/* cpp.cc - the random program's C++ part: templates, containers whose inlined
 * code is recorded and stands in no account, destructors, exceptions thrown
 * through calls, caught and thrown again.
 * SPDX-License-Identifier: MIT */
extern "C" {
#include "woven.h"
}

#include <exception>
#include <map>
#include <vector>

#define PLAIN __attribute__((noinline))
#define INLINED OUTSIDE inline __attribute__((always_inline))

using table = std::map<int, std::vector<long>>;

/* Says to the account that a call begins and ends. One that an exception ends
 * is seen to end where the compiler calls its last hook then, too: g++ does. */
struct call {
	walk *const w;
	const func f;
	const int thrown;

	INLINED call(walk *walk, func name)
		: w(walk), f(name), thrown(std::uncaught_exceptions())
	{
		book_enter(w, f);
	}
	INLINED ~call()
	{
		book_leave(w, f);
		if (std::uncaught_exceptions() == thrown)
			return;
		w->seen[C_frame_left_by_exception]++;
#ifdef __clang__
		w->skipped++;
#endif
	}
};

template <typename T> T x_add(walk *w, T a, T b)
{
	call c(w, F_x_add);

	w->seen[C_template_call]++;
	return a + b;
}

template <int N> inline long x_power(walk *w, long x)
{
	call c(w, F_x_power);

	w->seen[C_template_recursion]++;
	if constexpr (N == 0)
		return x_add<int>(w, 1, 0);
	else
		return x * x_power<N - 1>(w, x);
}

struct x_twice {
	long operator()(walk *w, long x) const
	{
		call c(w, F_x_twice);

		return x_add<long>(w, x, x);
	}
};

template <typename F> PLAIN long x_apply(walk *w, F f, long x)
{
	call c(w, F_x_apply);

	return f(w, x) + f(w, x + 1);
}

PLAIN void x_fill(walk *w, table &t, int n)
{
	call c(w, F_x_fill);

	for (int i = 0; i < n; i++) {
		w->seen[C_container]++;
		t[i % 5].push_back(x_add<long>(w, i, n));
	}
}

PLAIN long x_sum(walk *w, const table &t)
{
	call c(w, F_x_sum);
	long sum = 0;

	for (const auto &entry : t)
		for (long x : entry.second)
			sum = x_add<long>(w, sum, x);
	return sum;
}

struct x_error {
	int depth;
};

struct x_guard {
	walk *const w;

	INLINED x_guard(walk *walk) : w(walk) {}
	PLAIN ~x_guard()
	{
		call c(w, F_x_guard);

		w->seen[C_destructor]++;
	}
};

PLAIN long x_after(walk *w, long x)
{
	call c(w, F_x_after);

	return x_add<int>(w, (int)x, 1);
}

PLAIN long x_risky(walk *w, int n, int d)
{
	call c(w, F_x_risky);
	x_guard guard(w);

	if (n > 0)
		return 1 + x_risky(w, n - 1, d);
	const long r = native_act(w, d + 1);

	if (chance(w, 40)) {
		w->seen[C_throw_class]++;
		throw x_error{ d };
	}
	if (chance(w, 40)) {
		w->seen[C_throw_int]++;
		throw d;
	}
	return r;
}

PLAIN long x_middle(walk *w, int d)
{
	call c(w, F_x_middle);

	try {
		return x_risky(w, (int)pick(w, 5), d);
	} catch (const x_error &) {
		w->seen[C_rethrow]++;
		x_after(w, d);
		throw;
	}
}

PLAIN long x_try(walk *w, int d)
{
	call c(w, F_x_try);
	long r = 0;

	try {
		r = chance(w, 50) ? x_middle(w, d) : x_risky(w, 0, d);
	} catch (const x_error &e) {
		w->seen[C_caught_class]++;
		r = x_after(w, e.depth);
	} catch (int x) {
		w->seen[C_caught_int]++;
		r = x;
	}
	if (chance(w, 50))
		r += x_after(w, r);
	return r;
}

/* No jump may pass by destructors. */
PLAIN long x_act(walk *w, int d)
{
	call c(w, F_x_act);
	jump *const outer = w->jump;
	long r = 0;

	w->jump = nullptr;
	if (chance(w, 60)) {
		for (unsigned i = 1 + pick(w, 3); i > 0; i--)
			r += x_try(w, d + 1);
	} else if (chance(w, 50)) {
		table t;

		x_fill(w, t, (int)pick(w, 12));
		r = x_sum(w, t);
	} else {
		r = x_power<4>(w, d) + x_apply(w, x_twice(), d);
	}
	w->jump = outer;
	return r;
}
