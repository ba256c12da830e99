/* mark_range.c - from marks to a range of time. A recording with a title lasts from
 * a mark "weft.start TITLE" to the next mark "weft.stop TITLE".
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/mark_range.h"

#include "analyzer/base/err.h"
#include "analyzer/base/vec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind { SINCE, UNTIL, START, STOP };

struct mark { ticks tick; enum kind kind; };

struct mark_range {
	struct mark_range_wanted wanted;
	size_t title;           /* the length of the recording's title */
	size_t nth;             /* the recording that is meant; 0: the last */
	struct mark *mark;
	size_t count, room;
};

/* TITLE or TITLE#N. A title that itself ends in #N needs a number after it. */
static void read_title(struct mark_range *m, const char *text)
{
	const char *const hash = strrchr(text, '#');
	char *end;

	m->title = strlen(text);
	if (!hash || hash[1] < '1' || hash[1] > '9')
		return;
	m->nth = strtoul(hash + 1, &end, 10);
	if (*end)
		m->nth = 0;
	else
		m->title = (size_t)(hash - text);
}

struct mark_range *mark_range_new(const struct mark_range_wanted *wanted)
{
	struct mark_range *const m = mem_alloc(sizeof(*m));

	m->wanted = *wanted;
	if (wanted->recording)
		read_title(m, wanted->recording);
	return m;
}

void mark_range_free(struct mark_range *m)
{
	if (m)
		mem_free(m->mark);
	mem_free(m);
}

static void add(struct mark_range *m, ticks tick, enum kind kind)
{
	*vec_add(&m->mark, &m->room, &m->count) = (struct mark){ tick, kind };
}

/* Is the name `prefix` followed by the wanted title? */
static bool is_title(const struct mark_range *m, const char *name,
		     const char *prefix)
{
	const char *const wanted = m->wanted.recording;
	const size_t n = strlen(prefix);

	return wanted && strncmp(name, prefix, n) == 0 &&
	       strncmp(name + n, wanted, m->title) == 0 &&
	       !name[n + m->title];
}

static bool is_named(const char *name, const char *wanted)
{
	return wanted && strcmp(name, wanted) == 0;
}

void mark_range_see(struct mark_range *m, const char *name, ticks tick)
{
	if (is_title(m, name, "weft.start "))
		add(m, tick, START);
	else if (is_title(m, name, "weft.stop "))
		add(m, tick, STOP);
	if (is_named(name, m->wanted.since))
		add(m, tick, SINCE);
	if (is_named(name, m->wanted.until))
		add(m, tick, UNTIL);
}

/* ---- ranges ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct mark *const x = a, *const y = b;

	return (x->tick > y->tick) - (x->tick < y->tick);
}

/* The start that is meant, and the stop that follows it. */
static int find_recording(const struct mark_range *m, ticks *from, ticks *to)
{
	const char *const wanted = m->wanted.recording;
	size_t starts = 0, at = m->count;

	for (size_t i = 0; i < m->count; i++) {
		if (m->mark[i].kind != START)
			continue;
		starts++;
		if (m->nth == 0 || starts == m->nth)
			at = i;
	}
	if (starts == 0)
		return err_add("no recording was started with the title \"%s\"",
			       wanted);
	if (at == m->count)
		return err_add("\"%s\": a recording with this title was "
			       "started only %zu times", wanted, starts);
	*from = m->mark[at].tick;
	for (*to = 0; at < m->count && *to == 0; at++)
		if (m->mark[at].kind == STOP)
			*to = m->mark[at].tick;
	return 0;
}

static int find_last(const struct mark_range *m, enum kind kind, const char *name,
		     ticks *at)
{
	for (size_t i = m->count; i > 0; i--)
		if (m->mark[i - 1].kind == kind) {
			*at = m->mark[i - 1].tick;
			return 0;
		}
	return err_add("the trace has no mark \"%s\"; \"weft dump\" shows all "
		       "marks", name);
}

static void cut(ticks *from, ticks *to, ticks begin, ticks end)
{
	if (begin > *from)
		*from = begin;
	if (end != 0 && (*to == 0 || end < *to))
		*to = end;
}

int mark_range_get(struct mark_range *m, ticks *from, ticks *to)
{
	const struct mark_range_wanted *const w = &m->wanted;
	ticks begin = 0, end = 0, since = 0, until = 0;

	if (m->count > 0)
		qsort(m->mark, m->count, sizeof(*m->mark), compare);
	if ((w->recording && find_recording(m, &begin, &end) != 0) ||
	    (w->since && find_last(m, SINCE, w->since, &since) != 0) ||
	    (w->until && find_last(m, UNTIL, w->until, &until) != 0))
		return -1;
	cut(from, to, begin, end);
	cut(from, to, since, until);
	return 0;
}
