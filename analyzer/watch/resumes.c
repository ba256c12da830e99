/* resumes.c - a map from who resumes whom to rows. Its keys are two numbers,
 * and these are three: resumers get numbers of their own first.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/resumes.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

struct resumes {
	struct map *resumers;    /* process and by: a number from 1 on */
	struct map *known;       /* coroutine and that number: row + 1 */
	struct resumes_row *rows;
	size_t count, room;
};

struct resumes *resumes_new(void)
{
	struct resumes *const r = mem_alloc(sizeof(*r));

	r->resumers = map_new();
	r->known = map_new();
	return r;
}

void resumes_free(struct resumes *r)
{
	if (!r)
		return;
	map_free(r->resumers);
	map_free(r->known);
	mem_free_all(r->rows, r);
}

static struct resumes_row *row_of(struct resumes *r,
				  const struct replay_event *e)
{
	uint32_t *const resumer = map_put(r->resumers, e->process, e->in);
	uint32_t *at;

	if (*resumer == 0)
		*resumer = (uint32_t)map_count(r->resumers);
	at = map_put(r->known, e->coroutine, *resumer);
	if (*at == 0) {
		*vec_add(&r->rows, &r->room, &r->count) =
			(struct resumes_row){
				.process = e->process, .by = e->in,
				.coroutine = e->coroutine, .first = e->tick };
		*at = (uint32_t)r->count;
	}
	return &r->rows[*at - 1];
}

void resumes_add(struct resumes *r, const struct replay_event *e)
{
	struct resumes_row *const row = row_of(r, e);

	row->resumes++;
	row->inferred += e->inferred;
	row->first = MIN(e->tick, row->first);
	row->last = MAX(e->tick, row->last);
	row->slept += e->slept;
	row->longest = MAX(e->slept, row->longest);
}

ORDER_BY(compare, struct resumes_row, UP(process) ?: UP(coroutine) ?: UP(by))

const struct resumes_row *resumes_rows(struct resumes *r, size_t *count)
{
	order_sort(r->rows, r->count, compare);
	*count = r->count;
	return r->rows;
}
