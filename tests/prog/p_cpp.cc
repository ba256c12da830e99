/* p_cpp.cc - templates, inlined containers and, with "throw", exceptions.
 * Each of its own functions counts its calls; the library's inlined ones are
 * recorded too and counted by nobody. matrix
 * With -DSMALL, destructors and what is called next have the smallest frames.
 * flags: -std=c++17 -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define PLAIN __attribute__((noinline))
#ifdef SMALL
enum { ROOM = 1 };
#else
enum { ROOM = 8192 };
#endif
static unsigned long n_fill, n_sum, n_twice, n_risky, n_deep, n_catcher, n_dtor,
	n_after, n_looper;

template <typename T> T twice(T x)
{
	n_twice++;
	return x + x;
}

PLAIN void fill(std::map<int, std::vector<long>> &m, int n)
{
	n_fill++;
	for (int i = 0; i < n; i++)
		m[i % 17].push_back(twice<long>(i));
}

PLAIN long sum(const std::map<int, std::vector<long>> &m)
{
	long s = 0;

	n_sum++;
	for (const auto &entry : m)
		for (long x : entry.second)
			s += x;
	return s;
}

struct guard {
	PLAIN ~guard();
};

/* What an exception runs on its way. */
PLAIN guard::~guard()
{
	volatile char room[ROOM];

	n_dtor++;
	room[n_dtor % ROOM] = 0;
}

PLAIN void deep(int n)
{
	guard g;

	n_deep++;
	if (n == 0)
		throw std::runtime_error("from the depth");
	deep(n - 1);
}

PLAIN long risky(int i)
{
	n_risky++;
	if (i % 2)
		deep(i % 7);
	return i;
}

PLAIN void after(int i);

PLAIN long catcher(int i)
{
	n_catcher++;
	try {
		return risky(i);
	} catch (const std::exception &e) {
		after(i);
		return twice<long>(i);
	}
}

/* Stands where risky stood when it was left by an exception, and its own call
 * of the hook is below those of all that the exception has left. */
PLAIN void after(int i)
{
	volatile char room[ROOM];

	n_after++;
	room[i % ROOM] = 0;
	twice<int>(i);
}

/* Calls what throws again and again from one point, and nothing between. */
PLAIN void looper(int n)
{
	n_looper++;
	for (int i = 0; i < n; i++) {
		try {
			risky(1);
		} catch (const std::exception &) {
		}
	}
}

int main(int argc, char **argv)
{
	std::map<int, std::vector<long>> m;
	long s = 0;

	for (int i = 0; i < 20; i++) {
		fill(m, 100);
		s += sum(m);
	}
	if (argc > 1 && std::strcmp(argv[1], "throw") == 0)
		for (int i = 0; i < 500; i++)
			s += catcher(i);
	if (n_catcher > 0)
		looper(300);
	std::printf("calls %lu long twice<long>(long)\n", n_twice - n_after);
	std::printf("calls %lu fill(std::map<int, std::vector<long, "
		    "std::allocator<long> >, std::less<int>, std::allocator<"
		    "std::pair<int const, std::vector<long, std::allocator<"
		    "long> > > > >&, int)\n", n_fill);
	std::printf("calls %lu sum(std::map<int, std::vector<long, "
		    "std::allocator<long> >, std::less<int>, std::allocator<"
		    "std::pair<int const, std::vector<long, std::allocator<"
		    "long> > > > > const&)\n", n_sum);
	if (n_catcher > 0)
		std::printf("calls %lu deep(int)\ncalls %lu risky(int)\n"
			    "calls %lu catcher(int)\ncalls %lu guard::~guard()"
			    "\ncalls %lu after(int)\ncalls %lu looper(int)\n",
			    n_deep, n_risky, n_catcher, n_dtor, n_after,
			    n_looper);
	return s == 0;
}
