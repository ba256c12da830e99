/* cmd_check.c - "weft check": is this trace whole?
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/load/completeness.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>

enum { GAPS_SHOWN = 10 };

static const struct opt opts[] = {
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct filter_refusal refused[] = {
	{ FILTER_ALL, "weft check looks at the whole trace; \"weft report\" and "
	  "others show parts of it" },
	{ 0, NULL }
};

static void print_fault(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	(void)ctx;
	printf("lost: %s\n", text);
	mem_free(text);
}

static void print_note(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	(void)ctx;
	printf("note: %s\n", text);
	mem_free(text);
}

static uint64_t lost_in(const struct thread *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOST_REASONS; i++)
		sum += t->lost[i];
	return sum;
}

/* Where it is: the threads that lack something. */
static void print_thread(const struct session *s, const struct thread *t)
{
	char *const name = out_escape_terminal(t->name);

	printf("in thread %" PRIu32 " %s of process %" PRIu32 ": ", t->tid,
	       name, s->processes[t->process].pid);
	printf("%" PRIu64 " chunks missing, %" PRIu64 " gaps, %" PRIu64
	       " lost, %" PRIu64 " contradicting\n", t->missing_chunks, t->gaps,
	       lost_in(t), t->unnested);
	mem_free(name);
}

static void print_gap(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	(void)ctx;
	printf("missing in %s\n", text);
	mem_free(text);
}

static void print_gaps(const struct session *s)
{
	const size_t n = s->gap_count < GAPS_SHOWN ? s->gap_count : GAPS_SHOWN;

	for (size_t i = 0; i < n; i++)
		completeness_gap(s, &s->gaps[i], print_gap, NULL);
	if (s->gap_total > n && n > 0)
		printf("missing in %" PRIu64 " more places, shorter ones\n",
		       s->gap_total - n);
}

/* The files' places, as far as they were noted. */
static void print_broken(const struct in_summary *in)
{
	for (size_t i = 0; i < in->broken_count; i++) {
		char *const file = out_escape_terminal(in->broken[i].file);

		printf("damaged in %s: the chunk at byte %" PRIu64 "\n", file,
		       in->broken[i].offset);
		mem_free(file);
	}
	if (in->bad > in->broken_count && in->broken_count > 0)
		printf("damaged in %" PRIu64 " more places\n",
		       in->bad - in->broken_count);
}

static enum cmd_exit check(const struct load *load)
{
	const struct session *const s = load->session;
	const size_t faults = completeness_each(load, print_fault, NULL);
	char a[OUT_NUMBER], b[OUT_NUMBER];

	for (size_t i = 0; i < s->thread_count; i++)
		if (s->threads[i].missing_chunks > 0 ||
		    s->threads[i].unnested > 0 || lost_in(&s->threads[i]) > 0)
			print_thread(s, &s->threads[i]);
	print_gaps(s);
	print_broken(&load->in);
	completeness_notes(load, print_note, NULL);
	printf("%s: %s in %s, read by %s\n", faults == 0 ? "whole" :
	       "not whole", out_number_many(a, s->records, "records"),
	       out_number_many(b, s->chunks, "chunks"), load->in.reader);
	if (faults == 0)
		return CMD_OK;
	err_add("the trace is not whole");
	return CMD_UNREADABLE;
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK)
		status = check(&load);
	load_close(&load);
	return status;
}

const struct cmd cmd_check = {
	.name = "check",
	.args = "TRACE...",
	.summary = "tell whether a trace is whole",
	.about =
	"Reads traces or profiles, verifies every chunk and every record and\n"
	"says what is missing, damaged or contradictory, and where. The exit\n"
	"status is 0 only if nothing is.",
	.opts = opts,
	.refused = refused,
	.run = run,
};
