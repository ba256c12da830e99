/* marks.c - from marks to a span of time. A recording with a title runs from a
 * mark "weft.start TITLE" to the next "weft.stop TITLE".
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/marks.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *arg_recording, *arg_since, *arg_until;

const struct opt marks_opts[] = {
	{ .type = OPT_TEXT, .name = "recording", .arg = "TITLE",
	  .to = &arg_recording, .help = "only what happened between "
	  "weft_start and weft_stop with this title; the last time of "
	  "several, TITLE#2 the second" },
	{ .type = OPT_TEXT, .name = "since-mark", .arg = "NAME",
	  .to = &arg_since, .help = "only what happened after the last mark "
	  "of this name" },
	{ .type = OPT_TEXT, .name = "until-mark", .arg = "NAME",
	  .to = &arg_until, .help = "only what happened before the last mark "
	  "of this name" },
	{ .type = OPT_END }
};

enum kind { SINCE, UNTIL, START, STOP };

struct seen { ticks tick; enum kind kind; };

struct marks_seen { struct seen *mark; size_t count, room; };

int marks_are_asked_for(void)
{
	return arg_recording || arg_since ||
	       arg_until != NULL;
}

const char *marks_recording(void)
{
	return arg_recording;
}

const char *marks_since(void)
{
	return arg_since;
}

const char *marks_until(void)
{
	return arg_until;
}

struct marks marks_new(struct session *s)
{
	struct marks_seen *const seen = mem_alloc(sizeof(*seen));

	return (struct marks){ s, seen };
}

void marks_free(struct marks *m)
{
	mem_free(m->seen->mark);
	mem_free(m->seen);
}

static void add(struct marks_seen *m, ticks tick, enum kind kind)
{
	if (m->count == m->room) {
		m->room = m->room == 0 ? 16 : 2 * m->room;
		m->mark = mem_grow(m->mark, m->room, sizeof(*m->mark));
	}
	m->mark[m->count++] = (struct seen){ tick, kind };
}

/* TITLE or TITLE#N: the length of TITLE, and N, 0 if there is none. A title may
 * end like that itself; then it wants a number. */
static size_t title(size_t *nth)
{
	const char *const hash = strrchr(arg_recording, '#');
	char *end;

	*nth = 0;
	if (hash && hash[1] >= '1' && hash[1] <= '9') {
		*nth = strtoul(hash + 1, &end, 10);
		if (*end == '\0')
			return (size_t)(hash - arg_recording);
		*nth = 0;
	}
	return strlen(arg_recording);
}

static int is_title(const char *name, const char *what)
{
	const size_t n = strlen(what);
	size_t nth;
	const size_t length = !arg_recording ? 0 : title(&nth);

	return arg_recording && strncmp(name, what, n) == 0 &&
	       strncmp(name + n, arg_recording, length) == 0 &&
	       name[n + length] == '\0';
}

void marks_see(void *ctx, const struct replay_event *e)
{
	const struct marks *const m = ctx;
	const char *const name = func_get(m->session->funcs, e->func)->name;

	if (is_title(name, "weft.start "))
		add(m->seen, e->tick, START);
	else if (is_title(name, "weft.stop "))
		add(m->seen, e->tick, STOP);
	if (arg_since && strcmp(name, arg_since) == 0)
		add(m->seen, e->tick, SINCE);
	if (arg_until && strcmp(name, arg_until) == 0)
		add(m->seen, e->tick, UNTIL);
}

static int compare(const void *a, const void *b)
{
	const struct seen *const x = a, *const y = b;

	return (x->tick > y->tick) - (x->tick < y->tick);
}

/* The nth start (0: the last), and the stop that follows it. */
static int find_recording(const struct marks_seen *m, ticks *from, ticks *to)
{
	size_t nth, starts = 0, at = m->count;

	title(&nth);
	for (size_t i = 0; i < m->count; i++) {
		if (m->mark[i].kind != START)
			continue;
		starts++;
		if (nth == 0 || starts == nth)
			at = i;
	}
	if (at == m->count)
		return starts == 0 ?
			err_add("no recording of that title was started: "
				"\"%s\"", arg_recording) :
			err_add("\"%s\": it was started %zu times",
				arg_recording, starts);
	*from = m->mark[at].tick;
	for (*to = 0; at < m->count && *to == 0; at++)
		if (m->mark[at].kind == STOP)
			*to = m->mark[at].tick;
	return 0;
}

static int find_last(const struct marks_seen *m, enum kind kind,
		     const char *name, ticks *at)
{
	for (size_t i = m->count; i > 0; i--) {
		if (m->mark[i - 1].kind == kind) {
			*at = m->mark[i - 1].tick;
			return 0;
		}
	}
	return err_add("no mark of that name was left: \"%s\"", name);
}

static void cut(ticks *from, ticks *to, ticks begin, ticks end)
{
	if (begin > *from)
		*from = begin;
	if (end != 0 && (*to == 0 || end < *to))
		*to = end;
}

int marks_range(const struct marks *m, ticks *from, ticks *to)
{
	ticks begin = 0, end = 0;

	if (m->seen->count > 0)
		qsort(m->seen->mark, m->seen->count, sizeof(struct seen),
		      compare);
	if (arg_recording) {
		if (find_recording(m->seen, &begin, &end) != 0)
			return -1;
		cut(from, to, begin, end);
	}
	if (arg_since) {
		if (find_last(m->seen, SINCE, arg_since, &begin) != 0)
			return -1;
		cut(from, to, begin, 0);
	}
	if (arg_until) {
		if (find_last(m->seen, UNTIL, arg_until, &end) != 0)
			return -1;
		cut(from, to, 0, end);
	}
	return 0;
}
