#!/bin/sh
# many.sh - prints many.c: 400 functions to be called in random order, 400 in
# 100 groups that a compiler inlines, and 2,000 that call each other 30 deep.
# SPDX-License-Identifier: MIT
awk 'BEGIN {
	print "#include \"tests/bench/bench.h\""
	print "typedef long fn(long);"
	print "typedef long fn2(long, unsigned);"
	print "#define PLAIN __attribute__((noinline)) static"
	for (i = 0; i < 400; i++)
		printf "PLAIN long r%d(long x) { return x * %d + %d; }\n", i,
			i % 7 + 3, i
	for (i = 0; i < 100; i++) {
		for (k = 0; k < 3; k++)
			printf "static inline long l%d_%d(long x) " \
				"{ return x * %d + %d; }\n", i, k, i % 5 + 2, k
		printf "PLAIN long g%d(long x) " \
			"{ return l%d_0(x) + l%d_1(l%d_2(x)); }\n", i, i, i, i
	}
	print "static fn2 *const deep[2000];"
	for (i = 0; i < 2000; i++)
		printf "PLAIN long d%d(long n, unsigned x) { x = x * " \
			"1664525u + %du; return n > 0 ? deep[(x >> 8) %% 2000]" \
			"(n - 1, x) + 1 : x; }\n", i, i * 2 + 1013904223
	printf "static fn *const random_[400] = {"
	for (i = 0; i < 400; i++)
		printf " r%d,", i
	printf " };\nstatic fn *const groups[100] = {"
	for (i = 0; i < 100; i++)
		printf " g%d,", i
	printf " };\nstatic fn2 *const deep[2000] = {"
	for (i = 0; i < 2000; i++)
		printf " d%d,", i
	print " };"
	print "static unsigned short order[8192];"
	print "OUTSIDE static void shuffle(unsigned n) {"
	print "	unsigned x = 12345;"
	print "	for (int i = 0; i < 8192; i++) {"
	print "		x = x * 1664525u + 1013904223u;"
	print "		order[i] = (unsigned short)((x >> 8) % n);"
	print "	}\n}"
	print "long many_random(long n) {\n	long s = 0;\n	shuffle(400);"
	print "	for (long i = 0; i < n; i++)"
	print "		s += random_[order[i & 8191]](i);"
	print "	keep(s);\n	return n;\n}"
	print "long many_inlined(long n) {\n	long s = 0;\n	shuffle(100);"
	print "	for (long i = 0; i < n / 4; i++)"
	print "		s += groups[order[i & 8191]](i);"
	print "	keep(s);\n	return n / 4 * 4;\n}"
	print "long many_deep(long n) {\n	long s = 0;"
	print "	for (long i = 0; i < n / 30; i++)"
	print "		s += deep[i % 2000](29, (unsigned)i);"
	print "	keep(s);\n	return n / 30 * 30;\n}"
}'
