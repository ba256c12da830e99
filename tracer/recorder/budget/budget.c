/* budget.c - sums over chunks, and what follows from them. Of Lua no function
 * is counted, as each call costs its VM as much whatever its verdict: the VM is
 * sampled. A chunk's calls of Lua are taken for those of the VM that it names
 * first.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/budget/budget.h"
#include "tracepoints/record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	FUNCTIONS_MOST = 1 << 20, NONE = BUDGET_NONE,
	DEPTH = 256,               /* of calls whose times are taken */
	ENOUGH_SAMPLES = 50, MANY_SAMPLES = 8000,
	LUA_PRICE = 3,             /* of a call, in those of native ones */
	JUDGE_MS = 20,             /* a program may often do something new */
};

/* Where nothing is sampled, and before it was measured: what a call costs, ns,
 * rather too much. */
static const double unknown_call_ns = 40;
static const double far_above = 3; /* limits */
/* From this CPU time on, samples say enough. */
static const double soon_s = 0.2;

int budget_init(struct budget *b, double limit, struct pool_owner *owner,
		const struct rate *rate)
{
	*b = (struct budget){ .limit = limit, .owner = owner, .rate = rate };
	if (limit == 0)
		return 0;
	return budget_functions_init(&b->all, FUNCTIONS_MOST,
				     owner->verdicts, owner->verdict_slots);
}

/* ---- chunks that pass ---- */

/* The chunk at hand. */
struct pass {
	struct budget *b;
	const uint64_t *record, *dict;
	const uint64_t *counted;   /* the item, or NULL */
	uint32_t of[CHUNK_MAX_FUNCS + 1]; /* dictionary to number */
	uint32_t module[DICT_MAX_MODULES];
	uint32_t vm;               /* number, or NONE */
	/* Calls that are open. */
	struct { uint32_t index; uint64_t at; } open[DEPTH];
	uint32_t depth;
	uint64_t now;              /* ticks since the chunk's begin */
};

static void pass_item(struct pass *p, const struct seen_item *i)
{
	const uint64_t *const item = i->at;
	struct module_item m;

	if (chunk_names_module(i, &m))
		p->module[m.number] = budget_functions_module(&p->b->all, &m);
	if (item_type(*item) == ITEM_COUNTED)
		p->counted = item;
	if (item_type(*item) == ITEM_VM && i->words > 1 && p->b->lua &&
	    p->vm == NONE)
		p->vm = budget_functions_vm(&p->b->all, (uint32_t)item[1]);
	if (item_type(*item) != ITEM_SAMPLES)
		return;
	for (uint32_t k = 4; k + 1 < i->words; k += 2) {
		const uint32_t n = dict_kind(item[k + 1]) != DICT_NATIVE ?
			(uint32_t)NONE : p->module[dict_module(item[k + 1])];

		p->b->samples++;
		p->b->probes += n != NONE && p->b->all.module[n].is_weft;
	}
}

static void pass_dictionary(struct pass *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t word = p->dict[i];
		const uint32_t m = dict_kind(word) != DICT_NATIVE ?
			(uint32_t)NONE : p->module[dict_module(word)];

		p->of[i] = dict_kind(word) != DICT_NATIVE ? p->vm :
			   m == NONE ? m :
			   budget_functions_find(&p->b->all, m,
						 dict_offset(word));
	}
}

/* A call has ended, or begun that took so long. */
static void count_call(struct pass *p, uint32_t index, uint64_t calls,
		       uint64_t ticks)
{
	const uint32_t i = p->of[index];

	if (i == NONE) {
		p->b->other += (double)(calls * LUA_PRICE);
		return;
	}
	if (p->b->all.function[i].is_vm)
		calls *= LUA_PRICE;
	p->b->all.known[i].calls += (double)calls;
	p->b->all.known[i].ticks += (double)ticks;
}

static void leave_call(struct pass *p, uint32_t index)
{
	const uint32_t top = p->depth - 1;

	if (p->depth == 0 || --p->depth >= DEPTH ||
	    p->open[top].index != index)
		return;
	count_call(p, index, 0, p->now - p->open[top].at);
}

/* Calls that a coroutine suspends, or that end otherwise, have no time here. */
static void pass_record(struct pass *p, uint64_t word)
{
	const uint32_t index = rec_func(word);

	switch (rec_kind(word)) {
	case REC_LEAF:
		p->now += rec_leaf_gap(word) + rec_leaf_duration(word);
		count_call(p, index, 1, rec_leaf_duration(word));
		return;
	case REC_OPERAND:
		return;
	case REC_TIME:
		p->now += rec_value(word);
		return;
	default:
		p->now += rec_gap(word);
	}
	if (rec_kind(word) == REC_ENTER) {
		count_call(p, index, 1, 0);
		if (p->depth < DEPTH) {
			p->open[p->depth].index = index;
			p->open[p->depth].at = p->now;
		}
		p->depth++;
	} else if (rec_kind(word) == REC_LEAVE) {
		leave_call(p, index);
	} else if (rec_kind(word) != REC_MARK && rec_kind(word) != REC_CREATE) {
		p->depth = 0;
	}
}

/* A call that began before the chunk and one that is still open count as long
 * as they are in it. */
static void pass_records(struct pass *p, const struct chunk_header *h)
{
	for (uint32_t i = 0; i < h->records; i++)
		if (rec_kind(p->record[i]) == REC_OPERAND ||
		    rec_func(p->record[i]) < h->funcs ||
		    rec_kind(p->record[i]) >= REC_UNWIND)
			pass_record(p, p->record[i]);
	while (p->depth > 0) {
		p->depth--;
		if (p->depth < DEPTH)
			count_call(p, p->open[p->depth].index, 0,
				   p->now - p->open[p->depth].at);
	}
}

/* Calls that are counted take no time that is known. */
static void pass_counted(struct pass *p, const struct chunk_header *h)
{
	const uint64_t words = p->counted ? item_words(*p->counted) : 0;

	for (uint64_t i = 1; i + COUNTED_WORDS <= words; i += COUNTED_WORDS) {
		const uint64_t *const node = p->counted + i;

		if (rec_kind(node[0]) == (enum rec_kind)COUNTED_CALL &&
		    rec_func(node[0]) < h->funcs)
			count_call(p, rec_func(node[0]), node[1], 0);
	}
}

static double seconds(const struct chunk_header *h)
{
	if (h->cpu_begin != 0 && h->cpu_end > h->cpu_begin)
		return (double)(h->cpu_end - h->cpu_begin) / 1e9;
	return h->tick_hz == 0 ? 0 :
	       (double)(h->tick_end - h->tick_begin) / (double)h->tick_hz;
}

/* A Lua state comes to be sampled at that time, or no longer. */
static void note_turn(struct budget *b, const struct budget_known *vm,
		      uint64_t mono)
{
	if (vm->sampled && b->times < BUDGET_TIMES)
		b->time[b->times] = (struct budget_time){ vm->vm, mono, 0 };
	b->times += vm->sampled;
	for (uint32_t k = 0; k < b->times && k < BUDGET_TIMES; k++)
		if (!vm->sampled && b->time[k].vm == vm->vm &&
		    b->time[k].to == 0)
			b->time[k].to = mono;
}

/* Its chunks say what it does: it may be unable to do as it should, or come to
 * it late. */
static void note_vms(struct budget *b, const struct chunk_items *items)
{
	const struct chunk_header *const h = items->h;
	const double ns = ((double)h->tick_begin - (double)h->pair_tick) /
			  (double)b->rate->hz * 1e9;

	for (uint32_t i = 0; i < items->n; i++) {
		const uint64_t *const item = items->item[i].at;
		const bool is_vm = item_type(*item) == ITEM_VM &&
				   items->item[i].words > 2;
		const uint32_t n = !is_vm ? (uint32_t)NONE :
			budget_functions_vm(&b->all, (uint32_t)item[1]);
		struct budget_known *const k = &b->all.known[n];
		const bool sampled = is_vm && (item[2] & VM_SAMPLED) != 0;

		if (n == NONE || h->tick_begin < k->seen_at ||
		    sampled == k->sampled)
			continue;
		k->seen_at = h->tick_begin;
		k->sampled = sampled;
		note_turn(b, k, (uint64_t)fmax((double)h->pair_mono + ns, 1));
	}
}

void budget_note(struct budget *b, const struct chunk_items *items,
		 uint32_t words)
{
	static struct pass p;
	const struct chunk_header *const h = items->h;
	const uint64_t *const chunk = (const void *)h;

	if (b->limit == 0 || (h->flags & (CHUNK_META | CHUNK_PARTIAL)) != 0)
		return;
	if (b->lua)
		note_vms(b, items);
	if (h->pair_tick < b->changed_at ||
	    CHUNK_HEADER_WORDS + (uint64_t)h->records + h->items + h->funcs !=
	    words)
		return;
	p.b = b;
	p.record = chunk + CHUNK_HEADER_WORDS;
	p.dict = chunk + words - h->funcs;
	p.counted = NULL;
	p.vm = NONE;
	p.depth = 0;
	p.now = 0;
	memset(p.module, 0xff, sizeof(p.module));
	for (uint32_t i = 0; i < items->n; i++)
		pass_item(&p, &items->item[i]);
	pass_dictionary(&p, h->funcs);
	pass_records(&p, h);
	pass_counted(&p, h);
	if (h->level == 0)
		b->cpu_s += seconds(h);
}

/* ---- verdicts ---- */

/* False: the table has no room. */
static bool set_verdict(struct budget *b, uint32_t i, enum verdict verdict)
{
	return verdict_set(b->owner->verdicts, b->owner->verdict_slots,
			   b->all.known[i].id, verdict);
}

/* Threads look at verdicts again: they close the chunks that they fill. */
static void tell_threads(struct budget *b, uint64_t now)
{
	atomic_store(&b->owner->pool->cut_before, now);
	atomic_fetch_add(&b->owner->pool->generation, POOL_GENERATION_STEP);
}

/* As seen since the last change. */
static void renew_rates(struct budget *b)
{
	for (uint32_t i = 0; i < b->all.n; i++) {
		struct budget_known *const k = &b->all.known[i];
		struct budget_function *const f = &b->all.function[i];

		f->rate = b->cpu_s > 0 ? k->calls / b->cpu_s : 0;
		if (f->is_vm) /* its functions call each other */
			f->ns = f->rate > 0 ? 1e9 / f->rate : 0;
		else if (f->verdict == VERDICT_RECORD && k->calls > 0)
			f->ns = k->ticks / k->calls / (double)b->rate->hz * 1e9;
	}
}

static void fade(struct budget *b, double part)
{
	for (uint32_t i = 0; i < b->all.n; i++) {
		b->all.known[i].calls *= part;
		b->all.known[i].ticks *= part;
	}
	b->samples = (uint64_t)((double)b->samples * part);
	b->probes = (uint64_t)((double)b->probes * part);
	b->cpu_s *= part;
	b->other *= part;
}

/* What the rule has changed becomes so: the verdicts before it are in was. */
static void apply(struct budget *b, const uint8_t *was)
{
	const uint64_t now = rate_ticks(b->rate);

	b->counted = b->sampled = 0;
	for (uint32_t i = 0; i < b->all.n; i++) {
		enum verdict *const verdict = &b->all.function[i].verdict;

		if (*verdict != was[i] && !set_verdict(b, i, *verdict)) {
			*verdict = was[i];
			b->no_room++;
		}
		b->changes += *verdict != was[i];
		if (b->all.function[i].is_vm)
			b->sampled += *verdict == VERDICT_COUNT;
		else
			b->counted += *verdict == VERDICT_COUNT;
	}
	fade(b, 0);
	b->changed_at = now;
	tell_threads(b, now);
}

/* What recording should take by what a call costs, where samples are too few.
 * Soon, that says only whether it is far above the limit, and only where the
 * cost was measured: a program that runs for a second should not be recorded in
 * full for half of it. False: not enough was seen. */
static bool see_calls(const struct budget *b, struct budget_sight *s)
{
	const double ns = b->call_ns > 0 ? b->call_ns : unknown_call_ns;
	double units = b->other;

	for (uint32_t i = 0; i < b->all.n; i++)
		units += b->all.known[i].calls *
			 budget_price(&b->all.function[i]);
	s->share = units * ns / 1e9 / b->cpu_s;
	s->error = s->share / 5;
	return (b->samples == 0 && b->cpu_s > soon_s) ||
	       (b->call_ns > 0 && s->share > far_above * b->limit);
}

/* False: not enough was seen. */
static bool see_share(const struct budget *b, struct budget_sight *s)
{
	*s = (struct budget_sight){ .limit = b->limit,
				    .now = (double)rate_mono() / 1e9 };
	if (b->cpu_s <= 0.02)
		return false;
	s->other = b->other / b->cpu_s;
	if (b->samples < ENOUGH_SAMPLES)
		return see_calls(b, s);
	s->share = (double)b->probes / (double)b->samples;
	s->error = sqrt((double)b->probes + 1) / (double)b->samples;
	return true;
}

static void decide(struct budget *b)
{
	struct budget_sight sight;
	uint8_t *was;

	if (!see_share(b, &sight))
		return;
	was = malloc(b->all.n + 1);
	if (!was)
		return;
	for (uint32_t i = 0; i < b->all.n; i++)
		was[i] = (uint8_t)b->all.function[i].verdict;
	renew_rates(b);
	b->share = sight.share;
	if (budget_decide(&sight, b->all.function, b->all.n) > 0)
		apply(b, was);
	else if (b->samples > MANY_SAMPLES)
		fade(b, 0.5);
	free(was);
}

double budget_share(const struct budget *b)
{
	struct budget_sight sight;

	return see_share(b, &sight) ? sight.share :
	       b->cpu_s == 0 ? b->share : 0;
}

uint32_t budget_beat(struct budget *b, uint64_t now)
{
	if (b->limit == 0)
		return UINT32_MAX;
	if (now >= b->judged_ms + JUDGE_MS) {
		decide(b);
		b->judged_ms = now;
	}
	return JUDGE_MS;
}
