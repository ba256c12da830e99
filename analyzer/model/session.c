/* session.c - a session's life, its clock, its gaps, and the labels of its
 * processes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/session.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <assert.h>
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
	mem_free_all(s->processes, s->threads, s->coroutines, s->vms, s->notes,
		     s->labels, s->parts, s->statistics, s->edges, s->namings,
		     s->places, s->lines, s->reference.at);
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

	/* Whole seconds first: what is left over times 10^9 fits 64 bits below
	 * 2^34 Hz; a faster clock needs 128. */
	if (hz < UINT64_C(1) << 34)
		return t / hz * NS_PER_S + (t % hz * NS_PER_S + hz / 2) / hz;
	return t / hz * NS_PER_S +
	       (uint64_t)(((unsigned __int128)(t % hz) * NS_PER_S + hz / 2) /
			  hz);
}

/* A clock slower than 1 ns makes more ns of its ticks. */
uint64_t session_largest_sum(const struct session *s)
{
	const uint64_t sum = cct_largest_sum(s->cct);
	const double ns = (double)sum / (double)s->tick_hz * (double)NS_PER_S;

	return ns < (double)sum ? sum :
	       ns < (double)SESSION_SUM_MAX ? (uint64_t)ns : UINT64_MAX;
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

uint64_t session_noted(const struct session *s, const char *key)
{
	const char *const value = session_note(s, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

uint64_t session_lost_threads(const struct session *s)
{
	/* Threads without a place may have got one later. */
	return session_noted(s, "lost.unheard");
}

ticks session_first_tick(const struct session *s)
{
	ticks first = UINT64_MAX;

	for (size_t i = 0; i < s->thread_count; i++)
		first = MIN(s->threads[i].first, first);
	return first == UINT64_MAX ? s->base_tick : first;
}

ticks session_last_tick(const struct session *s)
{
	ticks last = session_first_tick(s);

	for (size_t i = 0; i < s->thread_count; i++)
		last = MAX(s->threads[i].last, last);
	return last;
}

uint64_t session_duration(const struct session *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->part_count; i++)
		sum += s->parts[i].duration;
	if (s->part_count > 0)
		return sum;
	return session_ns(s, session_last_tick(s) - session_first_tick(s));
}

void session_add_sums(struct session *to, const struct session *from)
{
	to->chunks += from->chunks;
	to->records += from->records;
	to->calls += from->calls;
	to->words += from->words;
	to->duplicate_chunks += from->duplicate_chunks;
	to->counted += from->counted;
	to->bad_chunks += from->bad_chunks;
	to->unnested += from->unnested;
}

/* A gap whose beginning is not known counts as the longest. */
static ticks gap_length(const struct gap *g)
{
	return g->from ? g->to - g->from : UINT64_MAX;
}

/* The order in which gaps are kept: the longest first, then by where they are,
 * so that it does not matter which thread is replayed first. */
static bool is_before(const struct gap *a, const struct gap *b)
{
	const ticks x = gap_length(a), y = gap_length(b);

	if (x != y)
		return x > y;
	return a->thread != b->thread ? a->thread < b->thread : a->to < b->to;
}

uint32_t session_place(struct session *s, struct map *of, size_t *room,
		       elf_id module, uint64_t offset)
{
	uint32_t *const known = map_put(of, module, offset);

	if (*known == 0) {
		*vec_add(&s->places, room, &s->place_count) =
			(struct code_place){ .module = module,
					     .offset = offset };
		*known = (uint32_t)s->place_count;
	}
	return *known - 1;
}

void session_note_line(struct session *s, struct map *of, size_t *room,
		       const struct noted_line *add)
{
	uint32_t *const known = map_put(of, add->func,
		(uint64_t)add->why << 32 | add->line);

	if (*known == 0) {
		*vec_add(&s->lines, room, &s->line_count) = *add;
		*known = (uint32_t)s->line_count;
		return;
	}
	s->lines[*known - 1].notes += add->notes;
	s->lines[*known - 1].ns += add->ns;
}

void session_take_reference(struct session *s, struct session *from)
{
	struct reference *const r = &s->reference;

	mem_free(r->at);
	*r = from->reference;
	from->reference = (struct reference){ 0 };
	for (size_t i = 0; i < r->count; i++) {
		const struct elf_module *const m =
			func_elf(from->funcs, r->at[i].module);

		if (r->at[i].module)
			r->at[i].module = func_module(s->funcs, m->path,
				m->build_id, m->build_id_size, m->size);
	}
}

void session_keep_gap(struct session *s, const struct gap *g)
{
	size_t i;

	if (s->gap_count == SESSION_GAPS &&
	    !is_before(g, &s->gaps[SESSION_GAPS - 1]))
		return;
	if (s->gap_count < SESSION_GAPS)
		s->gap_count++;
	for (i = s->gap_count - 1; i > 0 && is_before(g, &s->gaps[i - 1]); i--)
		s->gaps[i] = s->gaps[i - 1];
	s->gaps[i] = *g;
}

void session_add_gap(struct session *s, const struct gap *g)
{
	assert(g->thread < s->thread_count && g->from <= g->to);
	s->gap_total++;
	if (g->from)
		s->threads[g->thread].missing += g->to - g->from;
	else
		s->threads[g->thread].headless = 1;
	session_keep_gap(s, g);
}

static bool thread_complete(const struct thread *t)
{
	for (int i = 0; i < LOST_REASONS; i++)
		if (t->lost[i])
			return false;
	return t->missing_chunks == 0 && t->unnested == 0;
}

/* Does the recorder say that it delivered everything? */
static bool notes_complete(const struct session *s)
{
	const char *const complete = session_note(s, "complete");

	if (complete && strcmp(complete, "yes") != 0)
		return false;
	for (size_t i = 0; i < s->note_count; i++)
		if (!strncmp(s->notes[i].key, "lost.", 5) &&
		    strcmp(s->notes[i].value, "0") != 0)
			return false;
	return true;
}

bool session_complete(const struct session *s)
{
	if (s->bad_chunks || s->unnested)
		return false;
	for (size_t i = 0; i < s->thread_count; i++)
		if (!thread_complete(&s->threads[i]))
			return false;
	return notes_complete(s);
}

uint32_t session_body_vm(const struct session *s, uint32_t flags)
{
	const uint32_t of = flags >> CCT_OF_SHIFT;
	const uint32_t co = of & ~SESSION_OF_COROUTINE;
	const struct coroutine *c;

	if (!(of & SESSION_OF_COROUTINE))
		return of <= s->vm_count ? of : 0;
	if (co == 0 || co > s->coroutine_count)
		return 0;
	c = &s->coroutines[co - 1];
	for (size_t i = 0; i < s->vm_count; i++)
		if (s->vms[i].process == c->process &&
		    s->vms[i].serial == c->vm)
			return (uint32_t)i + 1;
	return 0;
}

/* ---- invariants ---- */

/* Their processes exist, and their figures add up. */
static bool threads_valid(const struct session *s)
{
	uint64_t unnested = 0;

	for (size_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		if (t->process >= s->process_count || t->offcpu > t->known ||
		    t->cpu_unknown > t->traced ||
		    !memchr(t->name, '\0', sizeof(t->name)))
			return false;
		unnested += t->unnested;
	}
	return unnested == s->unnested;
}

/* The longest first. */
static bool gaps_valid(const struct session *s)
{
	for (size_t i = 0; i < s->gap_count; i++)
		if (s->gaps[i].thread >= s->thread_count ||
		    (i > 0 && gap_length(&s->gaps[i]) >
			      gap_length(&s->gaps[i - 1])))
			return false;
	return s->gap_count <= SESSION_GAPS && s->gap_count <= s->gap_total;
}

bool session_valid(const struct session *s)
{
	for (size_t i = 0; i < s->coroutine_count; i++)
		if (s->coroutines[i].process >= s->process_count)
			return false;
	for (size_t i = 0; i < s->vm_count; i++)
		if (s->vms[i].process >= s->process_count)
			return false;
	for (size_t i = 1; i < s->label_count; i++)
		if (s->labels[i].process < s->labels[i - 1].process)
			return false;
	return s->tick_hz > 0 && threads_valid(s) && gaps_valid(s) &&
	       cct_valid(s->cct);
}

/* ---- coroutines ---- */

void coroutine_ran(struct coroutine *c, uint32_t thread)
{
	const uint32_t known = MIN(c->thread_count, 4);
	uint32_t i = known;

	if (c->state == COROUTINE_NEW)
		c->state = COROUTINE_RUNNING;
	while (i > 0 && c->threads[i - 1] >= thread)
		i--;
	if (i < known && c->threads[i] == thread)
		return;
	if (c->thread_count < 5)
		c->thread_count++;
	for (uint32_t k = known < 4 ? known : 3; k > i; k--)
		c->threads[k] = c->threads[k - 1];
	if (i < 4)
		c->threads[i] = thread;
}

static bool is_earlier(struct instant a, struct instant b)
{
	return a.at != b.at ? a.at < b.at : a.thread < b.thread;
}

void coroutine_was(struct coroutine *c, enum coroutine_state state,
		   struct instant at)
{
	if (is_earlier(at, c->last))
		return;
	c->last = at;
	c->state = state;
}

void coroutine_began(struct coroutine *c, func_id func, bool is_lua,
		     struct instant at)
{
	if (c->body != 0 && (c->has_lua_body != is_lua ? c->has_lua_body :
			     !is_earlier(at, c->body_at)))
		return;
	c->body = func;
	c->has_lua_body = is_lua;
	c->body_at = at;
}

bool session_has_times(const struct session *s)
{
	return s->counted == 0 || s->counted < s->calls;
}

bool session_has_sampled_vm(const struct session *s)
{
	for (size_t i = 0; i < s->vm_count; i++)
		if (s->vms[i].flags & VM_SAMPLED)
			return true;
	return false;
}

bool session_is_raw(const struct session *s)
{
	return s->net.has_raw ||
	       (!s->net.is_net && s->counted < s->calls);
}

/* ---- labels ---- */

/* By key; of one key, the preferred label comes first. */
static int by_key(const void *a, const void *b)
{
	const struct label *const x = *(const void *const *)a;
	const struct label *const y = *(const void *const *)b;

	return strcmp(x->key, y->key) ?:
	       ORDER(x->process == 0, y->process == 0) ?: ORDER(y, x);
}

/* The first label of this process (index + 1) or a later one. */
static size_t first_of(const struct session *s, uint32_t process)
{
	return ORDER_FIRST(i, s->label_count, s->labels[i].process < process);
}

/* Append the recording's labels among [from, to) to the list of n. */
static size_t add(const struct session *s, uint64_t recording, size_t from,
		  size_t to, const struct label **list, size_t n)
{
	for (size_t i = from; i < to; i++)
		if (s->labels[i].recording == recording)
			list[n++] = &s->labels[i];
	return n;
}

const struct label **label_list(const struct session *s, uint32_t process,
				size_t *count)
{
	const uint64_t recording = s->processes[process].recording;
	const size_t all = first_of(s, 1);
	const size_t from = first_of(s, process + 1);
	const size_t to = first_of(s, process + 2);
	const struct label **const list =
		mem_alloc((all + to - from + 1) * sizeof(const struct label *));
	size_t n = add(s, recording, 0, all, list, 0), kept = 0;

	n = add(s, recording, from, to, list, n);
	order_sort(list, n, by_key);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || strcmp(list[kept - 1]->key, list[i]->key) != 0)
			list[kept++] = list[i];
	*count = kept;
	return list;
}

int label_compare(const struct session *s, uint32_t process,
		  const struct session *t, uint32_t other)
{
	size_t n, k;
	const struct label **const a = label_list(s, process, &n);
	const struct label **const b = label_list(t, other, &k);
	int order = 0;

	for (size_t i = 0; i < n && i < k && order == 0; i++) {
		order = strcmp(a[i]->key, b[i]->key) ?:
			strcmp(a[i]->value, b[i]->value);
	}
	mem_free_all(a, b);
	return order ?: ORDER(n, k);
}

uint64_t label_hash(const struct session *s, uint32_t process)
{
	size_t n;
	const struct label **const list = label_list(s, process, &n);
	uint64_t h = 1;

	for (size_t i = 0; i < n; i++)
		h = text_hash(text_hash(h, list[i]->key), list[i]->value);
	mem_free(list);
	return h;
}

void label_insert(struct session *s, const struct label *l)
{
	const size_t at = first_of(s, l->process + 1);

	assert(l->process <= s->process_count);
	memmove(&s->labels[at + 1], &s->labels[at],
		(s->label_count - at) * sizeof(*s->labels));
	s->labels[at] = *l;
	s->label_count++;
}
