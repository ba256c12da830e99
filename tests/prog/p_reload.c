/* p_reload.c LIBRARY TIMES [FOLDER] - opens a library, calls it, closes it;
 * with a folder, each time by another name, which is made there. With "-" for a
 * folder it leaves its own one once the library is open.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int own(int x);

__attribute__((noinline)) int own(int x)
{
	__asm__ volatile("");
	return x;
}

static const char *name(int argc, char **argv, int i)
{
	static char path[4096];

	if (argc <= 3 || argv[3][0] == '-')
		return argv[1];
	snprintf(path, sizeof(path), "%s/%d.so", argv[3], i);
	return link(argv[1], path) == 0 ? path : NULL;
}

int main(int argc, char **argv)
{
	const int times = argc > 2 ? atoi(argv[2]) : 0;
	int sum = 0;

	for (int i = 0; i < times; i++) {
		void *const library = dlopen(name(argc, argv, i),
						    RTLD_NOW);
		int (*const g)(int) = !library ? NULL :
			(int (*)(int))dlsym(library, "plug_g");

		if (!g || (argc > 3 && argv[3][0] == '-' && chdir("/") != 0))
			return 1;
		sum += g(i) + own(i);
		dlclose(library);
	}
	printf("%d\n", sum);
	return 0;
}
