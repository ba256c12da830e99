/* names.cc - functions whose names gcc writes in another way than the demangler.
 * Those that are called often have names that lie in others', or seem to.
 * SPDX-License-Identifier: MIT */
#define OFTEN 3000
static volatile long sum;

/* Brackets in the values of templates. */
enum kind { ROUND = 1 };
static bool is_odd(long x) { return x & 1; }
template <kind K> long roll(long x) { return x + K; }
template <kind K, bool (*P)(long)> struct sieve {
	long pass_all(long x) { return x + P(x) + K; }
	template <class T> long sift(T x) { return (long)x + P((long)x); }
};
static long pass(long x) { return x + 1; }
static long sift(long x) { return x + 2; }
static long odd(long x) { return x + 3; }

/* Namespaces without a name. */
namespace { namespace inner { long rare(long x) { return x + 4; } } }
static long space(long x) { return x + 5; }
static long anonymous(long x) { return x + 6; }

/* What lies in functions. */
static long local(long x)
{
	struct box { long lift(long y) { return y + 7; } };
	auto drop = [x](long y) { return x + y; };
	return box().lift(x) + drop(x);
}
static long box(long x) { return x + 8; }
static long lambda(long x) { return x + 9; }
struct holder {
	long deferred = [](long y) { return y + 10; }(1);
};
static long deferred(long x) { return x + 11; }

/* What is around the name: returned types, marks. */
static long (*give(long))(long) { return box; }
template <class T> long (*give_any(T))(long) { return box; }
template <class T> auto decided(T x) -> decltype((x) + 1) { return x + 1; }
[[gnu::abi_tag("later")]] long tagged(long x) { return x + 12; }
static long later(long x) { return x + 13; }
static long give_a(long x) { return x + 14; }

/* Operators. */
struct tool {
	operator long() { return 15; }
	long operator()(long x) { return x + 16; }
	bool operator<(const tool &) { return false; }
	template <class T> long operator<<(T x) { return (long)x + 17; }
};
static long tool_of(long x) { return x + 18; }

/* What is required is in the names of newer compilers. */
#if __cplusplus >= 202002L
#include <concepts>
template <class T> requires std::integral<T> long whole(T x) { return x + 19; }
template <class T> struct checked {
	long whole_part(T x) requires std::integral<T> { return x + 20; }
	template <std::integral U> long part(U x) { return x + 21; }
};
static long fraction(long x)
{
	return x + (x % 100 ? 0 : checked<long>().part(x));
}
static long part(long x) { return x + 22; }
#else
static long whole(long x) { return x + 19; }
static long fraction(long x) { return x + 20; }
static long part(long x) { return x + 22; }
#endif

static void seldom()
{
	sieve<ROUND, is_odd> s;
	holder h;
	tool t;

	sum = s.pass_all(1) + s.sift(2) + inner::rare(3) + local(4) +
	      h.deferred + give(5)(5) + give_any(6)(6) + decided(7L) + tagged(8) +
	      (long)t + (t < t) + (t << 9) + whole(10);
#if __cplusplus >= 202002L
	sum = checked<long>().whole_part(11) + checked<int>().part(12);
#endif
}

int main()
{
	auto turn = [](long x) { return x + 23; };

	for (long i = 0; i < OFTEN; i++)
		sum = roll<ROUND>(i) + pass(i) + sift(i) + odd(i) + space(i) +
		      anonymous(i) + box(i) + lambda(i) + deferred(i) +
		      later(i) + give_a(i) + tool()(i) + tool_of(i) +
		      fraction(i) + part(i) + turn(i);
	for (int i = 0; i < 2; i++)
		seldom();
	return 0;
}
