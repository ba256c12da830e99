/* reference.c - times of the program as it runs unrecorded: the reference says
 * how long each function's own code takes, the recording by which stacks.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <math.h>
#include <string.h>

/* ns of the reference, and by how many samples; and the sum of what it is
 * divided by, in ticks or samples of the recording. */
struct piece { double ns, samples, seen; };

struct join {
	struct session *session;
	struct piece *own;          /* recorded functions, by func_id */
	/* Other code, by function, or by module where it has no names: */
	struct piece *other; size_t others, room;
	uint32_t *place;           /* of each in other: where it is */
	struct map *other_of;      /* module, begin: index + 1 */
	struct map *other_called;  /* hash of its name: the same; of modules
	                            * that the recording has */
	struct map *named;         /* hash of its name and, beside it, 0, the
	                            * module or AT + the line; or where it
	                            * begins and ENTRY + the module: func_id */
	bool *is_here;             /* by elf_id: the recording has the module */
	bool *has_funcs;           /* and records functions in it */
	double *weight;            /* by node: ticks of own code */
	double *doubt;             /* and the variance of that, */
	double *doubts;            /* and by func_id the sum of these */
	double *calls;             /* by func_id: weights where nothing else is
	                            * known */
	bool has_noted;            /* Lua says where its compiled code ran, */
	double *interpreted;       /* or it was off: see interpreted_times */
};

/* ---- names -------------------------------------------------------------- */

/* Several functions of one name cannot be told by it, but by the line where
 * they are declared. */
enum { SEVERAL = UINT32_MAX };
#define AT (UINT64_C(1) << 32)
#define ENTRY (UINT64_C(1) << 33)

static void add_name(struct map *to, uint64_t hash, uint64_t module,
		     func_id func)
{
	uint32_t *const at = map_put(to, hash, module);

	*at = *at == 0 || *at == func ? func : SEVERAL;
}

static void find_names(struct join *j)
{
	struct func_table *const t = j->session->funcs;

	for (func_id id = 1; id <= func_count(t); id++) {
		const struct func *const f = func_get(t, id);
		uint64_t hash;

		if (f->kind != FUNC_NATIVE)
			continue;
		add_name(j->named, f->offset, ENTRY + f->module, id);
		if (f->name[0] == '\0')
			continue;
		hash = text_hash_function(f->name, strlen(f->name));
		add_name(j->named, hash, 0, id);
		add_name(j->named, hash, f->module, id);
		add_name(j->named, hash, AT + f->file_line, id);
		j->has_funcs[f->module] = true;
	}
}

static struct join begin(struct session *s)
{
	const size_t modules = func_elf_count(s->funcs) + 1;
	struct join j = { .session = s, .named = map_new(),
			  .is_here = mem_alloc(modules * sizeof(*j.is_here)),
			  .has_funcs = mem_alloc(modules *
						 sizeof(*j.has_funcs)) };

	find_names(&j);
	for (size_t i = 0; i < cct_sample_count(s->cct); i++)
		j.is_here[s->places[cct_sample_get(s->cct, i)->place].module] =
			true;
	for (elf_id m = 1; m < modules; m++)
		j.is_here[m] |= j.has_funcs[m];
	return j;
}

static void end(struct join *j)
{
	map_free(j->named);
	mem_free_all(j->is_here, j->has_funcs);
}

/* The recorded function of that name: in that module, or, of a build that was
 * not recorded, in any. 0: none, or several. */
static func_id named(const struct join *j, elf_id module,
		     const struct inlined *of)
{
	const uint64_t hash = text_hash_function(of->name, of->length);
	func_id id = map_find(j->named, hash, j->is_here[module] ? module : 0);

	if (id == SEVERAL)
		id = map_find(j->named, hash, AT + of->line);
	return id == SEVERAL ? 0 : id;
}

/* Of code that was inlined, the innermost function that is recorded. */
static func_id inlined(const struct join *j, const struct code_place *p)
{
	struct inlined inner;
	func_id found = 0;

	for (const char *at = p->inlined; inlined_next(&at, &inner);) {
		const func_id id = named(j, p->module, &inner);

		found = id ? id : found;
	}
	return found;
}

/* 0: the code is of no recorded function. */
static func_id func_at(const struct join *j, const struct code_place *p)
{
	const struct inlined outer = { p->name, p->name ? strlen(p->name) : 0,
				       p->line };
	func_id id = inlined(j, p);

	id = !id && p->kind == PLACE_OWN ? p->func : id;
	if (!id && p->name)
		id = map_find(j->named, p->begin, ENTRY + p->module);
	/* The tracer notes an odd entry as the even one before it. */
	if (!id && p->name && p->begin % 2)
		id = map_find(j->named, p->begin - 1, ENTRY + p->module);
	return !id && p->name ? named(j, p->module, &outer) : id;
}

/* ---- other code --------------------------------------------------------- */

static struct piece *other_at(struct join *j, uint32_t place)
{
	const struct code_place *const p = &j->session->places[place];
	/* Of code in no file, a reference does not tell the address. */
	const uint64_t begin = p->name ? p->begin : 0;
	uint32_t *const known = map_put(j->other_of, p->module,
					p->module ? begin + 1 :
					p->offset != 0);
	uint32_t called = 0;

	if (*known == 0 && p->name && !j->is_here[p->module])
		called = map_find(j->other_called, text_hash_function(p->name,
				  strlen(p->name)), 0);
	if (*known == 0 && called) {
		*known = called;
	} else if (*known == 0) {
		const size_t room = j->room;

		*vec_add(&j->other, &j->room, &j->others) = (struct piece){ 0 };
		if (j->room > room)
			j->place = mem_grow(j->place, j->room,
					    sizeof(*j->place));
		j->place[j->others - 1] = place;
		*known = (uint32_t)j->others;
	}
	if (p->name && j->is_here[p->module])
		*map_put(j->other_called, text_hash_function(p->name,
			 strlen(p->name)), 0) = *known;
	return &j->other[*known - 1];
}

/* Lua compiled it, and notes say better than samples where it ran; or none of
 * the recording did. */
static bool is_compiled(const struct join *j, const struct code_place *p)
{
	return (j->has_noted || j->interpreted) && p->module == 0 &&
	       p->offset != 0;
}

/* Is the sample one of other code? */
static bool is_other(const struct join *j, const struct cct_sample *s)
{
	const struct code_place *const p = &j->session->places[s->place];

	return p->kind != PLACE_PROBE && func_at(j, p) == 0 &&
	       !is_compiled(j, p);
}

static void see_samples(struct join *j)
{
	struct cct *const t = j->session->cct;

	for (size_t i = 0; i < cct_sample_count(t); i++)
		if (is_other(j, cct_sample_get(t, i)))
			other_at(j, cct_sample_get(t, i)->place)->seen +=
				cct_sample_get(t, i)->period;
}

/* ---- the reference ------------------------------------------------------ */

void reference_find_places(struct session *s)
{
	struct map *const known = map_new();
	size_t room = s->place_count;

	for (size_t i = 0; i < s->place_count; i++)
		*map_put(known, s->places[i].module, s->places[i].offset) =
			(uint32_t)i + 1;
	for (size_t i = 0; i < s->reference.count; i++) {
		struct reference_count *const c = &s->reference.at[i];

		c->place = session_place(s, known, &room, c->module,
					 c->offset);
	}
	map_free(known);
}

static void sort_out(struct join *j)
{
	struct session *const s = j->session;

	for (size_t i = 0; i < s->reference.count; i++) {
		struct reference_count *const c = &s->reference.at[i];
		const struct code_place *const p = &s->places[c->place];
		struct piece *piece;

		if (p->kind == PLACE_PROBE)
			continue;
		if (is_compiled(j, p)) {
			s->reference.compiled += c->ns;
			continue;
		}
		c->func = func_at(j, p);
		piece = c->func ? &j->own[c->func] : other_at(j, c->place);
		piece->ns += c->ns;
		piece->samples += (double)c->samples;
	}
}

/* By its calls, a node's part of its function; never 0. */
static double calls_of(const struct cct_node *n)
{
	return (double)n->calls + 1e-9;
}

/* Of a node's weight; ratio: how much of the samples of all nodes of its
 * function is in own code. What hooks and the program hide of each other is
 * mostly the same for each call of a function: a fifth of that differs. Without
 * samples a call may be off by 50 ns. */
static double doubt_of(const struct join *j, node_id id, double ratio)
{
	const struct session *const s = j->session;
	const struct cct_sampled *const of = cct_sampled_of(s->cct, id);
	const double self = (double)cct_get(s->cct, id)->self;
	const double call = 50e-9 * (double)s->tick_hz *
			    (double)cct_get(s->cct, id)->calls;
	const double weight = j->weight[id];

	return s->net.is_net & NET_SAMPLED ?
	       fmin(weight * weight / (of->own + 1) + call * call / 25,
		    of->variance) + self * self * ratio * (1 - ratio) /
	       (of->own + of->other + 1) : call * call;
}

/* What a node's own code takes by the recording, in ticks: what its calls run
 * of other code is known from few samples, and less well than of all nodes of
 * the function. */
static void weigh(struct join *j)
{
	struct cct *const t = j->session->cct;
	const size_t funcs = func_count(j->session->funcs) + 1;
	double *const own = mem_alloc(funcs * sizeof(*own));
	double *const all = mem_alloc(funcs * sizeof(*all));

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_sampled *const of = cct_sampled_of(t, id);

		own[cct_get(t, id)->func] += of->own;
		all[cct_get(t, id)->func] += of->own + of->other;
	}
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const struct cct_sampled *const of = cct_sampled_of(t, id);
		const uint64_t off = cct_cpu_of(t, id).off;
		const double ratio = all[n->func] > 0 ?
				     own[n->func] / all[n->func] : 1;

		j->weight[id] = n->self > off ? (double)(n->self - off) *
			(of->own + ratio) / (of->own + of->other + 1) : 0;
		j->own[n->func].seen += j->weight[id];
		j->doubt[id] = doubt_of(j, id, ratio);
		j->doubts[n->func] += j->doubt[id];
		j->calls[n->func] += calls_of(n);
	}
	mem_free_all(own, all);
}

/* ---- the scale ---------------------------------------------------------- */

/* The variance of what the recording says a function's own code takes, in ticks
 * squared, by func_id; without samples, each call may be off by 50 ns. */
static double *find_variances(const struct join *j, bool is_sampled)
{
	const struct session *const s = j->session;
	struct cct *const t = s->cct;
	const double call = 50e-9 * (double)s->tick_hz;
	double *const v = mem_alloc((func_count(s->funcs) + 1) * sizeof(*v));

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const double off = call * (double)n->calls;

		v[n->func] += is_sampled ? cct_sampled_of(t, id)->variance :
			      off * off;
	}
	return v;
}

/* A weighted fit of the recording's times, as far as they are right, to those
 * of the reference: long calls tell most. Ticks a ns; the error is that of the
 * scatter, if that is more than the variances say. False: no function tells. */
static bool fit_scale(struct join *j, bool is_sampled, double *scale,
		      double *error)
{
	double *const v = find_variances(j, is_sampled);
	double fit = 0, weights = 0, scatter = 0;
	size_t n = 0;

	for (int round = 0; round < 4; round++) {
		double products = 0, squares = 0;

		weights = 0;
		n = 0;
		for (func_id f = 1; f <= func_count(j->session->funcs); f++) {
			const struct piece *const p = &j->own[f];
			const double rough = 0.03 * p->seen;
			const double chance = fit * p->ns /
					      sqrt(fmax(p->samples, 1));
			const double w = 1 / (v[f] + rough * rough +
					      chance * chance + 1);

			if (p->samples < 5 || p->seen <= 0)
				continue;
			n++;
			weights += w * p->ns * p->ns;
			products += w * p->ns * p->seen;
			squares += w * p->seen * p->seen;
		}
		fit = weights > 0 ? products / weights : 0;
		scatter = n > 1 ? (squares - fit * products) /
				  (double)(n - 1) : 1;
	}
	mem_free(v);
	*scale = fit;
	*error = weights > 0 ? sqrt(fmax(scatter, 1) / weights) : 0;
	return fit > 0;
}

/* Was it a build that is recorded: did it run in a module that has hooks? That
 * of libc and Lua is the same in any build. */
static bool is_same_build(const struct join *j)
{
	struct func_table *const funcs = j->session->funcs;
	const struct reference *const r = &j->session->reference;
	bool *const has_hooks = mem_alloc(func_elf_count(funcs) + 1);
	bool is_same = false;

	for (func_id f = 1; f <= func_count(funcs); f++) {
		const struct func *const func = func_get(funcs, f);

		has_hooks[func->module] |= func->kind == FUNC_NATIVE &&
					   !func_is_libc(funcs, f) &&
					   !func_elf_is_lua(funcs,
							    func->module);
	}
	for (size_t i = 0; i < r->count && !is_same; i++)
		is_same = r->at[i].module != 0 && has_hooks[r->at[i].module];
	mem_free(has_hooks);
	return is_same;
}

/* Ticks on the CPU that were recorded: as they are, and net; and of these, for
 * which it is not known. */
struct recorded { double raw, net, unknown; };

static struct recorded recorded_time(const struct session *s)
{
	struct recorded of = { 0, 0, 0 };

	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const double off = (double)cct_cpu_of(s->cct, id).off;

		of.raw += fmax((double)cct_sampled_of(s->cct, id)->raw - off,
			       0);
		of.net += fmax((double)cct_get(s->cct, id)->self - off, 0);
		of.unknown += (double)cct_cpu_of(s->cct, id).unknown;
	}
	return of;
}

/* Is most of what was recorded in the reference, too? That may be of a part of
 * the program that was not recorded, as its start. */
static bool is_of_the_same(const struct join *j, double scale)
{
	double all = 0, both = 0;

	for (func_id f = 1; f <= func_count(j->session->funcs); f++) {
		all += j->own[f].seen;
		both += fmin(j->own[f].seen, scale * j->own[f].ns);
	}
	return both >= all / 2;
}

/* By the CPU time of the two, if they are of one build, as in calls that say
 * nothing of how long they took. Of what recording cost, half may be work of
 * the program that hooks hide. */
static bool time_scale(const struct join *j, double *scale, double *error)
{
	const struct session *const s = j->session;
	const struct reference *const r = &s->reference;
	const struct recorded of = recorded_time(s);

	*scale = of.net / r->ns;
	*error = hypot(0.03 * of.net, (of.raw - of.net) / 2) / r->ns;
	return s->net.is_net && !j->interpreted && cct_has_cpu(s->cct) &&
	       of.unknown <= 0.05 * of.raw && is_of_the_same(j, *scale) &&
	       (r->kind == REFERENCE_OFF || is_same_build(j));
}

/* Did the run do the same work as the recorded one? Recording makes no program
 * faster; and what it leaves of the program's own time is not more than that,
 * but for what hooks do to caches. A build without hooks may be much faster. */
static bool is_same_work(const struct join *j)
{
	const struct session *const s = j->session;
	const double tick = (double)s->tick_hz / 1e9;
	const struct recorded of = recorded_time(s);

	return of.raw > 0.9 * tick * s->reference.ns &&
	       (!s->net.is_net || !is_same_build(j) ||
		of.net < 2 * tick * s->reference.ns);
}

/* ---- division ----------------------------------------------------------- */

/* What the node has of the function's own code. */
static void divide_own(struct join *j, node_id id, double scale, double error)
{
	const struct reference *const r = &j->session->reference;
	struct cct *const t = j->session->cct;
	struct cct_node *const n = cct_get(t, id);
	struct cct_sampled *const of = cct_sampled_of(t, id);
	const struct piece *const p = &j->own[n->func];
	const double share = p->seen > 0 ? j->weight[id] / p->seen :
			     calls_of(n) / j->calls[n->func];
	const double one = r->ns / (double)r->samples * scale;
	const double all = p->ns * scale;
	const double chance = p->samples > 0 ? all * all / p->samples :
			      one * one;
	const double doubt = p->ns * error;
	const double rate = all / p->seen;

	of->division = (struct cct_division){ .share = share,
					      .func = n->func };
	of->division.doubt = p->seen > 0 ? rate * rate * j->doubt[id] :
					   share * all * all;
	of->division.all = p->seen > 0 ? rate * rate * j->doubts[n->func] :
					 all * all;
	/* No part is more than the whole. */
	if (of->division.all > all * all) {
		of->division.doubt *= all * all / of->division.all;
		of->division.all = all * all;
	}
	of->division.cross = of->division.doubt;
	n->self = cct_cpu_of(t, id).off;
	if (!func_get(j->session->funcs, n->func)->module)
		of->variance = 0; /* no code of its own */
	else
		of->variance = share * (chance + doubt * doubt);
	n->self += (uint64_t)(share * all + 0.5);
}

/* What the recording saw of other code, in the proportion that it saw. */
static void divide_other(struct join *j, double scale, double error)
{
	struct cct *const t = j->session->cct;
	double *const of = mem_alloc((func_count(j->session->funcs) + 1) *
				     sizeof(*of));

	for (size_t i = 0; i < cct_sample_count(t); i++) {
		struct cct_sample *const s = cct_sample_get(t, i);
		const struct piece *p;
		double worth;

		if (!is_other(j, s))
			continue;
		p = other_at(j, s->place);
		worth = scale * p->ns * s->period / p->seen;
		s->worth = (float)worth;
		cct_get(t, s->node)->self += (uint64_t)worth;
		cct_sampled_of(t, s->node)->variance += worth * worth;
		of[cct_get(t, s->node)->func] += worth;
	}
	/* The scale is wrong by as much in all nodes of a function. */
	for (size_t i = 0; i < cct_sample_count(t) && error > 0; i++) {
		struct cct_sample *const s = cct_sample_get(t, i);

		if (is_other(j, s))
			cct_sampled_of(t, s->node)->variance += s->worth *
				of[cct_get(t, s->node)->func] *
				(error / scale) * (error / scale);
	}
	mem_free(of);
}

/* What it did not see, below the first root; each function of which that takes
 * more than 0.5 % has a name. */
static const double least_named = 0.005;

static void add_unseen(struct join *j, double scale, struct arena *names)
{
	struct session *const s = j->session;

	for (size_t i = 0; i < j->others; i++) {
		const struct piece *const p = &j->other[i];
		const double all = p->ns * scale;
		func_id func;
		node_id id;

		if (p->seen > 0 || p->ns <= 0)
			continue;
		func = p->ns < least_named * s->reference.ns ? 0 :
			sampled_calls_func(s, &s->places[j->place[i]], names);
		if (!func)
			func = func_special(s->funcs, "[elsewhere] [sampled]");
		id = cct_child(s->cct, cct_first_root(s->cct), func, 0);
		cct_get(s->cct, id)->self += (uint64_t)(all + 0.5);
		cct_sampled_of(s->cct, id)->variance += all * all / p->samples;
		s->reference.unknown += p->ns;
	}
}

/* All of self is one or the other now. */
static void keep_cpu(struct cct *t)
{
	for (node_id id = 1; id <= cct_count(t) && cct_has_cpu(t); id++) {
		struct cct_cpu cpu = cct_cpu_of(t, id);

		cpu.unknown = 0;
		cct_put_cpu(t, id, cpu);
	}
}

static void keep_raw(struct session *s)
{
	struct cct *const t = s->cct;

	for (node_id id = 1; id <= cct_count(t) && !cct_is_net(t); id++)
		cct_sampled_of(t, id)->raw = cct_get(t, id)->self;
	cct_set_net(t, true);
}

/* See net.c. */
enum { SAMPLES_LEAST = 100 };

/* Calls that were only counted have no times. The samples of their own run tell
 * those, bent as it was, where there is no other reference. */
static void take_own_samples(struct session *s)
{
	struct reference *const r = &s->reference;

	r->kind = REFERENCE_COUNTED;
	for (size_t i = 0; i < cct_sample_count(s->cct); i++) {
		const struct cct_sample *const sample =
			cct_sample_get(s->cct, i);
		const struct code_place *const p = &s->places[sample->place];

		if (p->kind == PLACE_PROBE)
			continue;
		*vec_add(&r->at, &r->room, &r->count) =
			(struct reference_count){ p->module, p->offset, 1,
				sample->period, sample->place, 0 };
		r->samples++;
		r->ns += sample->period;
	}
}

/* Of calls that were only counted: what the threads ran is all the program's
 * but for the probes' part, by samples. Ticks a ns. */
static double scale_of_counted(const struct session *s)
{
	const double own = (double)(s->net.own + s->net.other);
	const double all = own + (double)s->net.probe;

	return (all > 0 ? own / all : 1) * recorded_time(s).raw /
	       s->reference.ns;
}

/* They have times now. */
static void time_counted(struct session *s)
{
	for (node_id id = 1; id <= cct_count(s->cct); id++)
		cct_time_untimed(s->cct, id);
	s->counted = 0;
}

/* Of the same command, it is as long as the recorded run, unless long calls
 * tell otherwise; else the better of two ways tells. False: nothing does. */
static bool find_length(struct join *j, double *scale, double *error)
{
	struct session *const s = j->session;
	struct reference *const r = &s->reference;
	const double same = *scale;
	double by_time, doubt;
	const bool is_told = fit_scale(j, s->net.is_net & NET_SAMPLED, scale,
				       error) && *error <= *scale / 2;

	r->is_same_run = r->is_same_run && is_same_work(j) &&
		(!is_told || fabs(*scale - same) <= 3 * *error);
	if (r->is_same_run) {
		*scale = same;
		*error = 0;
		return true;
	}
	r->is_by_time = time_scale(j, &by_time, &doubt) &&
		doubt <= by_time / 2 &&
		(!is_told || (doubt / by_time < *error / *scale &&
			      fabs(by_time - *scale) <=
			      3 * hypot(doubt, *error)));
	if (r->is_by_time) {
		*scale = by_time;
		*error = doubt;
	}
	return is_told || r->is_by_time;
}

/* False: nothing can be taken from the reference. */
static bool find_scale(struct join *j, double *scale, double *error)
{
	struct session *const s = j->session;
	struct reference *const r = &s->reference;
	const bool is_long = r->kind == REFERENCE_OFF ||
			     r->kind == REFERENCE_ONLY;

	*scale = (double)s->tick_hz / 1e9;
	*error = 0;
	if (!session_has_times(s) && r->kind != REFERENCE_RUN)
		*scale = scale_of_counted(s);
	else if (is_long)
		r->is_refused = !find_length(j, scale, error);
	else if (session_has_times(s))
		r->is_refused = !is_same_work(j);
	return !r->is_refused;
}

static void join(struct join *j, struct arena *names)
{
	struct session *const s = j->session;
	struct reference *const r = &s->reference;
	const double tick = (double)s->tick_hz / 1e9;
	double scale, error;

	j->has_noted = cct_counted_sum(s->cct).noted_ns > 0;
	if (r->kind != REFERENCE_COUNTED)
		j->interpreted = interpreted_times(s);
	see_samples(j);
	sort_out(j);
	cct_collect_samples(s->cct);
	weigh(j);
	keep_raw(s);
	/* A trace may say anything: sums of ticks must fit. */
	if (!find_scale(j, &scale, &error) ||
	    !(r->ns * scale < (double)SESSION_SUM_MAX / 4)) {
		cct_set_net(s->cct, s->net.is_net != 0);
		mem_free(j->interpreted);
		return;
	}
	r->scale = scale / tick;
	r->error = error / tick;
	for (node_id id = 1; id <= cct_count(s->cct); id++)
		divide_own(j, id, scale, error);
	divide_other(j, scale, error);
	interpreted_apply(s, j->interpreted);
	add_unseen(j, scale, names);
	keep_cpu(s->cct);
	time_counted(s);
	s->net.is_net = NET_REFERENCE |
		(r->kind == REFERENCE_RUN || r->is_same_run ? 0 : NET_FITTED);
}

void reference_apply(struct session *s, struct arena *names)
{
	const size_t funcs = func_count(s->funcs) + 1;
	struct join j;

	if (!session_has_times(s) && s->reference.samples == 0)
		take_own_samples(s);
	if (s->reference.samples < SAMPLES_LEAST || net_hides_calls(s) ||
	    cct_first_root(s->cct) == 0)
		return;
	j = begin(s);
	j.own = mem_alloc(funcs * sizeof(*j.own));
	j.calls = mem_alloc(funcs * sizeof(*j.calls));
	j.weight = mem_alloc((cct_count(s->cct) + 1) * sizeof(*j.weight));
	j.doubt = mem_alloc((cct_count(s->cct) + 1) * sizeof(*j.doubt));
	j.doubts = mem_alloc(funcs * sizeof(*j.doubts));
	j.other_of = map_new();
	j.other_called = map_new();
	join(&j, names);
	map_free(j.other_of);
	map_free(j.other_called);
	mem_free_all(j.own, j.calls, j.weight, j.doubt, j.doubts, j.other,
		     j.place);
	end(&j);
}

/* ---- another run's samples ---------------------------------------------- */

void reference_take(struct session *s, struct session *from)
{
	struct reference *const r = &s->reference;
	struct join j;

	session_take_reference(s, from);
	j = begin(s);
	for (size_t i = 0; i < r->count; i++) {
		struct code_place p = from->places[r->at[i].place];

		p.module = r->at[i].module;
		if (p.kind == PLACE_PROBE)
			continue;
		p.kind = PLACE_OTHER; /* there */
		r->at[i].func = func_at(&j, &p);
	}
	end(&j);
}
