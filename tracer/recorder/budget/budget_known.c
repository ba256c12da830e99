/* budget_known.c - tables that grow with the program, up to a limit.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/budget/budget_known.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 12 };           /* functions, at first */

/* ---- room ---- */

/* Make one of the arrays longer; false: it stays as it is. */
static bool grow_one(void *array, uint32_t room, size_t size)
{
	void **const at = array, *const grown = realloc(*at, room * size);

	if (grown)
		*at = grown;
	return grown != NULL;
}

static bool grow_functions(struct budget_functions *f)
{
	const uint32_t room = f->room ? 2 * f->room : ROOM;

	if (!grow_one(&f->known, room, sizeof(*f->known)) ||
	    !grow_one(&f->function, room, sizeof(*f->function)))
		return false;
	f->room = room;
	return true;
}

int budget_functions_init(struct budget_functions *f, uint32_t most,
			  const _Atomic uint64_t *verdicts, uint32_t slots)
{
	*f = (struct budget_functions){ .most = most, .verdicts = verdicts,
					.verdict_slots = slots };
	name_set_init(&f->by_id, most);
	f->module = calloc(BUDGET_MODULES, sizeof(*f->module));
	return f->module && grow_functions(f) ? 0 : -1;
}

/* ---- modules and functions ---- */

static bool is_weft(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "libweft.so", 10) == 0;
}

uint32_t budget_functions_module(struct budget_functions *f,
				 const struct module_item *m)
{
	const uint64_t hash = chunk_names_module_hash(m->id, m->id_size,
						      m->path);
	uint32_t i;

	if (!m->path[0])
		return BUDGET_NONE;
	for (i = 0; i < f->modules && f->module[i].hash != hash; i++)
		;
	if (i == BUDGET_MODULES) {
		f->refused++;
		return BUDGET_NONE;
	}
	if (i == f->modules)
		f->module[f->modules++] = (struct budget_module){
			hash, is_weft(m->path)
		};
	return i;
}

static uint32_t find(struct budget_functions *f, uint64_t id)
{
	const uint32_t at = name_set_find(&f->by_id, id);
	bool known;

	if (at)
		return at - 1;
	if (verdict_find(f->verdicts, f->verdict_slots, id, &known) !=
	    VERDICT_RECORD)
		return BUDGET_NONE;
	if (f->n == f->most || (f->n == f->room && !grow_functions(f)) ||
	    !name_set_put(&f->by_id, id, f->n + 1)) {
		f->refused++;
		return BUDGET_NONE;
	}
	f->known[f->n] = (struct budget_known){ .id = id };
	f->function[f->n] = (struct budget_function){ 0 };
	return f->n++;
}

uint32_t budget_functions_find(struct budget_functions *f, uint32_t module,
			       uint64_t offset)
{
	return find(f, verdict_of_native(f->module[module].hash, offset));
}

uint32_t budget_functions_vm(struct budget_functions *f, uint32_t serial)
{
	enum { VMS = 1024 }; /* a server may make one for each request */
	const uint32_t i = serial > VMS ? BUDGET_NONE :
			   find(f, verdict_of_vm(serial));

	if (i != BUDGET_NONE) {
		f->function[i].is_vm = true;
		f->known[i].vm = serial;
	}
	return i;
}
