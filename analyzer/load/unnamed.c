/* unnamed.c - a ranking without names says why: a sentence for each module
 * whose file is there and of no use, one for all whose files are not.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/unnamed.h"

#include "analyzer/load/header.h"
#include "analyzer/out/out_number.h"

#include <stdio.h>
#include <string.h>

static size_t count_unnamed(const struct sym_module *m)
{
	return m->asked - m->named - m->hinted;
}

/* As analyzer/sym begins to say it of a module that is found nowhere; what may
 * follow is why. */
static const char absent_why[] = "its file is not there";

static int is_absent(const struct sym_module *m)
{
	return m->file[0] == '\0' &&
	       strncmp(m->why, absent_why, sizeof(absent_why) - 1) == 0;
}

static void tell_one(const char *path, const struct sym_module *m,
		     completeness_fn fn, void *ctx)
{
	char count[OUT_NUMBER], text[1024];

	snprintf(text, sizeof(text), "%s of %.60s without a name: %s",
		 out_number_many(count, count_unnamed(m), "functions"),
		 header_base_name(path), m->why);
	fn(ctx, text);
}

/* Modules whose files are not here: how many, and the one with the most. */
struct absent { size_t modules, funcs, most; const char *path, *why; };

static void add_absent(struct absent *a, const char *path,
		       const struct sym_module *m)
{
	a->modules++;
	a->funcs += count_unnamed(m);
	if (count_unnamed(m) <= a->most)
		return;
	a->most = count_unnamed(m);
	a->path = path;
	a->why = m->why;
}

static void tell_absent(const struct absent *a, completeness_fn fn, void *ctx)
{
	char count[OUT_NUMBER], others[OUT_NUMBER], text[1024];

	if (a->modules == 0)
		return;
	out_number_many(count, a->funcs, "functions");
	if (a->modules == 1)
		snprintf(text, sizeof(text), "%s of %.60s without a name: its "
			 "file is gone%s, see --debug-dir", count,
			 header_base_name(a->path),
			 a->why + sizeof(absent_why) - 1);
	else
		snprintf(text, sizeof(text), "%s of %.60s and %s without a "
			 "name: their files are gone, see --debug-dir", count,
			 header_base_name(a->path), out_number_many(others,
			 a->modules - 1, "other modules"));
	fn(ctx, text);
}

void unnamed_tell(const struct load *load, completeness_fn fn, void *ctx)
{
	struct func_table *const funcs = load->session->funcs;
	struct absent absent = { 0 };

	if (!load->modules)
		return;
	for (elf_id i = 1; i <= func_elf_count(funcs); i++) {
		const struct sym_module *const m = &load->modules[i];
		const char *const path = func_elf(funcs, i)->path;
		const size_t unnamed = count_unnamed(m);

		if (unnamed == 0 || m->why[0] == '\0' ||
		    (m->file[0] != '\0' && unnamed <= m->named + m->hinted))
			continue;
		if (is_absent(m))
			add_absent(&absent, path, m);
		else
			tell_one(path, m, fn, ctx);
	}
	tell_absent(&absent, fn, ctx);
}
