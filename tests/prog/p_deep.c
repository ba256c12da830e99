/* p_deep.c - two functions that call each other, 200,001 calls deep, and one
 * that calls itself as deep. Needs an unlimited stack; prints the calls of each
 * function.
 * flags: -finstrument-functions -g -O0
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

static volatile long evens, odds, selves, leaves;

static void leaf(void)
{
	leaves++;
}

static int odd(int n);

static int even(int n)
{
	evens++;
	if (n > 0)
		return odd(n - 1) + 1;
	leaf();
	return 0;
}

static int odd(int n)
{
	odds++;
	return even(n - 1) + 1;
}

static int self(int n)
{
	selves++;
	return n == 0 ? 0 : self(n - 1) + 1;
}

int main(void)
{
	if (even(200000) + self(200000) != 400000)
		return 1;
	printf("even %ld\nodd %ld\nself %ld\nleaf %ld\n", evens, odds,
	       selves, leaves);
	return 0;
}
