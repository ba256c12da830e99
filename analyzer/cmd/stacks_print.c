/* stacks_print.c - one stack after the other, or those that are alike together.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/stacks_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/load/header.h"
#include "analyzer/cmd/stacks_fold.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

struct printer {
	const struct load *load;
	const struct stacks_options *options;
	struct out_csv csv;
	struct stacks_fold *fold;  /* NULL: each by itself */
	size_t moment;           /* whose heading was printed last, + 1 */
	size_t shown, left;      /* stacks of this moment */
	int has_body, has_entry, has_old;
};

/* As enum snapshot_state. */
static const char *const states[] = {
	"running", "last", "off", "unknown", "suspended", "maybe", "new"
};

/* The same in a sentence. */
static const char *const sentences[] = {
	"running", "as its last record left it", "not recorded then",
	"not known, records are missing", "suspended",
	"suspended, unless it ran in missing records", "made, did not run yet"
};

static const char *name_of(const struct printer *p,
			   const struct snapshot_frame *f, char room[48])
{
	if (f->func != 0)
		return func_get(p->load->session->funcs, f->func)->name;
	if (f->omitted == 0)
		return "[open before start]";
	snprintf(room, 48, "[%" PRIu32 " frames]", f->omitted);
	return room;
}

/* A trace that grows may show more the second time. */
static uint32_t pid_of(const struct printer *p, uint32_t i)
{
	const struct session *const s = p->load->session;

	return i < s->process_count ? s->processes[i].pid : 0;
}

static uint32_t tid_of(const struct printer *p, uint32_t i)
{
	const struct session *const s = p->load->session;

	return i < s->thread_count ? s->threads[i].tid : 0;
}

static void print_frame(struct printer *p, const struct snapshot_stack *s,
			size_t i)
{
	const struct snapshot_frame *const f = &s->frames[i];
	const int is_body = (f->flags & STACK_BODY) != 0;
	const int enters = (f->flags & SNAPSHOT_ENTERS_LUA) != 0;
	const int old = (f->flags & STACK_BEFORE) != 0 && f->func != 0;
	char place[512] = "", room[48], *name, *file;

	if (f->func != 0)
		cells_place(place, sizeof(place),
			   func_get(p->load->session->funcs, f->func));
	name = out_escape_terminal(name_of(p, f, room));
	file = out_escape_terminal(place);
	printf("  %s %s%s%s%s", is_body ? "~" : enters ? ">" : " ", name,
	       old ? " (before)" : "", file[0] != '\0' ? "  " : "", file);
	if (is_body && !p->fold)
		printf("  [coroutine %" PRIu64 "]", f->coroutine);
	if (f->level > 0 && (i == 0 || s->frames[i - 1].level < f->level))
		fputs("  [signal handler]", stdout);
	putchar('\n');
	mem_free(name);
	mem_free(file);
	p->has_body |= is_body;
	p->has_entry |= enters;
	p->has_old |= old;
}

static void print_who(const struct printer *p, const struct snapshot_stack *s)
{
	const struct session *const session = p->load->session;
	char time[OUT_NUMBER], *name;

	if (!s->is_thread) {
		printf("coroutine %" PRIu64 " of process %" PRIu32 ": %s",
		       s->coroutine, pid_of(p, s->process),
		       sentences[s->state]);
		if (s->state == SNAPSHOT_SUSPENDED || s->state == SNAPSHOT_MAYBE ||
		    s->state == SNAPSHOT_NEW)
			printf(", since %s", out_number_time(time,
			       (double)session_ns(session, s->since -
					session_first_tick(session))));
		putchar('\n');
		return;
	}
	name = out_escape_terminal(s->thread < session->thread_count ?
				   session->threads[s->thread].name : "");
	printf("thread %" PRIu32 "%s%s of process %" PRIu32 ": %s%s\n",
	       tid_of(p, s->thread), name[0] != '\0' ? " " : "", name,
	       pid_of(p, s->process), sentences[s->state],
	       s->count == 0 && s->state <= SNAPSHOT_LAST ? ", no call open" :
	       "");
	mem_free(name);
}

static void end_moment(struct printer *p)
{
	char count[OUT_NUMBER];

	if (p->left > 0)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(count, p->left, "stacks"));
	p->shown = p->left = 0;
}

static void begin_moment(struct printer *p, size_t moment)
{
	char time[OUT_NUMBER];

	if (p->moment == moment + 1)
		return;
	end_moment(p);
	printf("%sat %s\n", p->moment > 0 ? "\n" : "", out_number_time(time,
	       (double)p->options->ns[moment]));
	p->moment = moment + 1;
}

static int has_room(struct printer *p)
{
	if (p->options->top != 0 && p->shown >= p->options->top) {
		p->left++;
		return 0;
	}
	p->shown++;
	return 1;
}

static void print_text(struct printer *p, const struct snapshot_stack *s)
{
	begin_moment(p, s->moment);
	if (!has_room(p))
		return;
	print_who(p, s);
	for (size_t i = 0; i < s->count; i++)
		print_frame(p, s, i);
}

/* --- csv --------------------------------------------------------------- */

static void csv_function(struct printer *p, const struct snapshot_frame *f)
{
	char room[48];

	if (f->func != 0) {
		cells_csv_func(&p->csv, p->load->session, f->func);
		return;
	}
	out_csv_text(&p->csv, name_of(p, f, room));
	for (int i = 0; i < 3; i++)
		out_csv_text(&p->csv, "");
	out_csv_number(&p->csv, 0);
}

static void csv_flags(struct printer *p, const struct snapshot_frame *f)
{
	out_csv_number(&p->csv, f->level);
	out_csv_number(&p->csv, (f->flags & STACK_BODY) != 0);
	out_csv_number(&p->csv, (f->flags & SNAPSHOT_ENTERS_LUA) != 0);
	out_csv_number(&p->csv, (f->flags & STACK_BEFORE) != 0);
}

static void csv_frame(struct printer *p, const struct snapshot_frame *f,
		      size_t depth)
{
	if (f) {
		out_csv_number(&p->csv, depth);
		csv_function(p, f);
		csv_flags(p, f);
	} else {
		for (int i = 0; i < 5; i++)
			out_csv_text(&p->csv, "");
		for (int i = 0; i < 5; i++)
			out_csv_number(&p->csv, 0);
	}
}

static void csv_row(struct printer *p, const struct snapshot_stack *s,
		    const struct snapshot_frame *f)
{
	const struct session *const session = p->load->session;

	out_csv_number(&p->csv, p->options->ns[s->moment]);
	out_csv_number(&p->csv, pid_of(p, s->process));
	if (s->is_thread)
		out_csv_number(&p->csv, tid_of(p, s->thread));
	else
		out_csv_text(&p->csv, "");
	out_csv_number(&p->csv, f != NULL ? f->coroutine : s->coroutine);
	out_csv_text(&p->csv, states[s->state]);
	csv_frame(p, f, f != NULL ? (size_t)(f - s->frames) : 0);
	if (s->is_thread || s->state == SNAPSHOT_UNKNOWN)
		out_csv_text(&p->csv, "");
	else
		out_csv_number(&p->csv, session_ns(session, s->since -
					session_first_tick(session)));
	out_csv_end(&p->csv);
}

static void print_csv(struct printer *p, const struct snapshot_stack *s)
{
	for (size_t i = 0; i < s->count; i++)
		csv_row(p, s, &s->frames[i]);
	if (s->count == 0)
		csv_row(p, s, NULL);
}

/* --- folded ------------------------------------------------------------ */

static void print_group(struct printer *p, const struct snapshot_stack *s,
			uint64_t count)
{
	char many[OUT_NUMBER];

	begin_moment(p, s->moment);
	if (!has_room(p))
		return;
	printf("%s: %s%s\n", out_number_many(many, count, s->is_thread ?
					     "threads" : "coroutines"),
	       sentences[s->state], s->count == 0 &&
	       s->state <= SNAPSHOT_LAST ? ", no call open" : "");
	for (size_t i = 0; i < s->count; i++)
		print_frame(p, s, i);
}

static void csv_group(struct printer *p, const struct snapshot_stack *s,
		      uint64_t count)
{
	for (size_t i = 0; i < s->count || i == 0; i++) {
		out_csv_number(&p->csv, p->options->ns[s->moment]);
		out_csv_number(&p->csv, count);
		out_csv_text(&p->csv, states[s->state]);
		csv_frame(p, s->count > 0 ? &s->frames[i] : NULL, i);
		out_csv_end(&p->csv);
	}
}

static void take_group(void *ctx, const struct snapshot_stack *s,
		       uint64_t count)
{
	struct printer *const p = ctx;

	if (p->options->csv)
		csv_group(p, s, count);
	else
		print_group(p, s, count);
}

/* --- the whole --------------------------------------------------------- */

static int is_wanted(const struct stacks_options *o,
		     const struct snapshot_stack *s)
{
	return !o->threads || (s->is_thread &&
				      s->thread < o->thread_count &&
				      o->threads[s->thread]);
}

static void take(void *ctx, const struct snapshot_stack *s)
{
	struct printer *const p = ctx;

	if (!is_wanted(p->options, s))
		return;
	if (p->fold)
		stacks_fold_add(p->fold, s);
	else if (p->options->csv)
		print_csv(p, s);
	else
		print_text(p, s);
}

static void print_legend(const struct printer *p)
{
	if (p->moment == 0)
		puts("nothing ran at any of these moments");
	if (p->has_body || p->has_entry || p->has_old)
		putchar('\n');
	if (p->has_entry)
		puts("> is a native call that entered Lua");
	if (p->has_body)
		puts("~ is the body of a coroutine");
	if (p->has_old)
		puts("(before): open since before it was recorded");
}

#define FRAME_COLUMNS "depth," CELLS_FUNC_COLUMNS ",level,is_body,enters_lua," \
	"is_old"

void stacks_print(struct load *load, struct snapshots *moments,
		  const struct stacks_options *options)
{
	struct printer p = { .load = load, .options = options,
			     .csv = { stdout, 0 } };

	if (options->fold)
		p.fold = stacks_fold_new(take_group, &p);
	if (options->csv) {
		header_print_losses(load);
		puts(options->fold ? "time_ns,count,state," FRAME_COLUMNS :
		     "time_ns,pid,tid,coroutine,state," FRAME_COLUMNS
		     ",since_ns");
	} else {
		header_print(stdout, load);
	}
	snapshots_each(moments, load->session->funcs, take, &p);
	if (p.fold)
		stacks_fold_finish(p.fold);
	if (!options->csv) {
		end_moment(&p);
		print_legend(&p);
	}
}
