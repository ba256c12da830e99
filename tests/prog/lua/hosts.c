/* hosts.c - opens each plugin named on the command line where nobody else
 * sees its symbols, and runs them in turn. "-k": all are kept open.
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const int keep = argc > 1 && strcmp(argv[1], "-k") == 0;

	for (int round = 0; round < 2; round++) {
		for (int i = 1 + keep; i < argc; i++) {
			void *const handle = dlopen(argv[i], RTLD_NOW |
						    RTLD_LOCAL);
			int (*run)(int);

			if (!handle) {
				printf("%s\n", dlerror());
				return 1;
			}
			run = (int (*)(int))dlsym(handle, "plugin_run");
			printf("%d: %d\n", i - keep, run(3));
			if (!keep)
				dlclose(handle);
		}
	}
	return 0;
}
