/* cmd_path.c - "weft path": where the time of single requests went, and because
 * of whom. The requests are found by watch/slow or by marks, the lanes and the
 * waits are collected by watch/chronicle and watch/waits, each in a replay of
 * its own, and followed by watch/waits/path.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/named.h"
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/waits/path.h"
#include "analyzer/watch/slow/slow.h"

#include <inttypes.h>
#include <string.h>

/* Steps of the request, and of each of those because of whom it waited; and its
 * sums. */
enum { USUAL_TOP = 30, TOP_BELOW = 5, TOP_SUMS = 10 };
/* Two stacks in a line may be of any length. */
enum { PIPED = 160 };
/* Two that wait for one another by turns could be followed for ever. */
enum { MOST_DEPTH = 20 };
/* Spans that are kept: shorter calls are folded if there are more. */
enum { MOST_SPANS = 2000000 };

/* The options; NULL: not given. arg_sort: an enum slow_key, or START. */
static const char *arg_call, *arg_id, *arg_mark;
static size_t arg_requests = 1, arg_first = 1, arg_depth = 3;
static bool arg_sums;
static int arg_sort = SLOW_WALL;

enum { START = SLOW_UNDELAYED }; /* in its place */
static const char *const sort_keys[] = {
	SLOW_KEY_NAMES, [START] = "start", NULL
};

static uint32_t id_pid;
static uint64_t id_serial; /* 0: --id is a body */

struct request {
	struct path_who who;
	ticks from, to;
	func_id func;            /* the call, or the first mark; or 0 */
};
struct requests { struct request *at; size_t count, room; };

/* ---- rows --------------------------------------------------------------- */

static const char *const words[] = {
	[PATH_RUNS] = "runs", [PATH_READY] = "run-wait",
	[PATH_WAITS] = "waits", [PATH_BLOCKED] = "blocked",
	[PATH_OTHER] = "other wait",
	[PATH_SUSPENDED] = "suspended", [PATH_UNKNOWN] = "unknown",
};

/* A step, or several together, as it is printed: all texts are whole, "":
 * none. */
struct row {
	struct path_step is;
	uint64_t request;
	ticks start, time;
	uint32_t pid, tid, by_tid;
	const char *what;        /* one of the above */
	const char *kind, *address, *symbol; /* of the object */
	const char *function, *caller; /* the innermost ones */
	char *stack, *by_stack;
	/* For people: */
	const char *step, *because;
	char *object;
};

#define AT(field) METRIC_AT(struct row, field)
#define NUMBER(name, field) { #name, METRIC_NUMBER, AT(field) }
#define TEXT(name) { #name, METRIC_TEXT, AT(name) }

/* Fixed columns: no --columns, so no help. The first one names steps, the last
 * one sums, which lack the first. */
static const struct metric metrics[] = {
	{ "by_stack", METRIC_TEXT, METRIC_NAME | METRIC_KEEP_END,
	  "which was in", AT(by_stack), .shrink = 24 },
	NUMBER(request, request),
	NUMBER(depth, is.depth),
	{ "start", METRIC_TIME, AT(start), .drop = 2 },
	{ "time", METRIC_TIME, AT(time) },
	{ "longest", METRIC_TIME, AT(is.longest), .drop = 1 },
	{ "steps", METRIC_COUNT, AT(is.steps) },
	TEXT(what),
	{ "step", METRIC_TEXT, .title = "what", AT(step) },
	{ "object", METRIC_TEXT, METRIC_DROP_EMPTY, AT(object), .shrink = 12 },
	TEXT(kind),
	TEXT(address),
	TEXT(symbol),
	NUMBER(pid, pid),
	{ "tid", METRIC_NUMBER, METRIC_DASH, AT(tid), .drop = 4 },
	{ "coroutine", METRIC_NUMBER, METRIC_DASH | METRIC_DROP_EMPTY,
	  AT(is.who.coroutine), .drop = 3 },
	NUMBER(by_tid, by_tid),
	NUMBER(by_coroutine, is.by.coroutine),
	{ "stack", METRIC_TEXT, METRIC_KEEP_END, "in", AT(stack),
	  .shrink = 24 },
	{ "because", METRIC_TEXT, METRIC_DROP_EMPTY, "because of",
	  AT(because) },
	{ "caller", METRIC_TEXT, METRIC_DROP_EMPTY, "by", "caller",
	  AT(caller), .shrink = 24 },
	{ "function", METRIC_TEXT, METRIC_NAME | METRIC_KEEP_END, "in",
	  "function", AT(function), .shrink = 24 },
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics, "start,time,step,object,tid,coroutine,stack,because,by_stack",
	"request,depth,start,time,what,kind,address,symbol,pid,tid,coroutine,"
	"by_tid,by_coroutine,by_stack,stack"
}, sum_view = {
	metrics + 1, "time,longest,steps,step,object,caller,function",
	"request,time,longest,steps,what,kind,address,symbol,function,caller"
};

/* what: in place of a kind's word, or NULL. */
static void print_step(struct table *t, const struct waits *w, size_t request,
		       const struct path_step *of, const char *what)
{
	struct session *const s = t->source.session;
	const struct stack_frame *const f = of->stack == 0 ? NULL :
				stack_table_get(w->stacks, of->stack);
	const func_id caller = path_caller(w, of->stack);
	const bool is_wait = of->kind == PATH_WAITS && !what;
	char room[48], name[24], step[80], address[24] = "", because[40] = "";
	struct row r = { .is = *of, .request = request,
		.start = cells_since_start(s, of->begin),
		.time = of->end - of->begin,
		.what = what ? what : words[of->kind], .step = step,
		.address = address, .because = because,
		.pid = cells_pid(s, of->who.process),
		.tid = of->kind == PATH_SUSPENDED || what ? 0 :
		       cells_tid(s, of->who.thread),
		.stack = cells_stack(w->stacks, s->funcs, of->stack, t->csv),
		.by_stack = cells_stack(w->stacks, s->funcs, of->by_stack,
					t->csv),
		.by_tid = of->by.is_known ? cells_tid(s, of->by.thread) : 0,
		.kind = is_wait ? waits_kind_name(of->of.kind) : "",
		.symbol = is_wait ? waits_symbol(s, &of->of) : "",
		.function = f ? stack_frame_name(s->funcs, f, room) : "",
		.caller = caller ? func_get(s->funcs, caller)->name : "" };

	snprintf(step, sizeof(step), "%*s%s", (int)of->depth * 2, "", r.what);
	if (is_wait)
		snprintf(address, sizeof(address), "0x%" PRIx64,
			 of->of.address);
	if (of->by.is_known && of->by.coroutine != 0)
		snprintf(because, sizeof(because), "coroutine %" PRIu64,
			 of->by.coroutine);
	else if (of->by.is_known)
		snprintf(because, sizeof(because), "thread %" PRIu32, r.by_tid);
	r.object = !is_wait ? mem_copy("") :
		   mem_print("%s %s", r.kind, waits_name(s, &of->of, name));
	table_row(t, &r);
	mem_free_all(r.stack, r.by_stack, r.object);
}

/* ---- a request ---------------------------------------------------------- */

/* The step after i of the same depth; deeper ones are between them. */
static size_t step_next(const struct path_step *s, size_t count, size_t i)
{
	const uint32_t depth = s[i].depth;

	for (i++; i < count && s[i].depth > depth; i++)
		;
	return i;
}

ORDER_BY(by_falling, ticks, ORDER(*y, *x))

/* Steps that are shorter than the result are not among the `top` longest. */
static ticks least_of(const struct path_step *s, size_t count, size_t top)
{
	ticks *const all = mem_alloc((count + 1) * sizeof(*all));
	ticks least;
	size_t n = 0;

	for (size_t i = 0; i < count; i = step_next(s, count, i))
		all[n++] = s[i].end - s[i].begin;
	order_sort(all, n, by_falling);
	least = n > top ? all[top - 1] : 0;
	mem_free(all);
	return least;
}

/* In place of steps that are not shown, the last of which is given, so that the
 * times still add up. */
static void print_hidden(struct table *t, const struct waits *w,
			 struct path_step *rest, const struct path_step *last)
{
	char *const text = mem_print("[%" PRIu64 " shorter]", rest->steps);

	if (rest->steps > 1)
		print_step(t, w, 0, rest, text);
	else if (rest->steps == 1)
		print_step(t, w, 0, last, NULL);
	rest->steps = 0;
	mem_free(text);
}

/* The longest steps of the first one's depth in the order of time, each with
 * what others did; of that, what has a tenth of the time at least. */
static void print_steps(struct table *t, const struct waits *w,
			const struct path_step *s, size_t count, size_t top,
			ticks shortest)
{
	const ticks least = MAX(least_of(s, count, top), shortest);
	const size_t below = top == SIZE_MAX ? top : (size_t)TOP_BELOW;
	struct path_step rest = { .depth = s->depth };
	const struct path_step *last = NULL;

	for (size_t i = 0, left = top, next; i < count; i = next) {
		next = step_next(s, count, i);
		if (s[i].end - s[i].begin < least || left == 0) {
			last = &s[i];
			if (rest.steps++ == 0)
				rest.begin = rest.end = last->begin;
			rest.end += last->end - last->begin;
			continue;
		}
		print_hidden(t, w, &rest, last);
		left--;
		print_step(t, w, 0, &s[i], NULL);
		if (next > i + 1)
			print_steps(t, w, s + i + 1, next - i - 1, below,
				    top == SIZE_MAX ? 0 :
				    (s[i].end - s[i].begin) / 10);
	}
	print_hidden(t, w, &rest, last);
}

/* Who it is, and what its time was spent in. */
static void print_title(const struct session *s, const struct path *p,
			size_t number, const struct request *r,
			const struct path_step *sum, size_t count)
{
	const func_id body = path_body(p, r->who.process, r->who.coroutine);
	const func_id func = r->func ? r->func : body;
	char *const name = cells_name(!func ? "coroutine" :
				      func_get(s->funcs, func)->name);
	char *const of = cells_name(!body || body == func ? "" :
				    func_get(s->funcs, body)->name);
	char a[OUT_NUMBER], b[OUT_NUMBER];
	ticks sums[PATH_KINDS] = { 0 };
	const char *between = "   ";

	for (size_t i = 0; i < count; i++)
		sums[sum[i].kind] += sum[i].end;
	if (number > arg_first)
		putchar('\n');
	out_print(stdout, "%zu. %s: %s, from %s on, ", number, name,
		  out_number_time(a, (double)session_ns(s, r->to - r->from)),
		  out_number_time(b, (double)session_ns(s,
			cells_since_start(s, r->from))));
	if (r->who.coroutine != 0)
		printf("coroutine %" PRIu64, r->who.coroutine);
	else
		printf("thread %" PRIu32, cells_tid(s, r->who.thread));
	if (of[0])
		out_print(stdout, " of %s", of);
	putchar('\n');
	mem_free_all(name, of);
	for (int i = 0; i < PATH_KINDS; i++) {
		if (sums[i] == 0)
			continue;
		printf("%s%s %s", between, words[i], out_number_time(a,
		       (double)session_ns(s, sums[i])));
		between = ", ";
	}
	puts("\n");
}

/* What is not shown is one row. */
static void print_sums(struct table *t, const struct waits *w, size_t request,
		       const struct path_step *sum, size_t count, size_t top)
{
	struct path_step rest = { .steps = 0 };

	for (size_t i = 0; i < count; i++, sum++) {
		if (i < top || count == top + 1) {
			print_step(t, w, request, sum, NULL);
			continue;
		}
		rest.end += sum->end;
		rest.longest = MAX(rest.longest, sum->longest);
		rest.steps += sum->steps;
	}
	if (rest.steps > 0)
		print_step(t, w, request, &rest, "[others]");
}

static void print_request(struct table *t, const struct waits *w,
			  struct path *p, const struct request *r,
			  size_t number)
{
	struct table brief = { .source = t->source, .piped = PIPED };
	size_t count, n;
	struct path_step *const steps = path_steps(p, &r->who, r->from, r->to,
						   (uint32_t)arg_depth, &count);
	struct path_step *const sums = path_sums(w, steps, count, &n);
	bool is_brief = false; /* some steps are one sum */

	for (size_t i = 0; i < n; i++)
		is_brief |= sums[i].steps > 1;
	if (!t->csv)
		print_title(t->source.session, p, number, r, sums, n);
	if (!t->csv && !arg_sums && is_brief) {
		table_choose_fixed(&brief, &sum_view, NULL);
		table_begin(&brief);
		print_sums(&brief, w, 0, sums, n, TOP_SUMS);
		table_end(&brief);
		putchar('\n');
	}
	if (!t->csv)
		table_begin(t);
	if (arg_sums)
		print_sums(t, w, number, sums, n, table_top(USUAL_TOP));
	else if (!t->csv && count > 0)
		print_steps(t, w, steps, count, table_top(USUAL_TOP), 0);
	for (size_t i = 0; t->csv && !arg_sums && i < count; i++)
		print_step(t, w, number, &steps[i], NULL);
	if (!t->csv)
		table_end(t);
	mem_free_all(steps, sums);
}

/* ---- the requests ------------------------------------------------------- */

ORDER_BY(by_start, struct request,
	 UP(from) ?: UP(who.process) ?: UP(who.thread))

/* A call in a signal handler that interrupted a hook has no lane. The slowest
 * calls are found sorted; else all are kept. */
static enum cmd_exit find_calls(struct load *load, struct requests *to)
{
	struct session *const s = load->session;
	uint8_t *const wanted = named_functions(s, arg_call);
	struct slow *const slow = !wanted ? NULL : slow_new(
		&(struct slow_options){ .wanted = wanted,
			.funcs = func_count(s->funcs) + 1,
			.key = (enum slow_key)(arg_sort % START),
			.no_handlers = true,
			.top = arg_sort == START || arg_requests == 0 ? 0 :
			       arg_first - 1 + arg_requests });
	enum cmd_exit status = !slow ? CMD_USAGE :
		load_again(load, &slow_sink, slow) == 0 ? CMD_OK :
		CMD_UNREADABLE;

	if (slow)
		slow_finish(slow);
	for (size_t i = 0; slow && i < slow_found(slow)->count; i++) {
		const struct slow_call *const c = &slow_found(slow)->calls[i];

		*vec_add(&to->at, &to->room, &to->count) =
			(struct request){ { true, c->process, c->thread,
				c->coroutine }, c->begin, c->begin + c->total +
				c->suspended, c->func };
	}
	slow_free(slow);
	if (arg_sort == START)
		order_sort(to->at, to->count, by_start);
	if (status == CMD_OK && to->count == 0) {
		err_add("of no call of \"%s\" the beginning was recorded%s",
			arg_call, !named_are_noted(s, wanted) ? "" :
			": Lua was sampled; weft record --lua exact records "
			"its calls");
		status = CMD_UNREADABLE;
	}
	mem_free(wanted);
	return status;
}

static struct path_who track_who(const struct track *k)
{
	return (struct path_who){ true, k->process, k->thread, k->coroutine };
}

ORDER_BY(by_time, struct chronicle_mark, UP(at) ?: UP(track))
ORDER_BY(by_wall, struct request,
	 ORDER(y->to - y->from, x->to - x->from) ?: UP(from))

/* The coroutines that --id names, from when they first ran to when they last
 * did. */
static int find_coroutines(const struct chronicle_found *f, struct session *s,
			   struct requests *to)
{
	uint8_t *const wanted = id_serial ? NULL : named_functions(s, arg_id);
	struct map *const tracks = path_tracks(f);

	for (size_t i = 0; i < s->coroutine_count; i++) {
		const struct coroutine *const c = &s->coroutines[i];
		const struct path_who who = { true, c->process, 0, c->serial };
		const uint32_t at = path_track(tracks, &who);

		if (at != TRACK_NONE && f->tracks[at].runs > 0 &&
		    (wanted ? wanted[c->body] : c->serial == id_serial &&
		     (id_pid == 0 || cells_pid(s, c->process) == id_pid)))
			*vec_add(&to->at, &to->room, &to->count) =
				(struct request){ track_who(&f->tracks[at]),
					f->tracks[at].from, f->tracks[at].to,
					0 };
	}
	map_free(tracks);
	if (!wanted && !id_serial)
		return -1;
	mem_free(wanted);
	if (to->count > 1 && id_serial)
		return err_add("several processes have a coroutine %" PRIu64
			       "; give PID:%" PRIu64, id_serial, id_serial);
	order_sort(to->at, to->count, arg_sort == START ? by_start : by_wall);
	return to->count > 0 ? 0 : id_serial ?
	       err_add("no coroutine %s ran; weft coroutines --top 0 lists "
		       "them", arg_id) :
	       err_add("no coroutine begins with \"%s\"; weft coroutines "
		       "lists the functions with which they begin", arg_id);
}

/* Each mark B with the last A before it that the same thread or coroutine set;
 * if it set none, with that of whom else. */
static int find_marks(const struct chronicle_found *f, struct session *s,
		      struct requests *to)
{
	const char *const dots = strstr(arg_mark, "..");
	char *const first = mem_print("%.*s", (int)(dots - arg_mark), arg_mark);
	/* By track, and of all. */
	const struct chronicle_mark **const last =
		mem_alloc((f->count + 1) * sizeof(*last)), *any = NULL;

	order_sort(f->marks, f->mark_count, by_time);
	for (const struct chronicle_mark *m = f->marks;
	     m < f->marks + f->mark_count; m++) {
		const char *const name = func_get(s->funcs, m->func)->name;
		const struct chronicle_mark *const a = last[m->track] ?: any;

		if (a && filter_match_text(name, dots + 2))
			*vec_add(&to->at, &to->room, &to->count) =
				(struct request){ track_who(&f->tracks[
					m->track]), a->at, m->at, a->func };
		if (filter_match_text(name, first))
			last[m->track] = any = m;
	}
	mem_free_all(first, (void *)last);
	order_sort(to->at, to->count, arg_sort == START ? by_start : by_wall);
	return to->count > 0 ? 0 :
	       err_add("no mark \"%s\" follows a mark \"%.*s\"", dots + 2,
		       (int)(dots - arg_mark), arg_mark);
}

/* ---- the command -------------------------------------------------------- */

/* The lanes of a range; to 0: of all. NULL with the cause in the chain. */
static struct chronicle *collect(struct load *load, ticks from, ticks to)
{
	struct chronicle *const c = chronicle_new(&(struct chronicle_options){
		.by_coroutine = true, .max_spans = MOST_SPANS,
		.from = from, .to = to, .lanes_of = load->session });

	if (load_again(load, &chronicle_lanes_sink, c) == 0) {
		chronicle_finish(c);
		return c;
	}
	chronicle_free(c);
	return NULL;
}

/* Only those that are asked for. */
static int choose(struct requests *to)
{
	if (to->count < arg_first)
		return err_add("there are only %zu: no --nth %zu", to->count,
			       arg_first);
	to->count -= arg_first - 1;
	memmove(to->at, to->at + arg_first - 1, to->count * sizeof(*to->at));
	if (arg_requests > 0)
		to->count = MIN(to->count, arg_requests);
	return 0;
}

/* The requests, and the lanes of the time that they took. */
static enum cmd_exit find(struct load *load, struct requests *to,
			  struct chronicle **lanes)
{
	ticks from = UINT64_MAX, end = 0;
	enum cmd_exit status = CMD_OK;

	if (arg_call)
		status = find_calls(load, to);
	else if (!(*lanes = collect(load, 0, 0)))
		status = CMD_UNREADABLE;
	else if ((arg_id ? find_coroutines(chronicle_found(*lanes),
					   load->session, to) :
		  find_marks(chronicle_found(*lanes), load->session, to)) != 0)
		status = CMD_USAGE;
	if (status == CMD_OK && choose(to) != 0)
		status = CMD_USAGE;
	for (size_t i = 0; i < to->count; i++) {
		from = MIN(from, to->at[i].from);
		end = MAX(end, to->at[i].to);
	}
	if (status != CMD_OK ||
	    (*lanes && chronicle_found(*lanes)->below == 0))
		return status;
	chronicle_free(*lanes);
	*lanes = collect(load, from, end + 1);
	return *lanes ? CMD_OK : CMD_UNREADABLE;
}

static void print_requests(struct reading *r, const struct chronicle_found *f,
			   struct waits *w, const struct requests *all)
{
	struct path *const p = path_new(r->load.session, f, w);
	struct table t = { .source.session = r->load.session,
			   .csv = table_args.csv, .piped = PIPED };
	char text[OUT_NUMBER];

	reading_print_header(&r->load);
	table_choose_fixed(&t, arg_sums ? &sum_view : &view, NULL);
	if (t.csv)
		table_begin(&t);
	for (size_t i = 0; i < all->count; i++)
		print_request(&t, w, p, &all->at[i], arg_first + i);
	if (t.csv)
		table_end(&t);
	if (f->below > 0)
		table_note("calls shorter than %s are not told apart",
			   out_number_time(text, (double)session_ns(
				r->load.session, f->below)));
	if (!cct_knows_switches(r->load.session->cct, NULL, NULL))
		table_note("when threads were off the CPU is not known well: "
			   "some calls that wait seem to run");
	path_free(p);
}

static enum cmd_exit path_print(struct reading *r)
{
	struct requests all = { .count = 0 };
	struct chronicle *c = NULL;
	enum cmd_exit status = reading_can_sort(r->load.session,
		arg_sort >= SLOW_CPU && arg_sort != START,
		sort_keys[arg_sort]) != 0 ? CMD_USAGE :
		find(&r->load, &all, &c);
	struct waits w;

	waits_init(&w, r->load.session);
	if (status == CMD_OK && load_again(&r->load, &waits_sink, &w) != 0)
		status = CMD_UNREADABLE;
	waits_sort(&w);
	if (status == CMD_OK)
		print_requests(r, chronicle_found(c), &w, &all);
	waits_fini(&w);
	chronicle_free(c);
	mem_free(all.at);
	return status;
}

static int path_prepare(struct reading *r)
{
	(void)r;
	if (!arg_call + !arg_id + !arg_mark != 2)
		return err_add("give one of --call FUNCTION, --id ID or "
			       "--id BODY, and --mark A..B");
	if (!arg_call && arg_sort != SLOW_WALL && arg_sort != START)
		return err_add("--sort %s is only of --call",
			       sort_keys[arg_sort]);
	if (arg_first == 0)
		return err_add("--nth counts from 1");
	if (arg_depth > MOST_DEPTH)
		return err_add("--depth is %d at most", MOST_DEPTH);
	if (arg_mark && !strstr(arg_mark, ".."))
		return err_add("--mark takes two marks, A..B");
	return arg_id && arg_id[strspn(arg_id, "0123456789:")] == '\0' ?
	       filter_args_coroutine("id", arg_id, &id_pid, &id_serial) : 0;
}

static const struct filter_refusal refused[] = {
	{ FILTER_ALL, "a path leads through all threads and coroutines" },
	{ 0, NULL }
};

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .name = "call", .arg = "FUNCTION",
	  .to = &arg_call, .help = "the requests are calls of this function, "
	  "the slowest first" },
	{ .type = OPT_TEXT, .name = "id", .arg = "ID|BODY", .to = &arg_id,
	  .help = "the request is this coroutine; PID:ID if several processes "
	  "have one with this number; BODY: the requests are the coroutines "
	  "that begin with this function, the slowest first" },
	{ .type = OPT_TEXT, .name = "mark", .arg = "A..B", .to = &arg_mark,
	  .help = "the requests are from mark A to mark B, the slowest first" },
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys,
	  .help = "which requests come first: the slowest by this time, as in "
	  "weft slow, or those that began first" },
	{ .type = OPT_NUMBER, .name = "nth", .arg = "N", .to = &arg_first,
	  .help = "begin with the N-th of them" },
	{ .type = OPT_NUMBER, .name = "requests", .arg = "N",
	  .to = &arg_requests, .help = "requests to show, 0 for all" },
	{ .type = OPT_NUMBER, .letter = 'd', .name = "depth", .arg = "N",
	  .to = &arg_depth, .help = "how far to follow who was waited for: 0 "
	  "shows only what the request did, 1 also what those did meanwhile "
	  "for whom it waited, 2 also those for whom these waited, and so "
	  "on" },
	{ .type = OPT_FLAG, .name = "sums", .to = &arg_sums,
	  .help = "in place of the steps, only how long they took in all, by "
	  "what the request did and in which function" },
	TABLE_TOP("steps to show, the longest", 30),
	TABLE_CSV("rows for scripts: full names, times in ns"),
	{ .type = OPT_END }
};

const struct cmd cmd_path = {
	.name = "path",
	.args = "TRACE",
	.summary = "show what the time of one request was spent in, step by "
		   "step",
	.about =
	"Reads the trace in the folder DIR. Shows the time of a request as\n"
	"steps without gaps, which add up to its wall time. A request is a\n"
	"call of a function (the slowest one), a coroutine from when it first\n"
	"ran until it last did, or what a thread or coroutine did from one\n"
	"mark to another.\n"
	"\n"
	"A step runs (in: where it spent most of the time), has no core\n"
	"(run-wait; because of: the thread of the program that ran longest\n"
	"meanwhile), waits for an object (recorded with weft record --waits;\n"
	"because of: who held it, or let it go on), is blocked in another\n"
	"call, sleeps in none (other wait), or is suspended (because of: who\n"
	"resumed it).\n"
	"\n"
	"Before the steps stands how long they took in all, by what the\n"
	"request did and in which function: this adds up to its wall time,\n"
	"too. --sums shows that alone, also in CSV and JSON.\n"
	"\n"
	"Below a step that waits or is suspended, indented, are the steps in\n"
	"that time of the thread or coroutine that it was because of, if they\n"
	"took a tenth of it (--top 0 shows all).\n"
	"\n"
	"In CSV, depth 0 is the request itself. A step of depth 1 and more\n"
	"says what by_coroutine (0: the thread by_tid) of the last step of a\n"
	"lower depth did meanwhile. Stacks are names, outermost first,\n"
	"separated by ;.",
	.opts = opts,
	.refused = refused,
	.prepare = path_prepare,
	.print = path_print,
	.needs = "single steps",
};
