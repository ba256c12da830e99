/* hot.c - known shares of work, by line. SPDX-License-Identifier: MIT */
#define OUTSIDE __attribute__((no_instrument_function))
static volatile unsigned long sink = 3;
OUTSIDE static inline __attribute__((always_inline)) void mix(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 7 % 13;
}
OUTSIDE __attribute__((noinline)) static void helper(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 7 % 13;
}
__attribute__((noinline)) void hot(int n)
{
	mix(6 * n);
	for (int i = 0; i < 3 * n; i++)
		sink = sink * 5 % 11;
	helper(n);
}
int main(int argc, char **argv)
{
	int rounds = 3000;

	for (int i = 1; i < argc; i++) /* an argument: four times as long */
		rounds *= *argv[i] != '\0' ? 4 : 1;
	for (int i = 0; i < rounds; i++)
		hot(10000);
	return 0;
}
