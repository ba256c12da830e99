/* sym_server.c - ELF files by build-id from debuginfod's servers, through the
 * library of that name, which is loaded when it is needed: weft works without.
 * A server that hangs costs a few seconds.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_server.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int find_fn(void *client, const unsigned char *id, int size,
		    char **path);
typedef int progress_fn(void *client, long a, long b);

struct library {
	void *(*begin)(void);
	void (*end)(void *client);
	find_fn *find;
	void (*set_progress)(void *client, progress_fn *);
};

static time_t deadline;

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* Called now and then while it waits; non-zero: enough. */
static int watch(void *client, long a, long b)
{
	(void)client, (void)a, (void)b;
	return now() >= deadline;
}

static int load(struct library *l, enum sym_want want)
{
	void *const library = dlopen("libdebuginfod.so.1",
				     RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -1;
	*(void **)&l->begin = dlsym(library, "debuginfod_begin");
	*(void **)&l->end = dlsym(library, "debuginfod_end");
	*(void **)&l->find = dlsym(library, want == SYM_CODE ?
				   "debuginfod_find_executable" :
				   "debuginfod_find_debuginfo");
	*(void **)&l->set_progress = dlsym(library,
					   "debuginfod_set_progressfn");
	return !l->begin || !l->end || !l->find ||
	       !l->set_progress ? -1 : 0;
}

/* The library's own limits, too: it looks at them where it does not call us. */
static void set_limits(const char *urls, unsigned seconds)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", seconds);
	if (urls)
		setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_MAXTIME", text, 1);
	setenv("DEBUGINFOD_TIMEOUT", text, 1);
	unsetenv("DEBUGINFOD_PROGRESS");
	deadline = now() + (time_t)seconds;
}

static char *ask(const struct library *l, const struct elf_module *module,
		 const char **why)
{
	char *path = NULL;
	void *const client = l->begin();
	int fd;

	*why = "no server has its file";
	if (!client)
		return NULL;
	l->set_progress(client, watch);
	fd = l->find(client, module->build_id, module->build_id_size, &path);
	if (fd >= 0)
		close(fd);
	else if (now() + 1 >= deadline)
		*why = "the server did not answer in time";
	l->end(client);
	return fd >= 0 ? path : NULL;
}

char *sym_server_get(const struct elf_module *module, enum sym_want want,
		     const char *urls, unsigned *seconds, const char **why)
{
	const char *const known = urls != NULL ? urls :
				  getenv("DEBUGINFOD_URLS");
	const time_t began = now();
	const unsigned limit = *seconds;
	struct library l;
	char *path;

	*why = "";
	*seconds = 0;
	if (!known || known[0] == '\0' || module->build_id_size == 0 ||
	    limit == 0)
		return NULL;
	*why = "libdebuginfod is not installed";
	if (load(&l, want) != 0)
		return NULL;
	set_limits(urls, limit);
	path = ask(&l, module, why);
	*seconds = (unsigned)(now() - began);
	return path;
}
