/* export_spans.c - names and numbers of spans and tracks. A trace may have a
 * million functions and show ten, so names are numbered as they are used.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export_spans.h"

#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/out/out_number.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_json.h"

#include <inttypes.h>
#include <string.h>

/* How a function's name is shown. Without a function: that of mixed calls, of
 * the run of a coroutine without a body, and of missing records. */
enum form { PLAIN, DEEP, RUN, FORMS };

enum { MADE_UP = 1000000000 };

/* ---- names ---- */

static uint32_t form_of(const struct span *s)
{
	return s->kind == SPAN_RUN ? RUN : s->kind == SPAN_MISSING ||
	       (s->flags & SPAN_DEEP && span_func(s) != 0) ? DEEP : PLAIN;
}

static size_t key_of(const struct span *s)
{
	return (size_t)span_func(s) * FORMS + form_of(s);
}

uint32_t export_spans_name(const struct export_spans *t,
			      const struct span *s)
{
	return t->number_of[key_of(s)] - 1;
}

static void number_names(struct export_spans *t)
{
	const size_t funcs = func_count(t->session->funcs) + 1;

	t->number_of = mem_alloc(funcs * FORMS * sizeof(*t->number_of));
	for (size_t i = 0; i < t->found->count; i++) {
		const struct track *const k = &t->found->tracks[i];

		for (size_t j = 0; j < k->count; j++) {
			const struct span *const s = &k->spans[j];
			uint32_t *const number = &t->number_of[key_of(s)];

			if (*number != 0)
				continue;
			*vec_add(&t->name, &t->name_room, &t->names) =
				(struct shown_name){ span_func(s), form_of(s) };
			*number = (uint32_t)t->names;
		}
	}
}

/* A name that is no function's. */
static const char *special(uint32_t form)
{
	return form == PLAIN ? "(short calls)" :
	       form == RUN ? "~" : "(records missing)";
}

/* What the form and the language add to a function's name. */
char *export_spans_text(const struct export_spans *t, uint32_t name)
{
	const struct shown_name *const n = &t->name[name];
	const struct func *const f = func_get(t->session->funcs, n->func);
	char *const safe = out_escape_terminal(f->name);
	const size_t size = strlen(safe) + 32;
	char *const text = mem_alloc(size);

	snprintf(text, size, "%s%s%s%s", n->form == RUN ? "~" : "", safe,
		 !strcmp(func_language(f), "lua") ? " [lua]" : "",
		 n->form == DEEP ? " (with callees)" : "");
	if (n->func == 0)
		snprintf(text, size, "%s", special(n->form));
	mem_free(safe);
	return text;
}

static char *quote(const struct export_spans *t, uint32_t name)
{
	char *const text = export_spans_text(t, name);
	struct mem_stream s;

	mem_stream_begin(&s);
	out_json_text(s.to, text);
	mem_free(text);
	return mem_stream_end(&s);
}

const char *export_spans_json(const struct export_spans *t,
				 uint32_t name)
{
	return t->quoted[name];
}

func_id export_spans_func(const struct export_spans *t, uint32_t name)
{
	return t->name[name].func;
}

const char *export_spans_category(const struct export_spans *t,
				     uint32_t name)
{
	const struct shown_name *const n = &t->name[name];

	if (n->form == RUN)
		return "run";
	if (n->func == 0)
		return n->form == PLAIN ? "folded" : "missing";
	return n->form == DEEP ? "folded" :
	       func_language(func_get(t->session->funcs, n->func));
}

/* ---- tracks ---- */

void export_spans_walk(const struct track *k, export_spans_fn fn, void *ctx)
{
	const struct span **open = NULL;
	size_t depth = 0, room = 0;

	for (size_t i = 0; i < k->count; i++) {
		while (depth > k->spans[i].depth)
			fn(ctx, open[--depth], true);
		vec_need(&open, &room, depth + 1);
		open[depth++] = &k->spans[i];
		fn(ctx, &k->spans[i], false);
	}
	while (depth > 0)
		fn(ctx, open[--depth], true);
	mem_free(open);
}

/* The number, or a made-up one if it was given before. */
static uint32_t once(struct map *used, uint64_t of, uint32_t number,
		     size_t index)
{
	uint32_t *const is_used = map_put(used, of, number);

	if (number < MADE_UP && *is_used == 0) {
		*is_used = 1;
		return number;
	}
	return MADE_UP + (uint32_t)index;
}

static void number_tracks(struct export_spans *t)
{
	const struct session *const s = t->session;
	const size_t processes = s->process_count;
	struct map *const used = map_new();

	t->pid = mem_alloc((processes + 1) * sizeof(*t->pid));
	t->tid = mem_alloc((t->found->count + 1) * sizeof(*t->tid));
	for (size_t i = 0; i < processes; i++)
		t->pid[i] = once(used, UINT64_MAX, s->processes[i].pid, i);
	for (size_t i = 0; i < t->found->count; i++) {
		const struct track *const k = &t->found->tracks[i];
		const bool is_thread = k->coroutine == 0 && k->level == 0 &&
				       k->thread < s->thread_count;

		t->tid[i] = once(used, k->process, is_thread ?
				 s->threads[k->thread].tid : MADE_UP, i);
	}
	map_free(used);
}

uint32_t export_spans_pid(const struct export_spans *t, uint32_t process)
{
	return process < t->session->process_count ? t->pid[process] : 0;
}

uint32_t export_spans_tid(const struct export_spans *t, size_t track)
{
	return t->tid[track];
}

/* What the coroutine began with. The session has it if no more of the trace
 * came since it was read. */
static const struct func *body_of(const struct export_spans *t,
				  const struct track *k)
{
	const uint32_t i = map_find(t->coroutine_of, k->process, k->coroutine);
	const func_id body = i ? t->session->coroutines[i - 1].body : 0;

	return body ? func_get(t->session->funcs, body) : NULL;
}

const char *export_spans_track(const struct export_spans *t, size_t track,
				  char *to)
{
	const struct track *const k = &t->found->tracks[track];
	char name[GROUP_NAME] = "thread";

	if (k->coroutine != 0) {
		const struct func *const body = body_of(t, k);

		snprintf(to, GROUP_NAME, "coroutine %" PRIu64 "%s%s",
			 k->coroutine, body ? " of " : "",
			 body ? body->name : "");
		return to;
	}
	if (k->thread < t->session->thread_count)
		group_name_thread(t->session, k->thread, name);
	snprintf(to, GROUP_NAME, "%.*s%s", GROUP_NAME - 32, name,
		 k->level > 0 ? ", in signal handlers" : "");
	return to;
}

/* ---- the whole ---- */

uint64_t export_spans_ns(const struct export_spans *t, ticks at)
{
	return at <= t->first ? 0 : session_ns(t->session, at - t->first);
}

char *export_spans_title(const struct export_spans *t)
{
	const char *const command = session_note(t->session, "command");
	const size_t size = strlen(command ? command : "") + 256;
	char *const title = mem_alloc(size);
	char calls[OUT_NUMBER];

	snprintf(title, size, "%s%s", command ? command : "weft",
		 session_complete(t->session) ? "" : " (records are missing)");
	if (t->found->folded > 0)
		text_addf(title, size, " (%s shorter than %" PRIu64 " ns "
			  "folded)",
			  out_number_many(calls, t->found->folded, "calls"),
			  session_ns(t->session, t->found->below));
	return title;
}

void export_spans_init(struct export_spans *t,
			  const struct export_from *from)
{
	struct session *const s = from->session;

	*t = (struct export_spans){ .session = s, .found = from->chronicle,
				       .first = session_first_tick(s) };
	t->coroutine_of = map_new();
	for (size_t i = 0; i < s->coroutine_count; i++)
		*map_put(t->coroutine_of, s->coroutines[i].process,
			 s->coroutines[i].serial) = (uint32_t)i + 1;
	number_names(t);
	number_tracks(t);
	t->quoted = mem_alloc((t->names + 1) * sizeof(*t->quoted));
	for (uint32_t i = 0; i < t->names; i++)
		t->quoted[i] = quote(t, i);
}

void export_spans_fini(struct export_spans *t)
{
	for (size_t i = 0; i < t->names; i++)
		mem_free(t->quoted[i]);
	mem_free(t->quoted);
	mem_free(t->name);
	mem_free(t->number_of);
	map_free(t->coroutine_of);
	mem_free(t->pid);
	mem_free(t->tid);
}
