/* cmd_heap.c - "weft heap": who takes memory, and who has it. What is taken
 * and given back is collected by watch/heap in another replay.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/time_argument.h"
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/cmd/shared/unseen.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_file.h"
#include "analyzer/out/out_number.h"
#include "analyzer/profile/profile.h"
#include "analyzer/tables/filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_TOP = 30, FEW_SAMPLES = 30, FEW_CYCLES = 6,
       FEW_LEFT = 10 }; /* of this many parts of the most, less than one */

/* The options. arg_output: NULL: a table is printed. */
static const char *arg_at, *arg_output;
static int arg_by = -1;
enum { BY_STACK, BY_FUNCTION, BY_VM };
static const char *const by_names[] = { "stack", "function", "vm", NULL };

/* ---- rows --------------------------------------------------------------- */

struct row {
	struct heap_row h;
	/* The same as whole numbers. growth, lasting: 0: it shrinks. _error:
	 * standard errors. */
	uint64_t in_use, blocks, at_peak, lasting, growth, before, taken,
		 allocations, freed, frees;
	uint64_t in_use_error, at_peak_error, taken_error;
	char *name;              /* whole; mem_free frees it */
};

/* In the table as people read them. */
static METRIC_GETTER(get_bytes)
{
	char text[OUT_NUMBER];

	metric_show(v, "%s", out_number_bytes(text, v->count));
	v->is_none = v->count == 0;
	v->is_blank = v->count == 0 && strstr(m->name, "error");
}

static METRIC_GETTER(get_lifetime)
{
	const struct heap_row *const h = &((const struct row *)row)->h;

	v->is_unknown = h->is.freed.blocks <= 0;
	v->real = v->is_unknown ? 0 : h->lived / h->is.freed.blocks;
	v->count = (uint64_t)(v->real + 0.5);
}

#define AT(field) METRIC_AT(struct row, field)
#define BYTES(name, field, what, ...) \
	{ name, METRIC_COUNT, METRIC_SORTS | METRIC_DASH, .help = what, \
	  AT(field), .get = get_bytes, __VA_ARGS__ }
#define COUNT(name, field, what, ...) \
	{ name, METRIC_COUNT, METRIC_SORTS | METRIC_DASH, .help = what, \
	  AT(field), __VA_ARGS__ }

static const struct metric heap_metrics[] = {
	BYTES("in-use", in_use, "bytes that had not been given back "
	      "at the end, or at --to", .key = "in_use_bytes"),
	{ "in-use-error", METRIC_COUNT, METRIC_DROP_EMPTY, "\302\261",
	  "in_use_error_bytes", "standard error of in-use, where only samples "
	  "were noted", AT(in_use_error), get_bytes, .drop = 4 },
	COUNT("blocks", blocks, "how many blocks that is",
	      .key = "in_use_blocks"),
	BYTES("at-peak", at_peak, "bytes in use when the program had most in "
	      "use", .key = "at_peak_bytes"),
	{ "at-peak-error", METRIC_COUNT, METRIC_DROP_EMPTY, "\302\261",
	  "at_peak_error_bytes", "standard error of at-peak",
	  AT(at_peak_error), get_bytes, .drop = 4 },
	BYTES("lasting", lasting, "bytes that last, more than before: in use "
	      "all through the second half of the time since --from, less "
	      "those all through its first half", .key = "lasting_bytes"),
	BYTES("growth", growth, "bytes in use at the end, or at --to, more "
	      "than at --from", .key = "growth_bytes"),
	BYTES("before", before, "bytes in use at --from",
	      .key = "before_bytes"),
	BYTES("allocated", taken, "bytes that were taken",
	      .key = "allocated_bytes"),
	{ "allocated-error", METRIC_COUNT, METRIC_DROP_EMPTY, "\302\261",
	  "allocated_error_bytes", "standard error of allocated",
	  AT(taken_error), get_bytes, .drop = 4 },
	COUNT("allocations", allocations, "how often memory was taken, or "
	      "moved", .drop = 1),
	BYTES("freed", freed, "bytes of these stacks that were given "
	      "back, by whomever", .key = "freed_bytes", .drop = 3),
	COUNT("frees", frees, "how many blocks that is", .drop = 3),
	{ "lifetime", METRIC_MEAN, METRIC_SORTS, .get = get_lifetime,
	  .help = "how long a block that was given back was in use, on "
	  "average", .drop = 2 },
	{ "name", METRIC_TEXT, METRIC_NAME | METRIC_KEEP_END, "taken by",
	  "taken_by", AT(name), .shrink = 24,
	  .help = "the stack, or with --by function the innermost function, "
	  "that took it" },
	{ .name = NULL }
};

#define CSV_COLUMNS "in-use,blocks,growth,before,allocated,allocations," \
	"freed,frees,lifetime,in-use-error,allocated-error,name,lasting," \
	"at-peak,at-peak-error"
static const struct metric_view heap_view = {
	heap_metrics,
	"in-use,in-use-error,blocks,allocated,allocated-error,allocations,"
	"lifetime,name", CSV_COLUMNS
};
static const struct metric_view peak_view = {
	heap_metrics,
	"at-peak,at-peak-error,in-use,in-use-error,blocks,allocated,"
	"allocated-error,allocations,lifetime,name", CSV_COLUMNS
};
static const struct metric_view growth_view = {
	heap_metrics,
	"lasting,growth,in-use,in-use-error,blocks,allocated,allocated-error,"
	"allocations,lifetime,name", CSV_COLUMNS
};

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .name = "at", .arg = "T", .to = &arg_at,
	  .help = "what was in use at this time since the start ("
	  TIME_ARGUMENT_UNITS "); the same as --to" },
	{ .type = OPT_CHOICE, .name = "by", .arg = "WHAT", .to = &arg_by,
	  .choices = by_names,
	  .help = "a row for each" },
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "write a profile for \"go tool pprof\" "
	  "and others instead: alloc_objects, alloc_space, inuse_objects and "
	  "inuse_space of each stack" },
	TABLE_TOP("rows to show", 30),
	TABLE_OPTS(heap_view),
	{ .type = OPT_END }
};

/* The innermost function that is no place in code without hooks; where there is
 * none, the module of that code. */
static char *function_of(const struct heap *h, struct session *s,
			 stack_id stack)
{
	const func_id taker = heap_taker(h, s->funcs, stack);
	char *const copy = mem_copy(stack == 0 ? "[thread]" : func_get(s->funcs,
		taker ? taker : stack_table_get(h->stacks, stack)->func)->name);
	char *const plus = strstr(copy, "+0x");

	if (plus)
		*plus = '\0';
	return copy;
}

static char *name_of(const struct heap *h, struct session *s, stack_id stack)
{
	if (arg_by == BY_FUNCTION)
		return function_of(h, s, stack);
	return stack == 0 ? mem_copy("[thread]") :
	       cells_stack(h->stacks, s->funcs, stack, table_args.csv);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name,
		      ((const struct row *)b)->name);
}

static int compare_rows(const void *a, const void *b, void *metric)
{
	const struct row *const x = a, *const y = b;

	return metric_compare(metric, NULL, a, b) ?:
	       ORDER(y->taken, x->taken) ?: compare_names(a, b);
}

/* Rows of one name become one. Returns how many there are. */
static size_t join(struct row *rows, size_t count)
{
	size_t n = 0;

	if (count > 1)
		qsort(rows, count, sizeof(*rows), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (n > 0 && compare_names(&rows[n - 1], &rows[i]) == 0) {
			heap_add_row(&rows[n - 1].h, &rows[i].h);
			mem_free(rows[i].name);
		} else {
			rows[n++] = rows[i];
		}
	}
	return n;
}

/* What a damaged trace says may be beyond all numbers. */
static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)(fmin(value, 1e18) + 0.5) : 0;
}

static void fill(struct row *r)
{
	const struct heap_row *const h = &r->h;

	r->in_use = whole(h->is.in_use.bytes);
	r->blocks = whole(h->is.in_use.blocks);
	r->at_peak = whole(h->at_most.bytes);
	r->at_peak_error = whole(cct_heap_error(&h->at_most));
	r->lasting = whole(heap_lasting(h, 0, HEAP_POINTS - 1));
	r->growth = whole(h->is.in_use.bytes - h->before.bytes);
	r->before = whole(h->before.bytes);
	r->taken = whole(h->is.taken.bytes);
	r->allocations = whole(h->is.taken.blocks);
	r->freed = whole(h->is.freed.bytes);
	r->frees = whole(h->is.freed.blocks);
	r->in_use_error = whole(cct_heap_error(&h->is.in_use));
	r->taken_error = whole(cct_heap_error(&h->is.taken));
}

static void print_rows(struct reading *r, const struct heap *h,
		       const struct heap_table *t,
		       const struct metric_view *view)
{
	struct row *const rows = mem_alloc((t->count + 1) * sizeof(*rows));
	struct session *const s = r->load.session;
	const struct metric *const by = table_args.sort ? table_args.sort :
					metric_first(view);
	size_t n;

	for (size_t i = 0; i < t->count; i++)
		rows[i] = (struct row){ .h = t->rows[i],
			.name = name_of(h, s, t->rows[i].stack) };
	n = join(rows, t->count);
	for (size_t i = 0; i < n; i++)
		fill(&rows[i]);
	if (n > 1)
		qsort_r(rows, n, sizeof(*rows), compare_rows, (void *)by);
	r->table.source.session = s;
	table_print(&r->table, rows, n, sizeof(*rows), USUAL_TOP,
		    arg_by == BY_FUNCTION ? "functions" : "stacks");
	for (size_t i = 0; i < n; i++)
		mem_free(rows[i].name);
	mem_free(rows);
}

/* ---- Lua states --------------------------------------------------------- */

struct vm_line { struct vm_row row; char name[GROUP_NAME]; };

static METRIC_GETTER(get_growth)
{
	const struct vm_row *const r = &((const struct vm_line *)row)->row;

	v->count = r->least[0] > 0 && r->least[1] > r->least[0] ?
		   r->least[1] - r->least[0] : 0;
}

static METRIC_GETTER(get_state)
{
	v->text = ((const struct vm_line *)row)->name;
}

#define VM_AT(field) METRIC_AT(struct vm_line, row.field)

/* Fixed columns: no --columns, so no help. */
static const struct metric vm_metrics[] = {
	{ "in-use", METRIC_BYTES, METRIC_DASH, VM_AT(bytes) },
	{ "read", METRIC_TIME, 0, "read after", "read_ns", VM_AT(at),
	  .drop = 3 },
	{ "growth", METRIC_BYTES, METRIC_DASH, .get = get_growth },
	{ "most", METRIC_BYTES, METRIC_DASH, VM_AT(most) },
	{ "most-at", METRIC_TIME, 0, "after", "most_at_ns", VM_AT(most_at),
	  .drop = 2 },
	{ "jump", METRIC_BYTES, METRIC_DASH, "largest jump", VM_AT(jump) },
	{ "jump-at", METRIC_TIME, 0, "after", "jump_at_ns", VM_AT(jump_at),
	  .drop = 1 },
	{ "readings", METRIC_COUNT, METRIC_DASH, VM_AT(readings), .drop = 4 },
	{ "cycles", METRIC_COUNT, METRIC_DASH, VM_AT(cycles) },
	{ "state", METRIC_TEXT, METRIC_NAME, .get = get_state, .shrink = 24 },
	{ .name = NULL }
};

#define VM_COLUMNS "in-use,read,growth,most,most-at,jump,jump-at,readings," \
	"cycles,state"
static const struct metric_view vm_view = {
	vm_metrics, VM_COLUMNS, VM_COLUMNS
};

static bool is_shown(const struct session *s, const struct vm_row *row)
{
	const char *const process = filter_args_text(FILTER_PROCESS);

	return !process || filter_match_process(s, s->vms[row->vm].process,
						process);
}

static enum cmd_exit print_vms(struct reading *r, ticks to)
{
	struct session *const s = r->load.session;
	const size_t top = table_top(USUAL_TOP);
	struct vm_memory m;
	struct vm_row *rows;
	size_t count, shown = 0;

	vm_memory_init(&m);
	if (load_again(&r->load, &vm_memory_sink, &m) != 0) {
		vm_memory_fini(&m);
		return CMD_UNREADABLE;
	}
	rows = vm_memory_rows(&m, s, r->load.want.from, to, &count);
	reading_begin_header(&r->load);
	if (count == 0)
		table_note("no Lua state was read: that takes weft record "
			   "--heap, and a Lua whose memory weft knows");
	out_print(table_notes(), "\n");
	r->table.source.session = s;
	table_choose_fixed(&r->table, &vm_view, NULL);
	table_begin(&r->table);
	for (size_t i = 0; i < count; i++) {
		struct vm_line line = { .row = rows[i] };

		if (!is_shown(s, &rows[i]) || shown++ >= top)
			continue;
		group_name_vm(s, rows[i].vm, line.name);
		table_row(&r->table, &line);
	}
	table_end(&r->table);
	table_print_rest(shown > top ? shown - top : 0, "states");
	mem_free(rows);
	vm_memory_fini(&m);
	return CMD_OK;
}

/* ---- a profile ---------------------------------------------------------- */

struct profile { struct session *session; struct profile_stacks stacks; };

static int put_profile(FILE *to, void *ctx)
{
	const struct profile *const p = ctx;

	return profile_write_stacks(to, p->session, &p->stacks);
}

static int write_profile(struct session *s, const struct heap *h,
			 const struct heap_table *t)
{
	struct profile_stack *const list = mem_alloc((t->count + 1) *
						     sizeof(*list));
	struct profile p = { s, { h->stacks, list, t->count,
		{ { "alloc_objects", "count" }, { "alloc_space", "bytes" },
		  { "inuse_objects", "count" }, { "inuse_space", "bytes" } },
		"inuse_space" } };
	int status;

	for (size_t i = 0; i < t->count; i++) {
		const struct heap_row *const r = &t->rows[i];

		list[i] = (struct profile_stack){ r->stack, {
			(int64_t)whole(r->is.taken.blocks),
			(int64_t)whole(r->is.taken.bytes),
			(int64_t)whole(r->is.in_use.blocks),
			(int64_t)whole(r->is.in_use.bytes) } };
	}
	status = out_file_write(arg_output, put_profile, &p);
	mem_free(list);
	return status;
}

/* ---- sentences ---------------------------------------------------------- */

static void print_sum(const char *when, const struct heap_sum *sum)
{
	char bytes[OUT_NUMBER], blocks[OUT_NUMBER], error[OUT_NUMBER];

	out_number_bytes(bytes, whole(sum->bytes));
	out_number_many(blocks, whole(sum->blocks), "blocks");
	if (sum->variance > 0)
		table_note("%s: %s \302\261 %s in %s", when, bytes,
			   out_number_bytes(error, whole(cct_heap_error(sum))),
			   blocks);
	else
		table_note("%s: %s in %s", when, bytes, blocks);
}

/* Where samples are too few to rank stacks by. */
static void print_few(const struct heap_table *t)
{
	char text[OUT_NUMBER];

	table_note("samples found only %s: weft record --heap=4k finds more, "
		   "--heap=exact all", out_number_many(text, t->noted,
						       "blocks"));
}

/* Why there is nothing. */
static void print_nothing(const struct session *s, const struct heap_table *t)
{
	if (!session_note(s, "heap"))
		table_note("memory was not recorded: weft record --heap "
			   "records it");
	else if (t->mean > 0)
		print_few(t);
	else
		table_note("no call took memory, as far as weft sees: a "
			   "program that is linked statically, or has a malloc "
			   "of its own, is not seen");
}

static void print_sums(const struct session *s, const struct heap_table *t,
		       bool has_end, bool by_peak)
{
	const uint64_t most_ns = session_ns(s, t->most_at -
					    session_first_tick(s));
	char text[OUT_NUMBER], most[2 * OUT_NUMBER];

	if (t->all.is.taken.blocks + t->all.before.blocks <= 0 &&
	    t->unknown == 0) {
		print_nothing(s, t);
		return;
	}
	snprintf(most, sizeof(most), "most in use, after %s",
		 out_number_time(text, (double)most_ns));
	if (t->mean > 0)
		table_note("by samples: one byte in %s, on average; \302\261 "
			   "is one standard error", out_number_count(text,
								  t->mean));
	print_sum(has_end ? "in use then" : "still in use at the end",
		  &t->all.is.in_use);
	print_sum("taken", &t->all.is.taken);
	print_sum(most, &t->all.at_most);
	if (!has_end && t->all.is.in_use.bytes < t->most.bytes / 2)
		table_note("most of that was given back before the end: --at "
			   "%" PRIu64 "ns shows who had it%s", most_ns + 1,
			   by_peak ? ", as at-peak does" : "");
	if (session_note(s, "duty"))
		table_note("recording was off at times (--duty): what was "
			   "given back then counts as in use");
	if (t->mean > 0 && t->noted < FEW_SAMPLES)
		print_few(t);
	if (t->unknown > 0)
		table_note("%s given back that nobody was seen to take: before "
			   "the recording, or in the parent process",
			   out_number_many(text, t->unknown, "blocks"));
	if (t->lost > 0)
		table_note("%s given back unseen", out_number_many(text,
			   t->lost, "blocks"));
	out_print(table_notes(), "\n");
}

/* Compiled Lua is no function of a stack. */
static void print_beside(struct session *s, const struct heap *h,
			 const struct heap_table *t)
{
	bool is_beside = false;

	for (size_t i = 0; i < t->count && !is_beside; i++) {
		const stack_id stack = t->rows[i].stack;
		const func_id taker = heap_taker(h, s->funcs, stack);

		is_beside = heap_is_luas(h, s->funcs, stack) && taker &&
			    func_get(s->funcs, taker)->kind != FUNC_LUA;
	}
	if (is_beside && cells_samples_lua(s))
		table_note("Lua was sampled: what its functions took may stand "
			   "under what runs Lua instead; weft record --lua "
			   "exact shows it under them");
}

/* Garbage that no whole cycle has looked at seems to last. By samples of
 * blocks, not each cycle is seen. */
static void print_cycles(struct session *s, struct unseen *u, ticks from,
			 ticks to)
{
	char name[GROUP_NAME], many[OUT_NUMBER];
	size_t count, i = 0;
	struct vm_row *const rows = vm_memory_rows(&u->vms, s, from, to,
						   &count);

	while (i < count && (rows[i].cycles >= FEW_CYCLES || rows[i].jump == 0))
		i++;
	if (i < count) {
		group_name_vm(s, rows[i].vm, name);
		table_note("the collector of %s was seen to end only %s in "
			   "that time: what lasts may yet be garbage", name,
			   out_number_many(many, rows[i].cycles, "cycles"));
	}
	mem_free(rows);
}

/* ---- the command -------------------------------------------------------- */

static int heap_prepare(struct reading *r)
{
	if (arg_at && filter_args_refuse(FILTER_SET(TO) | FILTER_MARKS,
					 "--at is the end of the time") != 0)
		return -1;
	if (arg_output && (table_args.csv || arg_by >= 0))
		return err_add("--csv, --json and --by are for tables, not for "
			       "-o");
	if (arg_by == BY_VM && (table_args.sort || table_args.columns))
		return err_add("--by vm has columns and an order of its own; "
			       "leave out --%s", table_args.sort ? "sort" :
			       "columns");
	if (arg_by == BY_VM &&
	    filter_args_refuse(FILTER_SET(THREAD), "a Lua state may run on any "
			       "thread") != 0)
		return -1;
	if (arg_output && strcmp(arg_output, "-") == 0)
		return err_add("a profile is binary: give -o the name of a "
			       "file");
	return table_choose(&r->table, &heap_view);
}

/* At the end of what gives all back, there is little to see. */
static const struct metric_view *choose_view(const struct reading *r,
					     const struct heap_table *t,
					     ticks to)
{
	return r->load.want.from > 0 ? &growth_view :
	       to == UINT64_MAX &&
	       t->all.is.in_use.bytes < t->most.bytes / FEW_LEFT ?
	       &peak_view : &heap_view;
}

static enum cmd_exit heap_print(struct reading *r)
{
	struct session *const s = r->load.session;
	ticks to = r->load.want.to > 0 ? r->load.want.to : UINT64_MAX;
	const struct metric_view *view;
	enum cmd_exit status = CMD_OK;
	struct heap_table t;
	uint8_t *threads;
	struct unseen u;
	char *unseen;

	if (arg_at && time_argument_edge(s, arg_at, "at", &to) != 0)
		return CMD_USAGE;
	if (arg_by == BY_VM)
		return print_vms(r, to);
	unseen_init(&u, s);
	if (unseen_read(&u, &r->load) != 0) {
		unseen_fini(&u);
		return CMD_UNREADABLE;
	}
	threads = filter_args_threads(s);
	heap_sum_up(&u.heap, threads, r->load.want.from, to, &t);
	reading_begin_header(&r->load);
	unseen = unseen_text(&u, s, &t, r->load.want.from, to);
	if (unseen)
		table_note("%s", unseen);
	print_beside(s, &u.heap, &t);
	if (r->load.want.from > 0 && t.mean == 0)
		print_cycles(s, &u, r->load.want.from, to);
	view = choose_view(r, &t, to);
	table_choose(&r->table, view);
	print_sums(s, &t, to != UINT64_MAX, view == &peak_view);
	if (!arg_output)
		print_rows(r, &u.heap, &t, view);
	else if (write_profile(s, &u.heap, &t) != 0)
		status = CMD_UNREADABLE;
	mem_free_all(t.rows, threads, unseen);
	unseen_fini(&u);
	return status;
}

static const struct filter_refusal refused[] = {
	{ FILTER_FUNCTIONS | FILTER_SET(COROUTINE),
	  "memory is shown by whole stacks; --columns name --csv has them for "
	  "grep" },
	{ 0, NULL }
};

const struct cmd cmd_heap = {
	.name = "heap",
	.args = "DIR",
	.summary = "show which stacks take memory, and have it",
	.about =
	"Reads the trace in the folder DIR, recorded with weft record\n"
	"--heap. Shows a row for each stack that took memory: native\n"
	"and Lua functions, and last the code that calls malloc, if that has\n"
	"no hooks.\n"
	"\n"
	"in-use is what the stack took and nobody had given back at the end.\n"
	"If the program gives nearly all back before, rows are sorted by\n"
	"at-peak: what was in use when that was most.\n"
	"It may be needed: weft does not know what the program can still\n"
	"reach. --at shows what was in use at another time. --from and --to\n"
	"show what happened in between: growth is how much more was in use at\n"
	"the later time. A function that leaks grows again and again.\n"
	"\n"
	"--by vm shows what each Lua state has in use, as Lua counts it: at\n"
	"the last reading, the most, and the largest jump from one reading to\n"
	"the next. Readings are some ms apart while the state works.\n"
	"\n"
	"-o writes a profile for pprof, speedscope and others.\n"
	"\n"
	"Bytes are those that the program asked for. A realloc takes a block\n"
	"and gives one back, also where it stays in its place.",
	.opts = opts,
	.refused = refused,
	.prepare = heap_prepare,
	.print = heap_print,
	.needs = "single allocations",
};
