/* p_reload.c LIBRARY TIMES - opens a library, calls it, closes it.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int own(int x);

__attribute__((noinline)) int own(int x)
{
	__asm__ volatile("");
	return x;
}

int main(int argc, char **argv)
{
	const int times = argc > 2 ? atoi(argv[2]) : 0;
	int sum = 0;

	for (int i = 0; i < times; i++) {
		void *const library = dlopen(argv[1], RTLD_NOW);
		int (*const g)(int) = !library ? NULL :
			(int (*)(int))dlsym(library, "plug_g");

		if (!g)
			return 1;
		sum += g(i) + own(i);
		dlclose(library);
	}
	printf("%d\n", sum);
	return 0;
}
