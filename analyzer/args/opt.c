/* opt.c - options as rows of a table, parsed by getopt_long.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/opt.h"

#include "analyzer/base/err.h"
#include "analyzer/base/guess.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "tracepoints/pattern_list.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* To getopt, row i has the value FIRST_VALUE + i, which is no letter. */
enum { ROWS = 40, FIRST_VALUE = 1000 };

/* The rows of a table and its OPT_MORE, as getopt_long wants them. letters
 * begins with ':', so that a missing argument is told from an unknown
 * option. */
struct parser {
	const struct opt *rows[ROWS];
	struct option longs[ROWS + 1];
	char letters[2 * ROWS + 2];
	size_t count;
};

void opt_each(const struct opt *opts, opt_fn fn, void *ctx)
{
	for (; opts && opts->type != OPT_END; opts++) {
		if (opts->type == OPT_MORE)
			opt_each(opts->more, fn, ctx);
		else
			fn(ctx, opts);
	}
}

/* A letter or a name that stands twice would silently hide an option. */
static bool is_unique(const struct parser *p, const struct opt *row)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->rows[i]->name, row->name) == 0 ||
		    (row->letter && p->rows[i]->letter == row->letter))
			return false;
	return true;
}

static void add_row(void *ctx, const struct opt *row)
{
	struct parser *const p = ctx;
	const int takes = row->type == OPT_FLAG ? no_argument :
			  required_argument;
	char *const end = p->letters + strlen(p->letters);

	assert(p->count < ROWS);
	assert(row->to && is_unique(p, row));
	p->rows[p->count] = row;
	p->longs[p->count] = (struct option){
		row->name, takes, NULL, FIRST_VALUE + (int)p->count };
	p->count++;
	if (row->letter)
		snprintf(end, 3, "%c%s", row->letter, takes ? ":" : "");
}

/* ---- values ------------------------------------------------------------- */

/* strtoull takes a sign and spaces; a number of rows has none. */
static int set_number(const struct opt *row, const char *text)
{
	char *end;

	errno = 0;
	const unsigned long long value = strtoull(text, &end, 10);

	if (errno || *end || text[0] < '0' || text[0] > '9')
		return err_add("--%s takes a number (--%s %s), not \"%s\"",
			       row->name, row->name, row->arg, text);
	*(size_t *)row->to = (size_t)value;
	return 0;
}

/* A percentage may have its sign. NaN fails the comparisons, as it should. */
static int set_share(const struct opt *row, const char *text)
{
	char *end;
	const double value = strtod(text, &end);

	if (end == text || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) ||
	    !(value >= 0 && (value <= 100 || row->type == OPT_GROWTH)))
		return err_add("--%s takes a percentage%s, not \"%s\"",
			       row->name, row->type == OPT_GROWTH ? "" :
			       " from 0 to 100", text);
	*(double *)row->to = value;
	return 0;
}

const struct metric *opt_metric(const struct opt *row, size_t i)
{
	return metric_offered(row->view->metrics, row->type == OPT_SORT ?
			      METRIC_SORTS : 0, row->lacks, i);
}

const char *opt_word(const struct opt *row, size_t i)
{
	const struct metric *m = NULL;

	if (row->type == OPT_CHOICE)
		return row->choices[i];
	if (row->type == OPT_SORT || row->type == OPT_COLUMNS)
		m = opt_metric(row, i);
	return m ? m->name : NULL;
}

/* "a, b, c" after what is in `to` already. */
static void join_words(const struct opt *row, char *to, size_t size)
{
	for (size_t i = 0; opt_word(row, i); i++)
		text_addf(to, size, "%s%s", i > 0 ? ", " : "",
			  opt_word(row, i));
}

/* OPT_CHOICE or OPT_SORT. */
static int set_word(const struct opt *row, const char *text)
{
	char all[400] = "", meant[GUESS_TEXT];
	struct guess guess;
	const char *word;
	size_t i = 0;

	while ((word = opt_word(row, i)) != NULL && strcmp(word, text) != 0)
		i++;
	if (word && row->type == OPT_CHOICE)
		*(int *)row->to = (int)i;
	else if (word)
		*(const struct metric **)row->to = opt_metric(row, i);
	if (word)
		return 0;
	guess_init(&guess, text);
	for (i = 0; (word = opt_word(row, i)) != NULL; i++)
		guess_offer(&guess, word, strlen(word));
	join_words(row, all, sizeof(all));
	return err_add("--%s takes one of %s, not \"%s\"%s", row->name, all,
		       text, guess_text(&guess, NULL, meant,
						sizeof(meant)));
}

/* Joined texts live as long as the program. The list keeps them reachable, so
 * that no leak is reported. */
static struct joined {
	struct joined *before;
	char text[];
} *joined;

static void set_list(const struct opt *row, const char *text)
{
	const char **const to = row->to;
	struct joined *j;

	if (!*to) {
		*to = text;
		return;
	}
	j = mem_alloc(sizeof(*j) + strlen(*to) + strlen(text) + 2);
	sprintf(j->text, "%s:%s", *to, text);
	j->before = joined;
	joined = j;
	*to = j->text;
}

/* The text that is there, if any, is one that was made here. */
static int add_pattern(const struct opt *row, const char *text)
{
	const char **const to = row->to;
	char *all = (char *)(uintptr_t)*to;
	const char *const why = pattern_list_add(&all, text, SIZE_MAX);

	*to = all;
	return why ? err_add("--%s: \"%s\": %s", row->name, text, why) : 0;
}

/* Store an option's argument. 0, or -1 with the cause in the chain. */
static int set(const struct opt *row, const char *text)
{
	switch (row->type) {
	case OPT_FLAG:
		*(bool *)row->to = true;
		return 0;
	case OPT_TEXT:
	case OPT_COLUMNS:
		*(const char **)row->to = text;
		return 0;
	case OPT_LIST:
		set_list(row, text);
		return 0;
	case OPT_PATTERNS:
		return add_pattern(row, text);
	case OPT_NUMBER:
		return set_number(row, text);
	case OPT_SHARE:
	case OPT_GROWTH:
		return set_share(row, text);
	case OPT_CHOICE:
	case OPT_SORT:
		return set_word(row, text);
	case OPT_END:
	case OPT_MORE:
		break;
	}
	return 0;
}

/* ---- parsing ------------------------------------------------------------ */

/* The row of what getopt_long returned: a long name's value, or a letter. */
static const struct opt *row_of(const struct parser *p, int value)
{
	if (value >= FIRST_VALUE)
		return p->rows[value - FIRST_VALUE];
	for (size_t i = 0; i < p->count; i++)
		if (p->rows[i]->letter == value)
			return p->rows[i];
	return NULL;
}

/* Which there are, with their names. */
static int refuse_letter(const struct parser *p)
{
	char all[400] = "";

	for (size_t i = 0; i < p->count; i++)
		if (p->rows[i]->letter)
			text_addf(all, sizeof(all), "%s-%c (--%s)",
				  all[0] ? ", " : "; there are ",
				  p->rows[i]->letter, p->rows[i]->name);
	return err_add("there is no option -%c%s", optopt, all);
}

/* getopt returned ':' (the argument is missing) or '?' (the option is unknown
 * or ambiguous, or takes no argument). */
static int refuse(const struct parser *p, int value, char *const *argv)
{
	const char *const word = argv[optind - 1];
	char name[64], text[GUESS_TEXT];
	struct guess guess;

	if (value == ':')
		return err_add("%s needs an argument", word);
	if (optopt > 0 && optopt < FIRST_VALUE)
		return refuse_letter(p);
	if (optopt >= FIRST_VALUE)
		return err_add("%s takes no argument", word);
	/* --fial-over=5: what was meant is the part before the sign. */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	guess_init(&guess, name);
	for (size_t i = 0; i < p->count; i++) {
		char other[64];

		snprintf(other, sizeof(other), "--%s", p->rows[i]->name);
		guess_offer(&guess, other, strlen(other));
	}
	return err_add("there is no option %s%s", word,
		       guess_text(&guess, NULL, text, sizeof(text)));
}

/* optind 0 has getopt_long start anew: the tests parse many lines. */
int opt_parse(const struct opt *opts, int argc, char **argv)
{
	struct parser p = { .count = 0, .letters = ":" };
	int value, count, status = 0;

	opt_each(opts, add_row, &p);
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, argv, p.letters, p.longs,
				    NULL)) != -1) {
		const struct opt *const row = value == '?' || value == ':' ?
					      NULL : row_of(&p, value);

		if (status == 0)
			status = row ? set(row, optarg) :
				 refuse(&p, value, argv);
		else if (row && row->type == OPT_FLAG) /* it may be --help */
			set(row, NULL);
	}
	if (status != 0)
		return -1;
	count = argc - optind;
	memmove(argv, argv + optind, (size_t)count * sizeof(*argv));
	return count;
}

/* ---- help --------------------------------------------------------------- */

/* " (20)", or nothing if the command chooses the value. */
static void put_default(const struct opt *row, char *to, size_t size)
{
	const char *text = NULL;
	int choice;

	to[0] = '\0';
	if (row->type == OPT_NUMBER && *(const size_t *)row->to != SIZE_MAX)
		snprintf(to, size, " (default: %zu)", *(const size_t *)row->to);
	if (row->type == OPT_SHARE && *(const double *)row->to >= 0)
		snprintf(to, size, " (default: %g)", *(const double *)row->to);
	if (row->type == OPT_TEXT || row->type == OPT_LIST)
		text = *(const char **)row->to;
	if (row->type == OPT_SORT)
		text = row->usual ? row->usual : opt_word(row, 0);
	if (row->type == OPT_CHOICE) {
		choice = *(const int *)row->to;
		text = choice >= 0 ? row->choices[choice] : NULL;
	}
	if (text)
		snprintf(to, size, " (default: %s)", text);
}

const char *opt_help(const struct opt *row, char *to, size_t size)
{
	const bool has_words = row->type == OPT_CHOICE || row->type == OPT_SORT;
	size_t used;

	snprintf(to, size, "%s%s", row->help, has_words ? ": " : "");
	if (has_words)
		join_words(row, to, size);
	used = strlen(to);
	put_default(row, to + used, size - used);
	return to;
}
