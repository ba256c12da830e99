/* sym_child.c - the process that reads an ELF file for its parent: bounded in
 * time and memory, as the file may be made to do harm.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_child.h"

#include "analyzer/sym/sym_find.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CHILD_MEMORY_MB = 4096 };

static uint32_t cut(const char *text)
{
	return (uint32_t)strnlen(text, SYM_NAME_BYTES);
}

static void send(void *ctx, uint32_t id, const char *name, const char *file,
		 uint32_t line)
{
	FILE *const to = ctx;
	const struct sym_answer answer = { id, line, cut(name), cut(file) };

	fwrite(&answer, sizeof(answer), 1, to);
	fwrite(name, 1, answer.name_size, to);
	fwrite(file, 1, answer.file_size, to);
}

static void set_limits(unsigned seconds)
{
	const struct rlimit none = { 0, 0 };
	const struct rlimit time = { seconds + 1, seconds + 1 };
	const struct rlimit memory = { (rlim_t)CHILD_MEMORY_MB << 20,
				       (rlim_t)CHILD_MEMORY_MB << 20 };

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &time);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

_Noreturn void sym_child_run(const struct elf_module *module,
			     struct sym_query *queries, size_t count,
			     const struct sym_options *options, int pipe)
{
	FILE *const to = fdopen(pipe, "w");
	struct sym_found found;

	set_limits(options->seconds);
	/* What a library says about a strange file is of no use to anyone. */
	if (to == NULL || freopen("/dev/null", "w", stderr) == NULL)
		_exit(1);
	sym_find_file(module, options->debug_dirs, &found);
	send(to, 0, found.fd < 0 ? "" : found.path, found.why, 0);
	fflush(to);
	if (found.fd >= 0 &&
	    sym_dwarf_name(found.fd, found.path, queries, count, send, to,
			   found.why, sizeof(found.why)) != 0)
		send(to, 0, "", found.why, 0);
	_exit(fflush(to) == 0 ? 0 : 1);
}
