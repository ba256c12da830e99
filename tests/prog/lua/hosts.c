/* hosts.c - opens each plugin named on the command line where nobody else
 * sees its symbols, and runs them in turn.
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 1; i < argc; i++) {
			void *const handle = dlopen(argv[i], RTLD_NOW |
						    RTLD_LOCAL);
			int (*run)(int);

			if (handle == NULL) {
				printf("%s\n", dlerror());
				return 1;
			}
			run = (int (*)(int))dlsym(handle, "plugin_run");
			printf("%d: %d\n", i, run(3));
			dlclose(handle);
		}
	}
	return 0;
}
