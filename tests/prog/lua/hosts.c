/* hosts.c - opens each plugin named on the command line where nobody else
 * sees its symbols, and runs them in turn. "-k": all are kept open; "-d": what
 * is theirs comes first in them (RTLD_DEEPBIND); "-m": each has a namespace of
 * its own.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	const char *const option = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
	const int keep = strcmp(option, "-k") == 0;
	const int deep = strcmp(option, "-d") == 0 ? RTLD_DEEPBIND : 0;
	const int apart = strcmp(option, "-m") == 0;
	const int first = 1 + (option[0] != '\0');

	for (int round = 0; round < 2; round++) {
		for (int i = first; i < argc; i++) {
			void *const handle = apart ?
				dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW) :
				dlopen(argv[i], RTLD_NOW | RTLD_LOCAL | deep);
			int (*run)(int);

			if (!handle) {
				printf("%s\n", dlerror());
				return 1;
			}
			run = (int (*)(int))dlsym(handle, "plugin_run");
			printf("%d: %d\n", i - first + 1, run(3));
			if (!keep)
				dlclose(handle);
			/* The next one comes to lie elsewhere. */
			mmap(NULL, 48 << 10, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		}
	}
	return 0;
}
