/* header.c - the lines at the top of every report: which run this was, and
 * whether its figures are complete.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/header.h"

#include "analyzer/base/err.h"
#include "analyzer/load/completeness.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <string.h>

/* ---- the run ------------------------------------------------------------ */

/* Programs that are named, and those that are counted. */
enum { PROGRAMS_SHOWN = 3, PROGRAMS_MAX = 100 };

/* Has a process before process i the same program? */
static bool is_repeated(const struct session *s, size_t i)
{
	const char *const name = load_file_name(s->processes[i].path);

	for (size_t k = 0; k < i; k++)
		if (strcmp(load_file_name(s->processes[k].path), name) == 0)
			return true;
	return false;
}

/* "server, worker, helper and 4 more". Of very many programs not all are
 * compared with each other. */
static void print_programs(FILE *to, const struct session *s)
{
	size_t names = 0;

	for (size_t i = 0; i < s->process_count && names <= PROGRAMS_MAX; i++) {
		if (!is_repeated(s, i) && names++ < PROGRAMS_SHOWN)
			out_print(to, "%s%s", names > 1 ? ", " : "",
				  load_file_name(s->processes[i].path));
	}
	if (names > PROGRAMS_MAX)
		fprintf(to, " and over %d more", PROGRAMS_MAX - PROGRAMS_SHOWN);
	else if (names > PROGRAMS_SHOWN)
		fprintf(to, " and %zu more", names - PROGRAMS_SHOWN);
	if (names == 0)
		fputs("no program", to);
}

static void print_count(FILE *to, uint64_t count, const char *nouns)
{
	char text[OUT_NUMBER];

	fprintf(to, ", %s", out_number_many(text, count, nouns));
}

/* "1,459 of 5,001 threads", where of the others nothing is there. */
static void print_threads(FILE *to, const struct session *s)
{
	const uint64_t here = s->thread_count + s->beyond.threads;
	const uint64_t lost = session_lost_threads(s);
	char text[OUT_NUMBER];

	if (lost > 0)
		fprintf(to, ", %s of", out_number_count(text, here));
	fprintf(to, "%s %s", lost > 0 ? "" : ",",
		out_number_many(text, here + lost, "threads"));
}

/* Merged sessions, which are in the order of their starts. */
static void print_parts(FILE *to, const struct session *s)
{
	const struct part *const p = s->parts;
	char from[OUT_NUMBER], until[OUT_NUMBER], time[OUT_NUMBER],
	     text[OUT_NUMBER];
	size_t twice = 0;

	fprintf(to, "\n%s, %s to %s\n",
		out_number_many(text, s->part_count, "sessions"),
		out_number_date(from, p[0].start),
		out_number_date(until, p[s->part_count - 1].start));
	fprintf(to, "%s in all, ",
		out_number_time(time, (double)session_duration(s)));
	fprintf(to, "%s\n", out_number_many(text, s->calls, "calls"));
	for (size_t i = 1; i < s->part_count; i++)
		twice += p[i].recording != 0 &&
			 p[i].recording == p[i - 1].recording &&
			 p[i].start == p[i - 1].start &&
			 p[i].calls == p[i - 1].calls;
	if (twice > 0)
		fprintf(to, "note: %s added more than once\n",
			out_number_many(text, twice, "sessions"));
}

/* Two lines: who ran, then when and for how long. */
static void print_run(FILE *to, const struct session *s)
{
	const uint64_t vms = s->vm_count + s->beyond.vms;
	const uint64_t coroutines = s->coroutine_count + s->beyond.coroutines;
	char date[OUT_NUMBER], time[OUT_NUMBER], calls[OUT_NUMBER];

	if (s->thread_count == 0) {
		fputs("no thread was recorded\n", to);
		return;
	}
	print_programs(to, s);
	print_count(to, s->process_count + s->beyond.processes, "processes");
	print_threads(to, s);
	if (vms > 0)
		print_count(to, vms, "Lua states");
	if (coroutines > 0)
		print_count(to, coroutines, "coroutines");
	if (s->part_count > 0) {
		print_parts(to, s);
		return;
	}
	fprintf(to, "\n%s, %s, %s\n",
		out_number_date(date, session_real(s, session_first_tick(s))),
		out_number_time(time, (double)session_duration(s)),
		out_number_many(calls, s->calls, "calls"));
}

/* ---- whether it is complete --------------------------------------------- */

/* Each line begins with `mark` and what it is. */
static void print_sentences(FILE *to, const char *mark, const struct load *load)
{
	char begin[3][16], sentence[2048];
	struct completeness_line lost = { begin[0], to },
				 note = { begin[1], to },
				 shown = { begin[2], to };

	snprintf(begin[0], sizeof(begin[0]), "%slost: ", mark);
	snprintf(begin[1], sizeof(begin[1]), "%snote: ", mark);
	snprintf(begin[2], sizeof(begin[2]), "%sshown: ", mark);
	if (completeness_each(load, completeness_print, &lost) == 0)
		fprintf(to, "%snothing was lost\n", mark);
	completeness_notes(load, completeness_print, &note);
	if (!load->is_part)
		return;
	filter_args_describe(load->session, &load->part, sentence,
			     sizeof(sentence));
	completeness_print(&shown, sentence);
}

void header_begin(FILE *to, const struct load *load)
{
	print_run(to, load->session);
	print_sentences(to, "", load);
}

void header_print_losses(const struct load *load)
{
	print_sentences(stderr, "# ", load);
}

/* An empty report looks like a program that does nothing. The usual cause is a
 * build without the flag, so the message says that. */
enum cmd_exit header_need_calls(const struct load *load)
{
	const struct session *const s = load->session;
	const char *const command = session_note(s, "command");

	for (node_id id = 1; id <= cct_count(s->cct); id++)
		if (cct_get(s->cct, id)->func != 0)
			return CMD_OK;
	if (session_note(s, "filter.only") || session_note(s, "filter.skip") ||
	    session_note(s, "filter.count"))
		err_add("the trace holds no calls: it was recorded with --only "
			"or --skip, which leave out what ran");
	else if (session_note(s, "mode") &&
		 strcmp(session_note(s, "mode"), "sample-only") == 0)
		err_add("the trace holds no calls, as --sample-only asks: it "
			"is for weft report --reference, with the trace of "
			"a recording");
	else if (load->is_part)
		err_add("no recorded call matches the filters; leave some of "
			"them out");
	else if (completeness_each(load, NULL, NULL) > 0)
		err_add("the trace holds no calls; something was lost, as the "
			"lines above say");
	else if (session_note(s, "begins") || session_note(s, "start-on"))
		err_add("the trace holds no calls: recording was off at first; "
			"if it was turned on, \"%s\" called no Lua function "
			"after that, and none built with "
			"-finstrument-functions while native calls were "
			"recorded",
			command ? command : "the program");
	else
		err_add("the trace holds no calls: while recording was on, "
			"\"%s\" called no Lua function, and none built with "
			"-finstrument-functions while native calls were "
			"recorded",
			command ? command : "the program");
	return CMD_UNREADABLE;
}
