/* header.c - what stands on top of every report: which run this was and whether
 * its figures are whole.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/header.h"

#include "analyzer/base/err.h"
#include "analyzer/base/text.h"
#include "analyzer/load/completeness.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

enum { PROGRAMS_SHOWN = 3 };

const char *header_base_name(const char *path)
{
	return path[0] != '\0' ? text_base_name(path) : "[unnamed]";
}

const char *header_place(char *to, size_t size, const struct func *f)
{
	if (f->file[0] == '\0')
		to[0] = '\0';
	else if (f->file_line == 0)
		snprintf(to, size, "%s", f->file[0] == '[' ? f->file :
			 header_base_name(f->file));
	else
		snprintf(to, size, "%s:%" PRIu32, f->file[0] == '[' ? f->file :
			 header_base_name(f->file), f->file_line);
	return to;
}

void header_csv_func(struct out_csv *csv, struct session *s, func_id id)
{
	const struct func *const f = func_get(s->funcs, id);

	out_csv_text(csv, f->name);
	out_csv_text(csv, func_language(f));
	out_csv_text(csv, f->kind == FUNC_NATIVE ?
		     func_elf(s->funcs, f->module)->path : "");
	out_csv_text(csv, f->file);
	out_csv_number(csv, f->file_line);
}

void header_csv_func_or(struct out_csv *csv, struct session *s, func_id id,
		  const char *text)
{
	if (id != 0) {
		header_csv_func(csv, s, id);
		return;
	}
	out_csv_text(csv, text);
	for (int i = 0; i < 3; i++)
		out_csv_text(csv, "");
	out_csv_number(csv, 0);
}

void header_time_cell(struct out_table *table, const struct session *s,
		    ticks time)
{
	char text[OUT_NUMBER];

	out_table_cell(table, time == 0 ? "-" :
		       out_number_time(text, (double)session_ns(s, time)));
}

uint64_t header_duration(const struct session *s)
{
	ticks first = UINT64_MAX, last = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < s->part_count; i++)
		sum += s->parts[i].duration;
	if (s->part_count > 0)
		return sum;
	for (size_t i = 0; i < s->thread_count; i++) {
		if (s->threads[i].first < first)
			first = s->threads[i].first;
		if (s->threads[i].last > last)
			last = s->threads[i].last;
	}
	return last > first ? session_ns(s, last - first) : 0;
}

ticks header_first_tick(const struct session *s)
{
	return session_first_tick(s);
}

/* Was a program of this name among the processes before i? */
static int is_repeated(const struct session *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(header_base_name(s->processes[k].path),
			   header_base_name(s->processes[i].path)) == 0)
			return 1;
	return 0;
}

static void print_programs(FILE *to, const struct session *s)
{
	size_t shown = 0, names = 0;

	for (size_t i = 0; i < s->process_count && names <= 100; i++) {
		char *name;

		if (is_repeated(s, i))
			continue;
		if (names++ >= PROGRAMS_SHOWN)
			continue;
		name = out_escape_terminal(header_base_name(
			s->processes[i].path));
		fprintf(to, "%s%s", shown++ > 0 ? ", " : "", name);
		mem_free(name);
	}
	if (names > shown)
		fprintf(to, " and %s%zu more", names > 100 ? "over " : "",
			names - shown - (names > 100));
	if (names == 0)
		fputs("no program", to);
}

static void print_count(FILE *to, uint64_t count, const char *nouns)
{
	char text[OUT_NUMBER];

	fprintf(to, ", %s", out_number_many(text, count, nouns));
}

static void print_lost(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	fprintf(ctx, "lost: %s\n", text);
	mem_free(text);
}

static void print_note(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	fprintf(ctx, "note: %s\n", text);
	mem_free(text);
}

static void print_shown(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	fprintf(ctx, "shown: %s\n", text);
	mem_free(text);
}

static void print_part(const struct load *load, completeness_fn fn, void *ctx)
{
	char sentence[1024];

	if (!load->is_part)
		return;
	choose_tell(load->session, &load->part, sentence, sizeof(sentence));
	fn(ctx, sentence);
}

/* Sessions that were merged: sorted by their start. */
static void print_parts(FILE *to, const struct session *s)
{
	char from[OUT_NUMBER], until[OUT_NUMBER], time[OUT_NUMBER],
	     text[OUT_NUMBER];
	size_t twice = 0;

	fprintf(to, "\n%s, %s to %s\n",
		out_number_many(text, s->part_count, "sessions"),
		out_number_date(from, s->parts[0].start),
		out_number_date(until, s->parts[s->part_count - 1].start));
	fprintf(to, "%s in all, ",
		out_number_time(time, (double)header_duration(s)));
	fprintf(to, "%s\n", out_number_many(text, s->calls, "calls"));
	for (size_t i = 1; i < s->part_count; i++)
		twice += s->parts[i].recording != 0 &&
			 s->parts[i].recording == s->parts[i - 1].recording &&
			 s->parts[i].start == s->parts[i - 1].start &&
			 s->parts[i].calls == s->parts[i - 1].calls;
	if (twice > 0)
		fprintf(to, "note: %s added more than once\n",
			out_number_many(text, twice, "sessions"));
}

static void print_run(FILE *to, const struct session *s)
{
	char date[OUT_NUMBER], time[OUT_NUMBER], calls[OUT_NUMBER];

	if (s->thread_count == 0) {
		fputs("no thread was recorded\n", to);
		return;
	}
	print_programs(to, s);
	print_count(to, s->process_count + s->beyond.processes, "processes");
	print_count(to, s->thread_count + s->beyond.threads, "threads");
	if (s->vm_count + s->beyond.vms > 0)
		print_count(to, s->vm_count + s->beyond.vms, "Lua states");
	if (s->coroutine_count + s->beyond.coroutines > 0)
		print_count(to, s->coroutine_count + s->beyond.coroutines,
			    "coroutines");
	if (s->part_count > 0) {
		print_parts(to, s);
		return;
	}
	fprintf(to, "\n%s, %s, %s\n",
		out_number_date(date, session_real(s, header_first_tick(s))),
		out_number_time(time, (double)header_duration(s)),
		out_number_many(calls, s->calls, "calls"));
}

enum cmd_exit header_need_calls(const struct load *load)
{
	const struct session *const s = load->session;
	const char *const command = session_note(s, "command");

	for (node_id id = 1; id <= cct_count(s->cct); id++)
		if (cct_get(s->cct, id)->func != 0)
			return CMD_OK;
	if (load->is_part) {
		err_add("no call is in the part that was asked for");
		return CMD_UNREADABLE;
	}
	err_add("the trace holds no call: nothing that \"%s\" ran was built "
		"with -finstrument-functions or was Lua",
		!command ? "the program" : command);
	return CMD_UNREADABLE;
}

void header_begin(FILE *to, const struct load *load)
{
	print_run(to, load->session);
	if (completeness_each(load, print_lost, to) == 0)
		fputs("nothing was lost\n", to);
	completeness_notes(load, print_note, to);
	print_part(load, print_shown, to);
}

void header_print(FILE *to, const struct load *load)
{
	header_begin(to, load);
	fputc('\n', to);
}

static void print_hash(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	fprintf(stderr, "# %s: %s\n", (const char *)ctx, text);
	mem_free(text);
}

void header_print_losses(const struct load *load)
{
	char lost[] = "lost", note[] = "note", shown[] = "shown";

	if (completeness_each(load, print_hash, lost) == 0)
		fputs("# nothing was lost\n", stderr);
	completeness_notes(load, print_hash, note);
	print_part(load, print_hash, shown);
}
