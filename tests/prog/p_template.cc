// A template whose argument differs between two builds, and what it costs with
// it. SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#ifndef SIZE
#define SIZE 4
#endif

template <int N> struct Cache {
	unsigned long v = 88172645463325252;
	__attribute__((noinline)) unsigned long get(int steps)
	{
		for (int i = 0; i < steps * N; i++) {
			v ^= v << 13;
			v ^= v >> 7;
			v ^= v << 17;
		}
		return v;
	}
};

int main(int count, char **args)
{
	Cache<SIZE> cache;

	for (int i = count > 1 ? atoi(args[1]) : 1000; i > 0; i--)
		cache.get(1000);
	std::printf("%lu\n", cache.v);
}
