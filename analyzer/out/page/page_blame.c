/* page_blame.c - see the header. Bounded, as lanes can hide what is too much.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_blame.h"

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_json.h"

#include <inttypes.h>

enum { MOST_WAITS = 2000, MOST_STEPS = 5000, NAME = 200 };

struct blame {
	FILE *to;
	const struct page *page;
	const uint32_t *number;
	struct map *tracks;
};

static uint32_t lane_of(const struct blame *b, const struct path_who *who)
{
	const uint32_t track = path_track(b->tracks, who);

	return track == TRACK_NONE ? 0 : b->number[track];
}

static uint32_t thread_lane(const struct blame *b, uint32_t thread)
{
	return lane_of(b, &(struct path_who){ true, 0, thread, 0 });
}

static ticks since(const struct blame *b, ticks at)
{
	return at - MIN(at, b->page->moments->from);
}

/* ---- who held what ------------------------------------------------------- */

ORDER_BY(by_length, struct waits_span *,
	 ORDER((*y)->end - (*y)->begin, (*x)->end - (*x)->begin) ?:
	 ORDER((*x)->begin, (*y)->begin))

static void put_name(const struct blame *b, const struct waits_span *w)
{
	char room[24];
	char *const name = out_escape_cut_name(out_escape_terminal(
		waits_name(b->page->session, &w->of, room)), NAME);
	char *const text = mem_print("%s %s", waits_kind_name(w->of.kind),
				     name);

	out_json_text(b->to, text);
	mem_free_all(name, text);
}

/* False: nobody is known to have held it who has a lane. */
static bool put_wait(const struct blame *b, const struct waits_span *w,
		     const char *between)
{
	const struct locks_turn t = locks_turn_in(b->page->locks->waits, w);
	const uint32_t lane = thread_lane(b, w->thread);
	uint32_t thread = t.end ? t.end->thread : 0, holder;

	if (!t.end && !waits_owner(b->page->session, w, &thread))
		return false;
	holder = thread_lane(b, thread);
	if (lane == 0 || holder == 0 || holder == lane)
		return false;
	fprintf(b->to, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%"
		PRIu64 ",", between, lane, since(b, w->begin),
		w->end - w->begin, holder,
		since(b, t.end ? t.end->at : w->end));
	put_name(b, w);
	putc(']', b->to);
	return true;
}

static void put_waits(const struct blame *b, const struct waits *w)
{
	const struct waits_span **const all =
		mem_alloc((w->span_count + 1) * sizeof(*all));
	const char *between = "";

	for (size_t i = 0; i < w->span_count; i++)
		all[i] = &w->spans[i];
	order_sort(all, w->span_count, by_length);
	fputs(",\n\"holds\":[", b->to);
	for (size_t i = 0; i < w->span_count && i < MOST_WAITS; i++)
		if (put_wait(b, all[i], between))
			between = ",\n";
	putc(']', b->to);
	mem_free((void *)all);
}

/* ---- the path of a request ----------------------------------------------- */

static void put_path(const struct blame *b, const struct page_path *p)
{
	const struct stack_table *const stacks =
		b->page->locks->waits->stacks;

	fprintf(b->to, ",\n\"path\":{\"func\":%" PRIu32 ",\"coroutine\":%"
		PRIu64 ",\"steps\":[", p->func, p->who.coroutine);
	for (size_t i = 0; i < p->count && i < MOST_STEPS; i++) {
		const struct path_step *const s = &p->steps[i];
		const func_id func = s->kind == PATH_WAITS && s->of.place ?
			s->of.place : s->stack == 0 ? 0 :
			stack_table_get(stacks, s->stack)->func;

		fprintf(b->to, "%s[%" PRIu64 ",%" PRIu64 ",%d,%" PRIu32 ",%"
			PRIu32 "]", i > 0 ? ",\n" : "", since(b, s->begin),
			s->end - s->begin, (int)s->kind, func,
			lane_of(b, &s->by));
	}
	fputs("]}", b->to);
}

void page_blame_put(FILE *to, const struct page *page, const uint32_t *number)
{
	struct blame b = { to, page, number, path_tracks(page->moments) };

	if (page->locks)
		put_waits(&b, page->locks->waits);
	if (page->locks && page->path && page->path->count > 0)
		put_path(&b, page->path);
	map_free(b.tracks);
}
