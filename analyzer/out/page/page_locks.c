/* page_locks.c - see the header. SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_locks.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/out/out_json.h"

#include <inttypes.h>

/* Of each object, the stacks that matter most; of each, the innermost
 * functions. */
enum { STACKS = 20, FRAMES = 100 };
/* If an object has more waits, none of them is in the page by itself. */
enum { MOST_WAITS = 2000 };

static ticks longest_began(const struct waits *w, const struct locks_object *o)
{
	for (size_t i = o->span; i < o->span + o->spans; i++)
		if (w->spans[i].end - w->spans[i].begin == o->longest)
			return w->spans[i].begin;
	return 0;
}

static void put_stack(FILE *to, const struct waits *w,
		      const struct locks_stack *k)
{
	stack_id at = k->stack;

	fprintf(to, "[\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",[", locks_role_name(k->role), k->waiting, k->held, k->longest,
		k->count);
	for (int i = 0; at != 0 && i < FRAMES; i++) {
		const struct stack_frame *const e = stack_table_get(w->stacks,
								    at);

		fprintf(to, i > 0 ? ",%" PRIu32 : "%" PRIu32, e->func);
		at = e->below;
	}
	fputs("]]", to);
}

static void put_waits(FILE *to, const struct waits *w,
		      const struct locks_object *o, ticks first)
{
	const size_t count = o->spans > MOST_WAITS ? 0 : o->spans;

	for (size_t i = o->span; i < o->span + count; i++) {
		const struct waits_span *const s = &w->spans[i];

		fprintf(to, "%s%" PRIu64 ",%" PRIu64, i > o->span ? "," : "",
			s->begin - MIN(s->begin, first), s->end - s->begin);
	}
}

static void put_object(FILE *to, const struct page_locks *l,
		       const struct session *s, const struct locks_object *o,
		       ticks first)
{
	const ticks began = longest_began(l->waits, o);
	size_t count;
	struct locks_stack *const list = locks_stacks(l->waits, o, &count);
	size_t waits = 0, others = 0;
	char room[24];
	const char *between = "";

	fprintf(to, "[\"%s\",", waits_kind_name(o->of.kind));
	out_json_text(to, waits_name(s, &o->of, room));
	fprintf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",[", o->waiting, o->held, o->waits, o->longest,
		o->most, began < first ? 0 : began - first);
	for (size_t i = 0; i < count; i++) {
		if ((list[i].role == LOCKS_WAITS ? waits++ : others++) >=
		    STACKS)
			continue;
		fputs(between, to);
		put_stack(to, l->waits, &list[i]);
		between = ",";
	}
	fputs("],[", to);
	put_waits(to, l->waits, o, first);
	fputs("]]", to);
	mem_free(list);
}

void page_locks_put(FILE *to, const struct page_locks *l,
		    const struct session *s, size_t most, ticks first)
{
	putc('[', to);
	for (size_t i = 0; i < most && i < l->count; i++) {
		fputs(i > 0 ? ",\n" : "", to);
		put_object(to, l, s, &l->list[i], first);
	}
	putc(']', to);
}
