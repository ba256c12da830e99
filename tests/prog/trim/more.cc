/* more.cc - short calls of many kinds, and long ones.
 * SPDX-License-Identifier: MIT */
static volatile long sum;
struct gear {
	long turn(long x) { return x + 1; }
	long turn_back(long x) { return x - 1; }
	long operator()(long x) { return x ^ 1; }
	~gear() { sum = sum + 1; }
};
template <class A, class B> struct pair_of {
	long add(A a, B b) { return (long)a + (long)b; }
};
template <class A> long half(A a) { return (long)a / 2; }
namespace deep { long step(long x) { return x + 3; } }
extern "C" long c_name(long x) { return x + 4; }
namespace { long hidden(long x) { return x + 5; } }
static long steps_of(long x) { return deep::step(x) + c_name(hidden(x)); }
/* Short, and few: with c_name and hidden if they happen to take little. */
long c_name_of_gear(long x) { return x * 2; }
namespace { long hidden_gear(long x) { return x * 3; } }
/* Long calls, and few. */
long back_and_forth(gear &g, long n)
{
	for (long i = 0; i < n; i++)
		sum = sum + g.turn(i) + g.turn_back(i) + g(i);
	for (long i = 0; i < n; i++)
		sum = sum + pair_of<int, long>().add((int)i, i) + half<int>(1);
	for (long i = 0; i < n; i++)
		sum = sum + steps_of(i);
	return sum;
}
long half_an_hour(long n)
{
	for (volatile long i = 0; i < n; i = i + 1)
		;
	return n;
}
int main()
{
	gear g;
	sum = c_name_of_gear(hidden_gear(3));
	for (int i = 0; i < 3; i++)
		sum = sum + back_and_forth(g, 3000) + half_an_hour(100000);
	return 0;
}
