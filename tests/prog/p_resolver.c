/* p_resolver.c - a library with an instrumented resolver, which the loader
 * calls before it has relocated the libraries that come before this one.
 * flags: -finstrument-functions -shared -fPIC -fno-plt
 * SPDX-License-Identifier: MIT */
int chosen(int x) __attribute__((ifunc("choose")));
int call_chosen(int x);

static int one(int x)
{
	return x + 1;
}

__attribute__((noinline)) static int (*choose(void))(int)
{
	return one;
}

int call_chosen(int x)
{
	return chosen(x);
}
