/* stand_in.c - the table of stand-ins, and which links they are for.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/link/stand_in.h"

#include <string.h>

enum { GROUPS = 8, STRIDE = 128 };

/* What one call has added. A stand-in's number is its group's times STRIDE plus
 * its place there. */
static struct group {
	const struct stand_in *all; /* or: */
	const char *const *names;
	stand_in_choice *choose;
	const uint32_t *wanted;
	unsigned count;
} groups[GROUPS];
static int group_count;

void stand_in_add(const struct stand_in *all, unsigned count)
{
	groups[group_count++] = (struct group){ .all = all, .count = count };
}

void stand_in_add_names(const char *const *names, unsigned count,
			stand_in_choice *choose, const uint32_t *wanted)
{
	groups[group_count++] = (struct group){
		.names = names, .choose = choose, .wanted = wanted,
		.count = count,
	};
}

int stand_in_of(const char *name)
{
	for (int g = 0; g < group_count; g++) {
		const struct group *const p = &groups[g];

		if (p->wanted && *p->wanted == 0)
			continue;
		for (unsigned i = 0; i < p->count; i++) {
			const char *const its = p->all ? p->all[i].name :
						p->names[i];

			if (its[0] == name[0] && strcmp(its, name) == 0)
				return g * STRIDE + (int)i;
		}
	}
	return -1;
}

static const struct link_map *own_libc(void)
{
	return dynamic_module_at((void *)(uintptr_t)dl_iterate_phdr);
}

/* The C library's own functions are ours to lead in each namespace: they have
 * the same code and no data that ours would miss. */
bool stand_in_is_libc(const struct link_map *map)
{
	const struct link_map *const libc = own_libc();

	return map && libc && (map == libc ||
			       strcmp(map->l_name, libc->l_name) == 0);
}

/* The same function where it stays: a namespace of its own may be closed. */
static void *lasting(void *original, const struct link_map *at)
{
	return stand_in_is_libc(at) ?
	       (char *)original - at->l_addr + own_libc()->l_addr : original;
}

/* The program's own functions come before all libraries'. */
static bool may_lead(const struct stand_in *s, void *original,
		     const struct link_map *at)
{
	if (!at || at->l_name[0] == '\0')
		return false;
	if (!s->real)
		return stand_in_is_libc(at);
	if (!*s->real)
		*s->real = lasting(original, at);
	return *s->real == original ||
	       (stand_in_is_libc(at) &&
		stand_in_is_libc(dynamic_module_at(*s->real)));
}

void *stand_in_for(int number, void *original, const struct link_map *at)
{
	const struct group *const g = &groups[number / STRIDE];
	const unsigned i = (unsigned)number % STRIDE;

	if (!g->all)
		return g->choose(i, original);
	return may_lead(&g->all[i], original, at) ? g->all[i].function : NULL;
}
