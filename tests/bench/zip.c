/* zip.c - "zip ROUNDS": zlib compresses a text that is made here, at each
 * level, and uncompresses it. Prints "TOTAL" and its CPU time in s.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum { SIZE = 20000 };

static unsigned char text[SIZE], small[SIZE + SIZE / 100 + 100], again[SIZE];

/* Words, some of them frequent. */
static void make_text(void)
{
	unsigned long seed = 42;

	for (size_t n = 0; n < SIZE; n++) {
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		const unsigned long word = (seed >> 40) % 97 *
					   ((seed >> 50) % 89) * 7919;

		for (size_t k = 0; k < word % 7 + 2 && n < SIZE; k++)
			text[n++] = (unsigned char)('a' + (word >> 2 * k) % 26);
		if (n < SIZE)
			text[n] = ' ';
	}
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 1;

	make_text();
	for (long i = 0; i < rounds * 9; i++) {
		uLongf packed = sizeof(small), size = SIZE;

		if (compress2(small, &packed, text, SIZE, (int)(i % 9) + 1) ||
		    uncompress(again, &size, small, packed) ||
		    memcmp(text, again, SIZE) != 0)
			abort();
	}
	printf("TOTAL %.3f\n", (double)clock() / CLOCKS_PER_SEC);
	return 0;
}
