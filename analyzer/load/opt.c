/* opt.c - options as rows of a table, parsed by getopt_long.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/opt.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, HELP_VALUE = 1000 };

/* The rows as getopt wants them: row i has the value i + HELP_VALUE + 1, so
 * that it cannot be taken for a letter. */
struct parser {
	const struct opt *rows[ROWS];
	struct option longs[ROWS + 2];
	char letters[2 * ROWS + 3];
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

static void add_row(void *ctx, const struct opt *row)
{
	struct parser *const p = ctx;
	const int takes = row->type == OPT_FLAG ? no_argument :
			  required_argument;
	char *const end = p->letters + strlen(p->letters);

	assert(p->count < ROWS);
	p->rows[p->count] = row;
	p->longs[p->count] = (struct option){
		row->name, takes, NULL, HELP_VALUE + 1 + (int)p->count };
	p->count++;
	if (row->letter != '\0')
		snprintf(end, 3, "%c%s", row->letter, takes ? ":" : "");
}

static int set_number(const struct opt *row, const char *text)
{
	char *end;

	errno = 0;
	const unsigned long long value = strtoull(text, &end, 10);

	if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9')
		return err_add("--%s wants a number, not \"%s\"", row->name,
			       text);
	*(size_t *)row->to = (size_t)value;
	return 0;
}

static int set_share(const struct opt *row, const char *text)
{
	char *end;
	const double value = strtod(text, &end);

	if (end == text || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) ||
	    !(value >= 0 && value <= 100))
		return err_add("--%s wants a percentage, not \"%s\"",
			       row->name, text);
	*(double *)row->to = value;
	return 0;
}

static int set_choice(const struct opt *row, const char *text)
{
	char all[200] = "";

	for (int i = 0; row->choices[i] != NULL; i++) {
		const size_t used = strlen(all);

		if (strcmp(row->choices[i], text) == 0) {
			*(int *)row->to = i;
			return 0;
		}
		snprintf(all + used, sizeof(all) - used, "%s%s",
			 used > 0 ? ", " : "", row->choices[i]);
	}
	return err_add("--%s is one of %s, not \"%s\"", row->name, all, text);
}

/* What is joined lives as long as the program: earlier texts may be in use. */
static struct joined {
	struct joined *before;
	char text[];
} *joined;

static int set_list(const struct opt *row, const char *text)
{
	const char **const to = row->to;
	struct joined *j;

	if (!*to) {
		*to = text;
		return 0;
	}
	j = mem_alloc(sizeof(*j) + strlen(*to) + strlen(text) + 2);
	sprintf(j->text, "%s:%s", *to, text);
	j->before = joined;
	joined = j;
	*to = j->text;
	return 0;
}

static int set(const struct opt *row, const char *text)
{
	switch (row->type) {
	case OPT_FLAG:
		*(int *)row->to = 1;
		return 0;
	case OPT_TEXT:
		*(const char **)row->to = text;
		return 0;
	case OPT_LIST:
		return set_list(row, text);
	case OPT_NUMBER:
		return set_number(row, text);
	case OPT_SHARE:
		return set_share(row, text);
	case OPT_CHOICE:
		return set_choice(row, text);
	case OPT_END:
	case OPT_MORE:
		break;
	}
	return 0;
}

static const struct opt *row_of(const struct parser *p, int value)
{
	if (value > HELP_VALUE)
		return p->rows[value - HELP_VALUE - 1];
	for (size_t i = 0; i < p->count; i++)
		if (p->rows[i]->letter == value)
			return p->rows[i];
	return NULL;
}

/* getopt's ':' (an argument is missing) and '?' (unknown, or ambiguous). */
static int refuse(int value, char *const *argv)
{
	const char *const word = argv[optind - 1];

	if (value == ':')
		return err_add("%s wants an argument", word);
	if (optopt > 0 && optopt < HELP_VALUE)
		return err_add("there is no option -%c", optopt);
	if (optopt >= HELP_VALUE)
		return err_add("%s takes no argument", word);
	return err_add("there is no option %s", word);
}

int opt_parse(const struct opt *opts, int argc, char **argv, int *help)
{
	struct parser p = { .count = 0, .letters = ":" };
	int value, count;

	opt_each(opts, add_row, &p);
	p.longs[p.count] = (struct option){ "help", no_argument, NULL,
					    HELP_VALUE };
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, argv, p.letters, p.longs,
				    NULL)) != -1) {
		if (value == HELP_VALUE)
			*help = 1;
		else if (value == '?' || value == ':')
			return refuse(value, argv);
		else if (set(row_of(&p, value), optarg) != 0)
			return -1;
	}
	count = argc - optind;
	memmove(argv, argv + optind, (size_t)count * sizeof(*argv));
	return count;
}

/* The default, "" if there is none to tell. */
static void put_default(const struct opt *row, char *room, size_t size)
{
	room[0] = '\0';
	if (row->type == OPT_NUMBER && *(const size_t *)row->to != SIZE_MAX)
		snprintf(room, size, " (%zu)", *(const size_t *)row->to);
	else if (row->type == OPT_SHARE && *(const double *)row->to >= 0)
		snprintf(room, size, " (%g)", *(const double *)row->to);
	else if (row->type == OPT_CHOICE && *(const int *)row->to >= 0)
		snprintf(room, size, " (%s)",
			 row->choices[*(const int *)row->to]);
	else if ((row->type == OPT_TEXT || row->type == OPT_LIST) && *(const char **)row->to != NULL)
		snprintf(room, size, " (%s)", *(const char **)row->to);
}

const char *opt_help(const struct opt *row, char *room, size_t size)
{
	size_t used = (size_t)snprintf(room, size, "%s", row->help);

	for (size_t i = 0; row->type == OPT_CHOICE && row->choices[i] &&
			   used < size; i++)
		used += (size_t)snprintf(room + used, size - used, "%s%s",
					 i == 0 ? ": " : ", ",
					 row->choices[i]);
	if (used < size && row->to)
		put_default(row, room + used, size - used);
	return room;
}
