/* session.c - a session's life, its clock, and whether anything is missing.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/session.h"
#include "analyzer/base/mem.h"

#include <string.h>

enum { DEFAULT_NODES = 1 << 20 };

#define NS_PER_S UINT64_C(1000000000)

struct session *session_new(size_t max_nodes)
{
	struct session *const s = mem_alloc(sizeof(*s));

	s->funcs = func_table_new();
	s->cct = cct_new(max_nodes ? max_nodes : DEFAULT_NODES);
	cct_set_deeper(s->cct, func_special(s->funcs, "(deeper)"));
	s->tick_hz = NS_PER_S;
	s->hz_error = UINT64_MAX;
	s->text = arena_new();
	return s;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	func_table_free(s->funcs);
	cct_free(s->cct);
	arena_free(s->text);
	mem_free(s->processes);
	mem_free(s->threads);
	mem_free(s->coroutines);
	mem_free(s->vms);
	mem_free(s->notes);
	mem_free(s->labels);
	mem_free(s->parts);
	mem_free(s->statistics);
	mem_free(s->edges);
	mem_free(s->namings);
	mem_free(s);
}

void session_set_clock(struct session *s, const struct chunk_header *h)
{
	if (!s->base_mono && h->pair_mono) {
		s->base_tick = h->pair_tick;
		s->base_mono = h->pair_mono;
		s->base_real = h->pair_real;
	}
	if (h->tick_hz && h->tick_hz_error <= s->hz_error) {
		s->tick_hz = h->tick_hz;
		s->hz_error = h->tick_hz_error;
	}
}

uint64_t session_ns(const struct session *s, ticks t)
{
	const uint64_t hz = s->tick_hz;

	/* Whole seconds first: what is left over times 10^9 fits 64 bits as
	 * long as hz does not exceed 10^9; a faster clock needs 128. */
	return t / hz * NS_PER_S +
	       (uint64_t)(((unsigned __int128)(t % hz) * NS_PER_S + hz / 2) /
			  hz);
}

uint64_t session_mono(const struct session *s, ticks t)
{
	return t >= s->base_tick ?
		s->base_mono + session_ns(s, t - s->base_tick) :
		s->base_mono - session_ns(s, s->base_tick - t);
}

uint64_t session_real(const struct session *s, ticks t)
{
	return session_mono(s, t) - s->base_mono + s->base_real;
}

const char *session_note(const struct session *s, const char *key)
{
	const char *value = NULL;

	for (size_t i = 0; i < s->note_count; i++)
		if (!strcmp(s->notes[i].key, key))
			value = s->notes[i].value;
	return value;
}

ticks session_first_tick(const struct session *s)
{
	ticks first = UINT64_MAX;

	for (size_t i = 0; i < s->thread_count; i++)
		if (s->threads[i].first < first)
			first = s->threads[i].first;
	return first == UINT64_MAX ? s->base_tick : first;
}

uint64_t session_duration(const struct session *s)
{
	ticks first = UINT64_MAX, last = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < s->part_count; i++)
		sum += s->parts[i].duration;
	if (s->part_count > 0)
		return sum;
	for (size_t i = 0; i < s->thread_count; i++) {
		if (s->threads[i].first < first)
			first = s->threads[i].first;
		if (s->threads[i].last > last)
			last = s->threads[i].last;
	}
	return last > first ? session_ns(s, last - first) : 0;
}

/* A gap that began nobody knows when is the longest of all. */
static ticks gap_length(const struct gap *g)
{
	return g->from ? g->to - g->from : UINT64_MAX;
}

void session_add_gap(struct session *s, const struct gap *g)
{
	size_t i;

	s->gap_total++;
	if (g->from)
		s->threads[g->thread].missing += g->to - g->from;
	else
		s->threads[g->thread].headless = 1;
	if (s->gap_count == SESSION_GAPS &&
	    gap_length(g) <= gap_length(&s->gaps[SESSION_GAPS - 1]))
		return;
	if (s->gap_count < SESSION_GAPS)
		s->gap_count++;
	for (i = s->gap_count - 1; i > 0 &&
	     gap_length(&s->gaps[i - 1]) < gap_length(g); i--)
		s->gaps[i] = s->gaps[i - 1];
	s->gaps[i] = *g;
}

static int thread_complete(const struct thread *t)
{
	for (int i = 0; i < LOST_REASONS; i++)
		if (t->lost[i])
			return 0;
	return t->missing_chunks == 0 && t->unnested == 0;
}

static int notes_complete(const struct session *s)
{
	const char *const complete = session_note(s, "complete");

	if (complete && strcmp(complete, "yes") != 0)
		return 0;
	for (size_t i = 0; i < s->note_count; i++)
		if (!strncmp(s->notes[i].key, "lost.", 5) &&
		    strcmp(s->notes[i].value, "0") != 0)
			return 0;
	return 1;
}

int session_complete(const struct session *s)
{
	if (s->bad_chunks || s->unnested || cct_deeper(s->cct))
		return 0;
	for (size_t i = 0; i < s->thread_count; i++)
		if (!thread_complete(&s->threads[i]))
			return 0;
	return notes_complete(s);
}
