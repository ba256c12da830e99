/* slow_call.c - follows the stacks of chunks in which a function of interest is
 * open, as far as is needed for it: how many frames each segment has, and which
 * of them are of interest. What contradicts itself is passed over.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/drain/slow_call.h"
#include "tracepoints/record.h"
#include "tracepoints/buffer.h"
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/chunk_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPEN_MAX = 1024,           /* calls of interest on one stack */
	SEGMENTS_MAX = 256,
	KEPT_MAX = 4,              /* of a coroutine */
	UNDO_MAX = 1024,           /* coroutines in a PARTIAL chunk */
	COROUTINES = 1 << 14,      /* a later one takes an earlier one's
	                            * place */
	NO_RULE = 0xff,
};

/* ---- rules ---- */

const char *slow_call_read(struct slow_call_wish *w, const char *text)
{
	const char *const more = strrchr(text, '>');
	const char *from = text + strspn(text, " "), *end = more;
	char name[1024];

	*w = (struct slow_call_wish){ .text = text };
	if (!more || !amount_time(more + 1, &w->ns))
		return "it is not of the form \"FUNCTION > 500ms\"";
	while (end > from && end[-1] == ' ')
		end--;
	w->is_total = strncmp(from, "total(", 6) == 0 && end[-1] == ')';
	from += w->is_total ? 6 : 0;
	end -= w->is_total;
	if (end - from >= (long)sizeof(name))
		return "the pattern is too long";
	snprintf(name, sizeof(name), "%.*s", (int)(end - from), from);
	return selection_add(&w->pattern, name);
}

/* ---- a coroutine between its runs ---- */

/* A coroutine's outermost call is its body once a tail call has replaced it: it
 * has no frame, and ends with what has. */
enum body { BODY = 1, BODY_REPLACED = 2 /* that call is yet to come */ };

/* A call of interest that is open. */
struct call {
	uint64_t entry;            /* later by what it was suspended */
	uint64_t slept;            /* suspended since it was entered */
	uint32_t depth;            /* of its frame in the segment, from 1; 0: it
	                            * is the body */
	uint16_t function;
	uint8_t rule;              /* NO_RULE: its entry is not known */
};

struct slow_call_coroutine {
	uint64_t serial;
	uint64_t looked, kept;     /* the last passes that did so */
	uint32_t n, depth, body;   /* calls; frames in all */
	struct call call[KEPT_MAX];
};

int slow_calls_init(struct slow_calls *s, const struct slow_call_wish *wish,
		    uint32_t rules, const char *program,
		    struct lua_names *names, const struct rate *rate)
{
	const size_t bytes = VERDICT_SLOTS * sizeof(_Atomic uint64_t);

	*s = (struct slow_calls){ .rules = rules, .rate = rate };
	s->coroutine = chunk_queue_reserve(COROUTINES * sizeof(*s->coroutine));
	if (!s->coroutine)
		return -1;
	for (uint32_t i = 0; i < rules; i++) {
		const struct selection_wish chosen = {
			.skip = wish[i].pattern };
		_Atomic uint64_t *const table = chunk_queue_reserve(bytes);

		s->wish[i] = wish[i];
		if (!table || selection_init(&s->selection[i], &chosen, table,
					     VERDICT_SLOTS, names) != 0)
			return -1;
		selection_program(&s->selection[i], program);
	}
	return 0;
}

/* ---- the chunk at hand ---- */

struct segment {
	uint64_t coroutine;
	uint32_t depth, first;     /* its frames; its calls in open */
	uint32_t body;             /* enum body */
};

struct pass {
	struct slow_calls *s;
	const struct chunk_header *h;
	uint64_t now;
	uint8_t rule[CHUNK_MAX_FUNCS + 1]; /* by dictionary index */
	uint64_t module[DICT_MAX_MODULES]; /* hashes; 0: there is none */
	const uint64_t *stack;     /* the item, or NULL */
	struct segment segment[SEGMENTS_MAX];
	uint32_t top;              /* the topmost segment */
	uint32_t beyond;           /* segments above that have no room */
	struct call open[OPEN_MAX];
	uint32_t n;
	/* What a chunk that may come again has changed. */
	struct {
		uint32_t slot;
		struct slow_call_coroutine was;
	} undo[UNDO_MAX];
	uint32_t undo_n;
	struct slow_call_coroutine beside; /* one that cannot be undone */
};

/* What is known of a coroutine. */
static struct slow_call_coroutine *coroutine(struct pass *p, uint64_t serial)
{
	const uint32_t slot = (uint32_t)(serial % COROUTINES);
	struct slow_call_coroutine *c = &p->s->coroutine[slot];

	if (c->looked != p->s->pass && (p->h->flags & CHUNK_PARTIAL)) {
		if (p->undo_n == UNDO_MAX) {
			p->beside.serial = serial + 1;
			c = &p->beside;
		} else {
			p->undo[p->undo_n].slot = slot;
			p->undo[p->undo_n++].was = *c;
		}
	}
	if (c->serial != serial)
		*c = (struct slow_call_coroutine){ .serial = serial };
	c->looked = p->s->pass;
	return c;
}

static void undo(struct pass *p)
{
	while (p->undo_n-- > 0)
		p->s->coroutine[p->undo[p->undo_n].slot] =
			p->undo[p->undo_n].was;
}

/* A segment leaves the thread, or the chunk ends. Its calls end before that. */
static void keep_segment(struct pass *p, const struct segment *g, uint32_t end)
{
	struct slow_call_coroutine *const c = coroutine(p, g->coroutine);

	c->kept = p->s->pass;
	c->depth = g->depth;
	c->body = g->body;
	c->n = end - g->first < KEPT_MAX ? end - g->first : KEPT_MAX;
	memcpy(c->call, &p->open[g->first], c->n * sizeof(*c->call));
}

/* ---- calls ---- */

/* A call has ended: was it slow? */
static void judge_call(struct pass *p, const struct call *c)
{
	struct slow_calls *const s = p->s;
	const struct slow_call_wish *const w =
		&s->wish[c->rule == NO_RULE ? 0 : c->rule];
	const uint64_t total = p->now > c->entry ? p->now - c->entry : 0;
	const uint64_t ticks = total + (w->is_total ? 0 : c->slept);
	const double ns = (double)ticks * 1e9 / (double)s->rate->hz;
	char time[32];

	if (c->rule == NO_RULE || ns <= (double)w->ns || p->now <= s->after)
		return;
	s->found++;
	if (!s->reason[0])
		snprintf(s->reason, sizeof(s->reason), "%.150s: a call took "
			 "%s on thread %u", w->text,
			 amount_print_time(time, sizeof(time), ns), p->h->tid);
}

static void push_call(struct pass *p, uint32_t function, uint64_t entry,
		      uint64_t slept, bool is_known)
{
	struct segment *const g = &p->segment[p->top];

	g->depth++;
	if (p->beyond > 0 || p->rule[function] == NO_RULE || p->n == OPEN_MAX)
		return;
	p->open[p->n++] = (struct call){ entry, slept, g->depth,
		(uint16_t)function,
		is_known ? p->rule[function] : (uint8_t)NO_RULE };
}

static void end_body(struct pass *p)
{
	struct segment *const g = &p->segment[p->top];

	g->body = 0;
	if (p->n > g->first && p->open[p->n - 1].depth == 0)
		judge_call(p, &p->open[--p->n]);
}

/* The second outermost call of a coroutine, which replaces none: the first one,
 * or what has replaced it, has ended. */
static void begin_outermost(struct pass *p)
{
	struct segment *const g = &p->segment[p->top];

	if (p->beyond > 0 || p->top == 0 || g->depth > 0)
		return;
	if (g->body & BODY_REPLACED)
		g->body &= ~(uint32_t)BODY_REPLACED;
	else
		end_body(p);
}

/* Is what a tail call replaces a coroutine's outermost one? */
static bool keep_body(struct pass *p)
{
	struct segment *const g = &p->segment[p->top];
	const uint32_t was = g->body;

	if (p->beyond > 0 || p->top == 0 || g->depth != 1)
		return false;
	g->body = BODY | BODY_REPLACED;
	if (was)
		return false;
	g->depth = 0;
	if (p->n > g->first)
		p->open[g->first].depth = 0;
	return true;
}

/* So many of the topmost segment's frames have ended. */
static void pop(struct pass *p, uint64_t frames)
{
	struct segment *const g = &p->segment[p->top];

	if (p->beyond > 0)
		return;
	g->depth = frames < g->depth ? g->depth - (uint32_t)frames : 0;
	while (p->n > g->first && p->open[p->n - 1].depth > g->depth)
		judge_call(p, &p->open[--p->n]);
}

/* An open frame in a stack. Of a coroutine's calls of interest the one with
 * that place among them was suspended before, as is remembered. */
static void push_open(struct pass *p, uint64_t word,
		      const struct slow_call_coroutine *c, uint64_t slept)
{
	const struct segment *const g = &p->segment[p->top];
	const uint64_t age = rec_gap(word);
	const uint32_t i = p->n - g->first, function = rec_func(word);

	if (function == REC_FUNC_OMITTED) {
		p->segment[p->top].depth += (uint32_t)age;
		return;
	}
	if (function >= p->h->funcs)
		return;
	push_call(p, function, p->now > age ? p->now - age : 0,
		  slept + (c && i < c->n ? c->call[i].slept : 0),
		  age < REC_AGE_BODY);
}

/* Below the frames of its segment, which are so many. */
static void push_body(struct pass *p, uint64_t word, uint64_t frames,
		      const struct slow_call_coroutine *c, uint64_t slept)
{
	struct segment *const g = &p->segment[p->top];

	push_open(p, word, c, slept);
	g->depth = 0;
	g->body = frames == 0 ? BODY | BODY_REPLACED : BODY;
	if (p->n > g->first)
		p->open[g->first].depth = 0;
}

/* ---- segments ---- */

static bool push_segment(struct pass *p, uint64_t serial)
{
	if (p->beyond > 0 || p->top + 1 == SEGMENTS_MAX) {
		p->beyond++;
		return false;
	}
	p->segment[++p->top] = (struct segment){ serial, 0, p->n, 0 };
	return true;
}

/* It was suspended in this chunk, or has no frames. */
static void resume_known(struct pass *p, const struct slow_call_coroutine *c,
			 uint64_t slept)
{
	if (c->kept != p->s->pass)
		return;
	p->segment[p->top].depth = c->depth;
	p->segment[p->top].body = c->body;
	for (uint32_t i = 0; i < c->n && p->n < OPEN_MAX; i++) {
		p->open[p->n] = c->call[i];
		p->open[p->n].entry += slept;
		p->open[p->n++].slept += slept;
	}
}

static void resume_coroutine(struct pass *p, const uint64_t *record,
			     uint64_t operands)
{
	const uint64_t serial = rec_value(record[1]),
		       slept = rec_value(record[2]),
		       frames = rec_value(record[3]);

	const bool is_borrowed = (rec_func(*record) & RESUME_BORROWED) != 0,
		   has_body = (rec_func(*record) & RESUME_BODY) != 0 &&
			      frames < operands && 3 + frames < operands;

	if (!is_borrowed && !push_segment(p, serial))
		return;
	const struct slow_call_coroutine *const c =
		is_borrowed ? NULL : coroutine(p, serial);

	if (c && has_body)
		push_body(p, record[4 + frames], frames, c, slept);
	if (c && !(rec_func(*record) & RESUME_STACK))
		resume_known(p, c, slept);
	else
		for (uint64_t i = 0; i < frames && 3 + i < operands; i++)
			push_open(p, record[4 + i], c, slept);
}

static void suspend_coroutine(struct pass *p, uint64_t record)
{
	const struct segment *const g = &p->segment[p->top];

	if (p->beyond > 0 || p->top == 0) {
		p->beyond -= p->beyond > 0;
		return;
	}
	if (suspend_ends(rec_func(record) & SUSPEND_REASON)) {
		pop(p, g->depth);
		end_body(p);
	}
	keep_segment(p, g, p->n);
	p->n = g->first;
	p->top--;
}

/* ---- the walk ---- */

static void pass_record(struct pass *p, const uint64_t *record,
			uint64_t operands)
{
	const uint64_t word = *record, before = p->now;
	const uint32_t function = rec_func(word);

	p->now += chunk_record_ticks(word);
	switch (rec_kind(word)) {
	case REC_ENTER:
		begin_outermost(p);
		if (function < p->h->funcs)
			push_call(p, function, p->now, 0, true);
		break;
	case REC_LEAF:
		p->now = before + rec_leaf_gap(word);
		begin_outermost(p);
		p->now = before + chunk_record_ticks(word);
		if (function >= p->h->funcs || p->rule[function] == NO_RULE)
			break;
		push_call(p, function, before + rec_leaf_gap(word), 0, true);
		pop(p, 1);
		break;
	case REC_LEAVE:
		pop(p, 1);
		break;
	case REC_UNWIND:
		if (function != UNWIND_TAIL || rec_value(record[1]) != 1 ||
		    !keep_body(p))
			pop(p, rec_value(record[1]));
		break;
	case REC_RESUME:
		resume_coroutine(p, record, operands);
		break;
	case REC_SUSPEND:
		suspend_coroutine(p, word);
		break;
	default:
		break;
	}
}

/* Where a stack has the words of what tail calls have replaced. */
static uint64_t behind_segments(const uint64_t *stack, uint64_t words)
{
	uint64_t at = 2;

	for (uint64_t i = 0; at + 2 <= words && i < stack[1]; i++)
		at += 2 + (stack[at + 1] < words ? stack[at + 1] : words);
	return at;
}

/* number of segments; of each: serial, number of frames, these. */
static void pass_stack(struct pass *p)
{
	const uint64_t words = !p->stack ? 0 : item_words(*p->stack);
	const uint64_t behind = words < 2 ? words :
				behind_segments(p->stack, words);
	uint64_t at = 2;

	for (uint64_t i = 0; at + 2 <= words && i < p->stack[1]; i++) {
		const uint64_t serial = p->stack[at], end = at + 2 +
			(p->stack[at + 1] < words ? p->stack[at + 1] : words);

		if (i > 0 && !push_segment(p, serial))
			return;
		const struct slow_call_coroutine *const c =
			i == 0 ? NULL : coroutine(p, serial);

		if (c && behind + i < words && p->stack[behind + i] != 0)
			push_body(p, p->stack[behind + i], end - at - 2, c, 0);
		for (at += 2; at < end && at < words; at++)
			push_open(p, p->stack[at], c, 0);
	}
}

static void pass_records(struct pass *p)
{
	const uint64_t *const record = (const uint64_t *)p->h +
				       CHUNK_HEADER_WORDS;
	const uint32_t n = p->h->records;

	for (uint32_t i = 0; i < n; ) {
		int64_t more = chunk_record_operands(record + i, n - i);

		if (more < 0 || more >= n - i)
			return;
		/* Some kinds have more at times, as RESUME a body. */
		while (more + 1 < n - i &&
		       rec_kind(record[i + more + 1]) == REC_OPERAND)
			more++;
		pass_record(p, record + i, (uint64_t)more);
		i += 1 + (uint32_t)more;
	}
}

/* Coroutines that run on go on in the next chunk. */
static void keep_running(struct pass *p)
{
	uint32_t end = p->n;

	for (uint32_t i = p->top; i > 0; i--) {
		keep_segment(p, &p->segment[i], end);
		end = p->segment[i].first;
	}
}

/* ---- the dictionary ---- */

static void pass_item(struct pass *p, const struct seen_item *item)
{
	struct module_item m;

	if (item_type(*item->at) == ITEM_STACK && item->words >= 2)
		p->stack = item->at;
	if (chunk_names_module(item, &m))
		p->module[m.number] = chunk_names_module_hash(m.id, m.id_size,
							      m.path);
}

/* 0: it is none. */
static uint64_t lua_id(const struct pass *p, uint64_t index)
{
	const uint64_t *const at = (const uint64_t *)p->h +
		CHUNK_HEADER_WORDS + p->h->records + index;
	const struct seen_item item = { at, index < p->h->items ?
					 (uint32_t)item_words(*at) : 0 };
	struct lua_item f;

	if (index >= p->h->items || item.words > p->h->items - index ||
	    !chunk_names_lua(&item, &f))
		return 0;
	return verdict_of_lua(f.source, at[1], f.ordinal);
}

static uint8_t rule_of(const struct pass *p, uint64_t word)
{
	const struct slow_calls *const s = p->s;
	const uint64_t module = p->module[dict_module(word)];
	uint64_t id = 0;
	bool known;

	if (dict_kind(word) == DICT_NATIVE && module != 0)
		id = verdict_of_native(module, dict_offset(word));
	else if (dict_kind(word) == DICT_LUA)
		id = lua_id(p, dict_item(word));
	for (uint32_t i = 0; id != 0 && i < s->rules; i++)
		if (verdict_find(s->selection[i].verdicts, VERDICT_SLOTS, id,
				 &known) == VERDICT_SKIP)
			return (uint8_t)i;
	return NO_RULE;
}

/* Is a function of interest in it? */
static bool pass_dictionary(struct pass *p, const uint64_t *dictionary)
{
	bool any = false;

	for (uint32_t i = 0; i < p->h->funcs && i < CHUNK_MAX_FUNCS; i++) {
		p->rule[i] = rule_of(p, dictionary[i]);
		any |= p->rule[i] != NO_RULE;
	}
	return any;
}

void slow_calls_note(struct slow_calls *s, const struct chunk_items *items,
		     uint32_t words)
{
	static struct pass p;
	const struct chunk_header *const h = items->h;

	if ((h->flags & CHUNK_META) || s->rate->hz == 0 ||
	    CHUNK_HEADER_WORDS + (uint64_t)h->records + h->items + h->funcs !=
	    words || h->funcs > CHUNK_MAX_FUNCS)
		return;
	for (uint32_t i = 0; i < s->rules; i++)
		selection_note(&s->selection[i], items);
	p.s = s;
	p.h = h;
	p.now = h->tick_begin;
	p.stack = NULL;
	p.top = p.n = p.beyond = p.undo_n = 0;
	p.segment[0] = (struct segment){ 0 };
	memset(p.module, 0, sizeof(p.module));
	for (uint32_t i = 0; i < items->n; i++)
		pass_item(&p, &items->item[i]);
	if (!pass_dictionary(&p, (const uint64_t *)h + words - h->funcs))
		return;
	s->pass++;
	pass_stack(&p);
	pass_records(&p);
	keep_running(&p);
	undo(&p);
}
