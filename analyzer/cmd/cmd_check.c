/* cmd_check.c - "weft check": whether a trace is complete, and if not, what is
 * missing or damaged, and where. Finds nothing itself: the reader and the
 * replay count the faults, and load/completeness has the sentences.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/load/completeness.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>

/* How many gaps are described one by one, the longest first. */
enum { GAPS_SHOWN = 10 };

/* A verdict on a part would be taken for one on the whole. */
static const struct filter_refusal refused[] = {
	{ FILTER_ALL, "weft check verifies the whole trace; weft report shows "
	  "parts of it, and what was lost in all" },
	{ 0, NULL }
};

/* Records lost for any reason that the thread itself counted. */
static uint64_t lost_in(const struct thread *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOST_REASONS; i++)
		sum += t->lost[i];
	return sum;
}

/* What was lost for which reason, at the end of a thread's line. */
static void print_reasons(const struct thread *t)
{
	char text[OUT_NUMBER];

	for (int i = 0; i < LOST_REASONS; i++)
		if (t->lost[i] > 0)
			printf("; %s: %s", out_number_many(text, t->lost[i],
				lost_reason(i)->unit), lost_reason(i)->meaning);
	putchar('\n');
}

/* The threads that lack something, or whose records contradict each other. The
 * others have no line: there may be thousands. */
static void print_threads(const struct session *s)
{
	char chunks[OUT_NUMBER], gaps[OUT_NUMBER];

	for (size_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		if (t->missing_chunks == 0 && t->unnested == 0 &&
		    lost_in(t) == 0)
			continue;
		out_print(stdout, "in thread %" PRIu32 " %s of process %" PRIu32
			  ": %s missing, %s, %" PRIu64 " lost, %" PRIu64
			  " contradicting", t->tid, t->name,
			  s->processes[t->process].pid,
			  out_number_many(chunks, t->missing_chunks, "chunks"),
			  out_number_many(gaps, t->gaps, "gaps"),
			  lost_in(t), t->unnested);
		print_reasons(t);
	}
}

/* The longest ones, the longest first: a session keeps no more than a few, and
 * counts the others. */
static void print_gaps(const struct session *s)
{
	const size_t n = s->gap_count < GAPS_SHOWN ? s->gap_count : GAPS_SHOWN;
	struct completeness_line line = { "missing in ", stdout };
	char text[OUT_NUMBER];

	for (size_t i = 0; i < n; i++)
		completeness_gap(s, &s->gaps[i], completeness_print, &line);
	if (s->gap_total > n && n > 0)
		printf("missing in %s, shorter ones\n",
		       out_number_many(text, s->gap_total - n, "more places"));
}

/* Places in the files, as far as the reader noted them; it keeps only the first
 * ones. A profile has no such places. */
static void print_broken(const struct in_summary *in)
{
	char text[OUT_NUMBER];

	for (size_t i = 0; i < in->broken_count; i++)
		out_print(stdout, "damaged in %s: the chunk at byte %" PRIu64
			  "\n", in->broken[i].file, in->broken[i].offset);
	if (in->bad > in->broken_count && in->broken_count > 0)
		printf("damaged in %s\n",
		       out_number_many(text, in->bad - in->broken_count,
				       "more places"));
}

/* Opening the trace is the whole check: it decodes every chunk and replays
 * every record. Prints what is missing first, the verdict last, where a reader
 * looks for it. CMD_UNREADABLE stands for "not whole", so that scripts can rely
 * on the exit status. */
static enum cmd_exit check_print(struct reading *r)
{
	const struct load *const load = &r->load;
	struct completeness_line lost = { "lost: ", stdout },
				 note = { "note: ", stdout };
	const struct session *const s = load->session;
	const size_t faults = completeness_each(load, completeness_print,
						&lost);
	char a[OUT_NUMBER], b[OUT_NUMBER];

	print_threads(s);
	print_gaps(s);
	print_broken(&load->in);
	completeness_notes(load, completeness_print, &note);
	printf("%s: %s in %s, read by %s\n", faults == 0 ? "whole" :
	       "not whole", out_number_many(a, s->records, "records"),
	       out_number_many(b, s->chunks, "chunks"), load->in.reader);
	if (faults == 0)
		return CMD_OK;
	err_add("the trace is not whole");
	return CMD_UNREADABLE;
}

const struct cmd cmd_check = {
	.name = "check",
	.args = "TRACE...",
	.summary = "check whether a trace is complete",
	.about =
	"Reads traces or profiles, verifies every chunk and every record, and\n"
	"says what is missing, damaged or contradictory, and where. The exit\n"
	"status is 0 only if nothing is missing, damaged or contradictory.",
	.refused = refused,
	.print = check_print,
	.is_judge = true,
};
