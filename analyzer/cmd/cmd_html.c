/* cmd_html.c - "weft html": a page to click in. Knows which tables go into it;
 * out/page writes it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/named.h"
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/sides.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_file.h"
#include "analyzer/out/page/page.h"
#include "analyzer/replay/tee.h"
#include "analyzer/tables/filter.h"
#include "analyzer/watch/heap.h"

#include <string.h>

/* What is collected of single moments. */
enum { MOST_SPANS = 100000, MOST_LANES = 2000, MOST_CALLS = 1000,
       COLUMNS = 240 };

/* The options. arg_output NULL: TRACE.html beside the trace; arg_only
 * NULL: all. */
static const char *arg_output, *arg_only;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "the file to write; - is standard "
	  "output (default: TRACE.html beside the trace; merged.html if "
	  "there are several; diff.html with vs)" },
	{ .type = OPT_TEXT, .name = "only", .arg = "PATTERN",
	  .to = &arg_only, .help = "show single calls by time and "
	  "duration only of functions that match (default: of all)" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* ---- the page ----------------------------------------------------------- */

/* The lines at the top of every report; the caller frees them. */
static char *head_of(const struct load *load)
{
	struct mem_stream s;

	mem_stream_begin(&s);
	header_begin(s.to, load);
	return mem_stream_end(&s);
}

/* What ran when, which takes reading the trace once more. */
struct in_time {
	struct chronicle *chronicle;
	struct slow *slow, *requests; /* the latter of bodies of coroutines */
	uint8_t *wanted, *lasting, *bodies, *threads;
	struct page_calls calls;
	struct sleeps sleeps;
	struct waits waits;
	struct page_locks locks;
	struct page_path path;
	struct heap heap;
	struct page_memory memory; /* most: NULL: it is not known */
	bool is_whole;           /* else it is not known who sleeps or waits */
};

static void in_time_fini(struct in_time *m)
{
	chronicle_free(m->chronicle);
	slow_free(m->slow);
	slow_free(m->requests);
	sleeps_fini(&m->sleeps);
	waits_fini(&m->waits);
	heap_fini(&m->heap);
	mem_free(m->heap.curve);
	mem_free_all(m->wanted, m->lasting, m->bodies, m->threads,
		     (void *)m->locks.list, (void *)m->path.steps);
}

static void begin_lanes(struct in_time *m, const struct load *load)
{
	m->chronicle = chronicle_new(&(struct chronicle_options){
		.by_coroutine = true, .from = load->want.from,
		.to = load->want.to, .threads = m->threads,
		.thread_count = load->session->thread_count,
		.serial = load->want.serial, .pid = load->want.pid,
		.max_spans = MOST_SPANS, .lanes_of = load->session,
		.most = MOST_LANES });
}

/* Functions whose calls all last for most of the run: main, what threads begin
 * with, their loops. None of them is slow. */
static uint8_t *find_lasting(struct session *s, ticks length)
{
	const size_t count = cct_count(s->cct) + 1;
	uint64_t *const total = mem_alloc(2 * count * sizeof(*total));
	uint8_t *const all = mem_alloc(func_count(s->funcs) + 1);
	uint8_t *const brief = mem_alloc(func_count(s->funcs) + 1);

	cct_totals(s->cct, total, total + count);
	for (node_id id = 1; id < count; id++) {
		const struct cct_node *const n = cct_get(s->cct, id);
		const bool lasts = !(n->flags & CCT_BODY) && n->calls > 0 &&
				   total[id] / n->calls >= length / 4 * 3;

		(lasts ? all : brief)[n->func] |= n->calls > 0;
	}
	for (func_id id = 0; id <= func_count(s->funcs); id++)
		all[id] &= !brief[id];
	mem_free_all(total, brief);
	return all;
}

/* NULL: there are none. */
static uint8_t *find_bodies(const struct session *s)
{
	uint8_t *all = NULL;

	for (size_t i = 0; i < s->coroutine_count; i++) {
		if (s->coroutines[i].body == 0)
			continue;
		if (!all)
			all = mem_alloc(func_count(s->funcs) + 1);
		all[s->coroutines[i].body] = 1;
	}
	return all;
}

/* In the lanes' range. */
static void begin_calls(struct in_time *m, const struct load *load)
{
	const struct chronicle_found *const lanes =
		chronicle_found(m->chronicle);
	struct slow_options o = {
		.wanted = m->wanted,
		.funcs = func_count(load->session->funcs) + 1,
		.top = MOST_CALLS, .threads = m->threads,
		.from = load->want.from, .to = load->want.to,
		.thread_count = load->session->thread_count,
		.columns = COLUMNS, .first = lanes->from, .last = lanes->to };

	if (o.last - o.first < o.columns)
		o.columns = 0;
	if (!arg_only) {
		o.counted = m->lasting = find_lasting(load->session,
						      o.last - o.first);
		m->bodies = find_bodies(load->session);
	}
	m->slow = slow_new(&o);
	m->calls = (struct page_calls){ arg_only, slow_found(m->slow), NULL,
		o.columns, o.first, o.last };
	if (!m->bodies)
		return;
	o.wanted = m->bodies;
	o.columns = 0;
	m->requests = slow_new(&o);
	m->calls.requests = slow_found(m->requests);
}

/* The path of the slowest request, or call where there are no requests. */
static void find_path(struct in_time *m, const struct load *load)
{
	const struct slow_found *const f = m->requests ?
		slow_found(m->requests) : slow_found(m->slow);
	const struct slow_call *best = NULL;
	struct path *p;

	for (size_t i = 0; i < f->count; i++) {
		const struct slow_call *const c = &f->calls[i];

		if (c->level == 0 && (!best || c->total + c->suspended >
				      best->total + best->suspended))
			best = c;
	}
	if (!best || m->waits.span_count == 0)
		return;
	p = path_new(load->session, chronicle_found(m->chronicle), &m->waits);
	m->path.func = best->func;
	m->path.who = (struct path_who){ true, best->process, best->thread,
					 best->coroutine };
	m->path.steps = path_steps(p, &m->path.who, best->begin, best->begin +
				   best->total + best->suspended, 0,
				   &m->path.count);
	path_free(p);
}

/* In the lanes' range. */
static void draw_memory(struct in_time *m)
{
	const struct chronicle_found *const lanes =
		chronicle_found(m->chronicle);
	struct heap_table t;

	m->heap.parts = COLUMNS;
	m->heap.curve = mem_alloc(COLUMNS * sizeof(*m->heap.curve));
	heap_sum_up(&m->heap, m->threads, lanes->from, lanes->to, &t);
	m->memory = (struct page_memory){ t.mean, m->heap.curve, COLUMNS };
	mem_free(t.rows);
}

static int collect(struct in_time *m, struct load *load)
{
	const bool has_memory = session_note(load->session, "heap") &&
				load->want.serial == 0;
	struct tee tee = { .count = 0 };

	m->is_whole = !load->is_part;
	heap_init(&m->heap, load->session);
	waits_init(&m->waits, load->session);
	sleeps_init(&m->sleeps, load->session);
	tee_add(&tee, &chronicle_lanes_sink, m->chronicle);
	tee_add(&tee, &slow_sink, m->slow);
	if (m->requests)
		tee_add(&tee, &slow_sink, m->requests);
	tee_add(&tee, &sleeps_sink, &m->sleeps);
	tee_add(&tee, &waits_sink, &m->waits);
	if (has_memory)
		tee_add(&tee, &heap_sink, &m->heap);
	if (load_again(load, &tee.sink, &tee) != 0)
		return -1;
	chronicle_finish(m->chronicle);
	slow_finish(m->slow);
	if (m->requests)
		slow_finish(m->requests);
	if (has_memory)
		draw_memory(m);
	waits_sort(&m->waits);
	m->locks.waits = &m->waits;
	m->locks.list = locks_list(&m->waits, &m->locks.count);
	if (m->is_whole)
		find_path(m, load);
	return 0;
}

/* 0, or -1 with the cause in the chain. A profile has no moments. */
static int find_in_time(struct in_time *m, struct load *load)
{
	struct session *const s = load->session;

	*m = (struct in_time){ .chronicle = NULL };
	if (load->is_profile)
		return arg_only ? err_add("--only shows single "
			"calls, which only a trace holds") : 0;
	m->wanted = arg_only ? named_functions(s, arg_only) :
		    filter_match_funcs(s, "*");
	if (!m->wanted)
		return -1;
	m->threads = filter_args_threads(s);
	begin_lanes(m, load);
	begin_calls(m, load);
	return collect(m, load);
}

/* The tables of the page, and the load that they are of; before: what it is
 * compared with, or NULL. */
struct tables {
	struct load *load;
	const struct page_before *before;
	const struct in_time *in_time;
	char *head;
	struct flat *flat;
	struct callers *callers;
	struct coroutine_row *rows;
	struct coroutine_group *bodies;
	size_t body_count;
};

static void make_tables(struct tables *t)
{
	struct session *const s = t->load->session;
	const struct metric_view *const views = flat_views;
	const bool has_switches = cct_knows_switches(s->cct, NULL, NULL);

	t->head = head_of(t->load);
	t->flat = flat_new(s, &(struct flat_options){
		.sort = metric_find(views, has_switches ? "cpu" : "self"),
		.thread = CCT_ALL_THREADS });
	t->callers = callers_new(s->cct, func_count(s->funcs));
	t->rows = coroutine_rows(s, NULL, NULL,
		metric_sorting(coroutine_view.metrics, 0));
	t->bodies = coroutine_groups(s, &t->body_count);
}

static void free_tables(struct tables *t)
{
	mem_free_all(t->bodies, t->rows);
	callers_free(t->callers);
	flat_free(t->flat);
	mem_free(t->head);
}

/* What out_file_write calls; ctx is the struct tables. */
static int put_page(FILE *to, void *ctx)
{
	const struct tables *const t = ctx;
	struct session *const s = t->load->session;

	page_write(to, &(struct page){
		.session = s, .head = t->head,
		.title = s->process_count == 0 ? "weft" :
			 load_file_name(s->processes[0].path),
		.flat = t->flat, .callers = t->callers, .coroutines = t->rows,
		.coroutine_count = s->coroutine_count,
		.bodies = t->bodies, .body_count = t->body_count,
		.moments = t->in_time->chronicle ?
			chronicle_found(t->in_time->chronicle) : NULL,
		.calls = t->in_time->slow ? &t->in_time->calls : NULL,
		.sleeps = t->in_time->is_whole ? &t->in_time->sleeps : NULL,
		.locks = t->in_time->is_whole ? &t->in_time->locks : NULL,
		.path = t->in_time->is_whole ? &t->in_time->path : NULL,
		.memory = t->in_time->memory.most ? &t->in_time->memory : NULL,
		.before = t->before });
	return 0;
}

/* ---- the command -------------------------------------------------------- */

static enum cmd_exit write_page(struct load *load, const char *file,
				const struct page_before *before)
{
	struct in_time in_time;
	struct tables tables = { .load = load, .before = before,
				 .in_time = &in_time };
	int status = find_in_time(&in_time, load);

	if (status == 0) {
		make_tables(&tables);
		status = out_file_write(file, put_page, &tables);
		free_tables(&tables);
	}
	if (status == 0 && strcmp(file, "-") != 0)
		fprintf(stderr, "weft: page written to %s\n", file);
	in_time_fini(&in_time);
	return status == 0 ? CMD_OK : CMD_UNREADABLE;
}

/* The page of what came after, with what came before. */
static enum cmd_exit compare(int count, char **operands)
{
	struct sides sides;
	enum cmd_exit status = sides_open(&sides, true, count, operands);

	if (status == CMD_OK) {
		struct session *const before = sides.before.session;
		char *const head = head_of(&sides.before);

		sides.diff = diff_new(before, sides.after.session);
		status = write_page(&sides.after, arg_output ? arg_output :
				    "diff.html", &(struct page_before){
			before, head, sides.diff, sides.is_raw });
		mem_free(head);
		header_print_losses(&sides.before);
		header_print_losses(&sides.after);
	}
	sides_close(&sides);
	return status;
}

/* The page is written even if the trace holds no call: it says why. */
static enum cmd_exit show(int count, char **operands)
{
	static const struct replay_collect want = { .hist = 1 };
	char room[4096];
	struct load load;
	enum cmd_exit status;

	load_want_net(true);
	load_want_heap(true);
	status = load_open_with(&load, &want, count, operands);
	if (status == CMD_OK)
		status = write_page(&load, arg_output ? arg_output :
			out_file_beside(count > 1 ? "merged" : load.path,
					".html", room, sizeof(room)), NULL);
	if (status == CMD_OK) {
		header_print_losses(&load);
		status = header_need_calls(&load);
	}
	load_close(&load);
	return status;
}

static enum cmd_exit html_run(int count, char **operands)
{
	return sides_are(count, operands) ? compare(count, operands) :
	       show(count, operands);
}

const struct cmd cmd_html = {
	.name = "html",
	.args = "TRACE... | A... vs B...",
	.summary = "write a page for a browser: flame graph, tables, time line",
	.about =
	"Reads traces or profiles (several are merged) and writes one page\n"
	"that a browser opens from disk: it needs no network and no other\n"
	"file. It shows the stacks as a flame graph (zoom by a click, search,\n"
	"callers below or above, by thread or by coroutine), the functions\n"
	"as a table with the callers and callees of the chosen one, the\n"
	"coroutines, when each thread and coroutine ran what, and single\n"
	"calls by time and duration (of all functions, or of those that\n"
	"--only names). A profile does not say what ran when, and has no\n"
	"single calls: its page lacks both. What was lost stands on top.\n"
	"\n"
	"With the word vs, the sessions before it are compared with those\n"
	"after it: the flame graph shows what takes more time (red) or less\n"
	"(blue), and a table has the reasons, as weft diff finds them.\n"
	"\n"
	"Beyond 200,000 distinct stacks, the smallest are folded into\n"
	"\"(other)\", which says how many they are. Beyond 100,000 spans of\n"
	"time, short neighbours are folded. The page is never larger than\n"
	"20 MB, and says what it leaves out to stay below that.",
	.opts = opts,
	.run = html_run,
	.is_unpaged = true,
};
