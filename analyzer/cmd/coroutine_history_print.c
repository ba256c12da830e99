/* coroutine_history_print.c - who made and resumed a coroutine, how long it slept and
 * where, and what it ran itself.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/coroutine_history_print.h"

#include "analyzer/base/err.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_table.h"
#include "analyzer/watch/coroutine_history.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/base/vec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_SHOWN = 10 };

/* --- which one ---------------------------------------------------------- */

static const struct coroutine *find(const struct session *s, const char *id)
{
	const char *const colon = strchr(id, ':');
	const struct coroutine *found = NULL;
	char *end;
	const unsigned long pid = !colon ? 0 : strtoul(id, &end, 10);
	const char *const digits = !colon ? id : colon + 1;
	const unsigned long long serial = strtoull(digits, &end, 10);

	if (digits[0] < '0' || digits[0] > '9' || *end != '\0') {
		err_add("--id wants a number, or PID:NUMBER, not \"%s\"", id);
		return NULL;
	}
	for (size_t i = 0; i < s->coroutine_count; i++) {
		const struct coroutine *const c = &s->coroutines[i];

		if (c->serial != serial || (colon &&
		    s->processes[c->process].pid != pid))
			continue;
		if (found) {
			err_add("several processes have a coroutine %llu; give "
				"PID:%llu", serial, serial);
			return NULL;
		}
		found = c;
	}
	if (!found)
		err_add("there is no coroutine %s; weft coroutines --top 0 "
			"lists them", id);
	return found;
}

/* --- one step ----------------------------------------------------------- */

static const char *func_name(const struct session *s, func_id id)
{
	return id == 0 ? "" : func_get(s->funcs, id)->name;
}

static uint64_t since_start(const struct session *s, ticks t)
{
	const ticks first = session_first_tick(s);

	return t > first ? session_ns(s, t - first) : 0;
}

/* "a;b;c", outermost first; the caller's to free. */
static char *stack_text(const struct session *s, const struct stack_table *t,
			stack_id id, const char *between)
{
	const size_t n = stack_table_depth(t, id);
	stack_id *const ids = mem_alloc((n + 1) * sizeof(*ids));
	char *text = mem_copy(""), left_out[48];
	size_t used = 0, room = 1;

	for (size_t i = n; i-- > 0; id = stack_table_get(t, id)->below)
		ids[i] = id;
	for (size_t i = 0; i < n; i++) {
		const struct stack_frame *const f = stack_table_get(t, ids[i]);
		const char *name = left_out;

		if (f->flags & STACK_OMITTED)
			snprintf(left_out, sizeof(left_out), "[%" PRIu32
				 " frames]", f->func);
		else
			name = func_name(s, f->func);
		vec_need(&text, &room, used + strlen(name) + 8);
		used += (size_t)snprintf(text + used, room - used, "%s%s",
					 i > 0 ? between : "", name);
	}
	mem_free(ids);
	return text;
}

static uint32_t tid_of(const struct session *s, uint32_t i)
{
	return i < s->thread_count ? s->threads[i].tid : 0;
}

static void print_by(const struct session *s, const struct history_step *step)
{
	char *const name = out_escape_terminal(func_name(s, step->by_func));

	if (name[0] != '\0')
		printf(" by %s", name);
	if (step->by != 0)
		printf(" of coroutine %" PRIu64, step->by);
	printf(" on thread %" PRIu32, tid_of(s, step->thread));
	mem_free(name);
}

static void print_stack(const struct session *s,
			const struct coroutine_history *story, stack_id id)
{
	char *const text = stack_text(s, story->stacks, id, " > ");
	char *const safe = out_escape_terminal(text);

	if (safe[0] != '\0')
		printf("            in %s\n", safe);
	mem_free(safe);
	mem_free(text);
}

static void print_step(const struct session *s,
		       const struct coroutine_history *story,
		       const struct history_step *step)
{
	char time[OUT_NUMBER];
	const char *const seen = step->is_inferred ?
		" (seen at the next event)" : "";

	printf("%10s  ", out_number_time(time, (double)since_start(s,
					 step->tick)));
	if (step->kind == HISTORY_CREATE) {
		fputs("made", stdout);
		print_by(s, step);
		putchar('\n');
		return;
	}
	out_number_time(time, (double)session_ns(s, step->span));
	if (step->kind == HISTORY_RESUME) {
		fputs("resumed", stdout);
		print_by(s, step);
		if (step->stack != 0 || step->span > 0)
			printf(", had slept %s", time);
		puts(seen);
		print_stack(s, story, step->stack);
		return;
	}
	printf("%s after %s%s\n", step->reason == SUSPEND_RETURN ? "returned" :
	       step->reason == SUSPEND_ERROR ? "ended by an error" :
	       "suspended", time, seen);
	print_stack(s, story, step->stack);
}

static void csv_step(const struct session *s,
		     const struct coroutine_history *story,
		     const struct history_step *step)
{
	struct out_csv csv = { stdout, 0 };
	char *const text = stack_text(s, story->stacks, step->stack, ";");

	out_csv_number(&csv, since_start(s, step->tick));
	out_csv_text(&csv, step->kind == HISTORY_CREATE ? "create" :
		     step->kind == HISTORY_RESUME ? "resume" :
		     step->reason == SUSPEND_RETURN ? "return" :
		     step->reason == SUSPEND_ERROR ? "error" : "yield");
	out_csv_number(&csv, tid_of(s, step->thread));
	out_csv_number(&csv, step->by);
	out_csv_text(&csv, func_name(s, step->by_func));
	out_csv_number(&csv, step->kind == HISTORY_RESUME ?
		       session_ns(s, step->span) : 0);
	out_csv_number(&csv, step->kind == HISTORY_SUSPEND ?
		       session_ns(s, step->span) : 0);
	out_csv_number(&csv, (uint64_t)(step->is_inferred != 0));
	out_csv_text(&csv, text);
	out_csv_end(&csv);
	mem_free(text);
}

/* --- the whole ---------------------------------------------------------- */

static void print_funcs(const struct session *s,
			const struct coroutine_history *story,
			const struct coroutine *c)
{
	char self[OUT_NUMBER], calls[OUT_NUMBER];
	ticks own = 0;

	puts("\nwhat it ran itself:");
	for (size_t i = 0; i < story->func_count; i++) {
		const struct history_func *const f = &story->funcs[i];
		char *const name = out_escape_terminal(func_name(s, f->func));

		own += f->self;
		if (i < FUNCTIONS_SHOWN)
			printf("%10s  %14s  %s\n", out_number_time(self,
			       (double)session_ns(s, f->self)),
			       out_number_many(calls, f->calls, "calls"),
			       name);
		mem_free(name);
	}
	if (story->func_count > FUNCTIONS_SHOWN)
		printf("... and %s\n", out_number_many(calls,
		       story->func_count - FUNCTIONS_SHOWN, "functions"));
	if (c->active > own)
		printf("%10s  in no known function, or in coroutines it "
		       "resumed\n", out_number_time(self,
		       (double)session_ns(s, c->active - own)));
	printf("weft tree --coroutine %" PRIu64 " shows its tree\n",
	       c->serial);
}

static void print_text(const struct load *load,
		       const struct coroutine_history *story,
		       const struct coroutine *c)
{
	const struct session *const s = load->session;
	const uint64_t steps = story->creates + story->resumes +
			       story->suspends;
	char a[OUT_NUMBER], b[OUT_NUMBER], d[OUT_NUMBER];
	char *const body = out_escape_terminal(c->body == 0 ? "[never ran]" :
					       func_name(s, c->body));

	header_print(stdout, load);
	printf("coroutine %" PRIu64 " of process %" PRIu32 ": %s\n"
	       "active %s, suspended %s, %s\n\n", c->serial,
	       s->processes[c->process].pid, body,
	       out_number_time(a, (double)session_ns(s, c->active)),
	       out_number_time(b, (double)session_ns(s, c->suspended)),
	       out_number_many(d, c->resumes, "resumes"));
	mem_free(body);
	for (size_t i = 0; i < story->count; i++)
		print_step(s, story, &story->steps[i]);
	if (steps > story->count)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(a, steps - story->count, "steps"));
	print_funcs(s, story, c);
}

enum cmd_exit coroutine_history_print(struct load *load, const char *id,
			  const struct coroutine_history_print *how)
{
	const struct coroutine *const c = find(load->session, id);
	struct coroutine_history story;
	enum cmd_exit status = CMD_OK;

	if (!c)
		return CMD_USAGE;
	coroutine_history_init(&story, load->session, c->process, c->serial,
		   how->csv ? 0 : how->top);
	if (load_again(load, &coroutine_history_sink, &story) != 0)
		status = CMD_UNREADABLE;
	coroutine_history_sort(&story);
	if (status == CMD_OK && how->csv) {
		header_print_losses(load);
		puts("time_ns,what,tid,by,by_function,slept_ns,active_ns,"
		     "inferred,stack");
		for (size_t i = 0; i < story.count; i++)
			csv_step(load->session, &story, &story.steps[i]);
	} else if (status == CMD_OK) {
		print_text(load, &story, c);
	}
	coroutine_history_fini(&story);
	return status;
}
