/* p_echo.c - copies its input to its output, a line to stderr, and ends with
 * the status it is given.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int next(void) { return getchar(); }

int main(int argc, char **argv)
{
	for (int c; (c = next()) != EOF;)
		putchar(c);
	fprintf(stderr, "a line to stderr\n");
	for (int i = 2; i < argc; i++)
		printf("[%s]", argv[i]);
	return argc > 1 ? atoi(argv[1]) : 0;
}
