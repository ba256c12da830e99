/* budget_known.c - tables that grow with the program, up to a limit.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/budget/budget_known.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 12 };           /* functions, at first */

/* ---- room ---- */

static void take_place(struct budget_functions *f, uint32_t i)
{
	uint32_t at = name_set_place(f->known[i].id);

	while (f->slot[at & (2 * f->room - 1)] != 0)
		at++;
	f->slot[at & (2 * f->room - 1)] = i + 1;
}

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
	uint32_t *const slot = calloc(2 * (size_t)room, sizeof(*slot));

	if (!slot || !grow_one(&f->known, room, sizeof(*f->known)) ||
	    !grow_one(&f->function, room, sizeof(*f->function)) ||
	    !grow_one(&f->spanned, room, sizeof(*f->spanned))) {
		free(slot);
		return false;
	}
	free(f->slot);
	f->slot = slot;
	f->room = room;
	for (uint32_t i = 0; i < f->n; i++)
		take_place(f, i);
	return true;
}

int budget_functions_init(struct budget_functions *f, uint32_t most,
			  const _Atomic uint64_t *verdicts, uint32_t slots)
{
	*f = (struct budget_functions){ .most = most, .verdicts = verdicts,
					.verdict_slots = slots };
	f->module = calloc(BUDGET_MODULES, sizeof(*f->module));
	return f->module && grow_functions(f) ? 0 : -1;
}

/* ---- modules and functions ---- */

static bool is_weft(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "libweft.so", 10) == 0;
}

static uint32_t add_known_module(struct budget_functions *f, uint64_t hash,
				 const uint64_t *item, uint64_t words,
				 const char *path)
{
	struct budget_module *const m = &f->module[f->modules];
	uint64_t *const copy = f->modules < BUDGET_MODULES ?
			       malloc(words * 8) : NULL;

	if (!copy) {
		f->refused++;
		return BUDGET_NONE;
	}
	memcpy(copy, item, words * 8);
	m->item = copy;
	m->item[2] = MODULE_NOWHERE;
	m->hash = hash;
	m->is_weft = is_weft(path);
	return f->modules++;
}

uint32_t budget_functions_module(struct budget_functions *f,
				 const struct seen_item *item,
				 const struct module_item *m)
{
	uint64_t hash;
	uint32_t i;

	if (item->words > BUDGET_MODULE_WORDS || !m->path[0])
		return BUDGET_NONE;
	hash = chunk_names_module_hash(m->id, m->id_size, m->path);
	for (i = 0; i < f->modules && f->module[i].hash != hash; i++)
		;
	return i < f->modules ? i : add_known_module(f, hash, item->at,
						     item->words, m->path);
}

uint32_t budget_functions_find(struct budget_functions *f, uint32_t module,
			       uint64_t offset)
{
	const uint64_t id = verdict_of_native(f->module[module].hash, offset);
	uint32_t at = name_set_place(id);
	bool known;

	for (;; at++) {
		const uint32_t i = f->slot[at & (2 * f->room - 1)];

		if (i == 0)
			break;
		if (f->known[i - 1].id == id)
			return i - 1;
	}
	if (verdict_find(f->verdicts, f->verdict_slots, id, &known) !=
	    VERDICT_RECORD)
		return BUDGET_NONE;
	if (f->n == f->most || (f->n == f->room && !grow_functions(f))) {
		f->refused++;
		return BUDGET_NONE;
	}
	f->known[f->n] = (struct budget_known){ .id = id, .module = module,
						.offset = offset };
	f->function[f->n] = (struct budget_function){ 0 };
	take_place(f, f->n);
	return f->n++;
}

/* ---- spans ---- */

void budget_functions_turn(struct budget_functions *f, uint32_t i,
			   enum verdict verdict, uint64_t now)
{
	struct budget_known *const k = &f->known[i];
	struct budget_span *const last = k->spans == 0 ? NULL :
		&k->span[(k->spans - 1) % BUDGET_SPANS];

	if (last && last->to == UINT64_MAX)
		last->to = now;
	if (verdict == VERDICT_RECORD)
		return;
	if (!last)
		f->spanned[f->spanned_n++] = i;
	k->span[k->spans++ % BUDGET_SPANS] =
		(struct budget_span){ now, UINT64_MAX, verdict };
}

const struct budget_span *budget_known_span(const struct budget_known *k,
					    enum verdict verdict,
					    uint64_t from, uint64_t to)
{
	const struct budget_span *first = NULL;

	for (uint32_t i = 0; i < BUDGET_SPANS; i++) {
		const struct budget_span *const s = &k->span[i];

		if (s->verdict == verdict && s->to > from && s->from < to &&
		    (!first || s->from < first->from))
			first = s;
	}
	return first;
}
