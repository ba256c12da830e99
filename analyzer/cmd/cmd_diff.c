/* cmd_diff.c - "weft diff": what made one side slower than the other.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/diff_print.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_profile.h"

#include <string.h>

static size_t arg_top = 20;
static double arg_min = 0.1, arg_limit = -1;
static bool arg_csv;

static const struct opt opts[] = {
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_SHARE, .name = "min", .arg = "PERCENT", .to = &arg_min,
	  .help = "leave out what adds or takes less of the time before" },
	{ .type = OPT_SHARE, .name = "fail-over", .arg = "PERCENT",
	  .to = &arg_limit, .help = "exit with status 4 if one change that "
	  "is not chance adds more than that of the time before" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* --- operands ------------------------------------------------------------ */

/* One before the other, or "A... vs B...". How many stand before, or 0. */
static int split(int count, char **operands, char ***after, int *after_count)
{
	int at = 0;

	while (at < count && strcmp(operands[at], "vs") != 0)
		at++;
	if (at == count && count != 2) {
		err_add(count < 2 ? "which two? Give A B, or A... vs B..." :
			"which are before, which after? Put the word vs "
			"between them");
		return 0;
	}
	if (at == count)
		at = 1;
	*after = operands + at + (strcmp(operands[at], "vs") == 0);
	*after_count = count - (int)(*after - operands);
	if (at > 0 && *after_count > 0)
		return at;
	err_add("nothing stands %s vs", at == 0 ? "before" : "after");
	return 0;
}

/* --- the whole ----------------------------------------------------------- */

static enum cmd_exit judge(const struct diff_report *d)
{
	const struct diff *const t = d->diff;

	for (size_t i = 0; arg_limit >= 0 && i < t->count; i++) {
		const struct diff_row *const row = &t->rows[i];

		if (row->chance > DIFF_CHANCE ||
		    diff_print_share(t, row->added) <= arg_limit)
			continue;
		err_add("\"%s\" adds %.1f%% of the time before (%s); "
			"--fail-over allows %g%%",
			diff_print_func(d, row->before, row->after)->name,
			diff_print_share(t, row->added),
			diff_print_reason(row->reason),
			arg_limit);
		return CMD_WORSE;
	}
	return CMD_OK;
}

static enum cmd_exit compare(struct diff_report *d)
{
	enum cmd_exit status = header_need_calls(&d->side[0]);

	if (status == CMD_OK)
		status = header_need_calls(&d->side[1]);
	if (status != CMD_OK)
		return status;
	d->diff = diff_new(d->side[0].session, d->side[1].session);
	diff_print(d);
	status = judge(d);
	diff_free(d->diff);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	static const struct replay_collect want;
	struct diff_report d = { .top = arg_top, .min = arg_min, .csv = arg_csv };
	enum cmd_exit status;
	char **after = NULL;
	int after_count = 0;
	const int before = split(count, operands, &after, &after_count);

	if (before == 0)
		return CMD_USAGE;
	status = load_open_merged(&d.side[0], &want, before, operands);
	if (status == CMD_OK)
		status = load_open_merged(&d.side[1], &want, after_count,
					    after);
	if (status == CMD_OK)
		status = compare(&d);
	load_close(&d.side[0]);
	load_close(&d.side[1]);
	return status;
}

const struct cmd cmd_diff = {
	.name = "diff",
	.args = "A B | A... vs B...",
	.summary = "find what made the second slower",
	.about =
	"Compares traces or profiles, sessions before with sessions after,\n"
	"and lists functions by the time they add to a session, each with\n"
	"the reason: a caller calls it more often than it did; functions\n"
	"call it that did not; it is new; it costs more a call (its own\n"
	"code, on the CPU where that is known); it waits or its coroutine\n"
	"sleeps longer a call. A function called more often answers for all\n"
	"that it calls; a function that costs more for itself only.\n"
	"\n"
	"Functions are the same by build-id and offset (Lua: source and\n"
	"lines); in another build, by name and file. chance is how likely\n"
	"sessions of one kind differ as much, by Welch's t-test times the\n"
	"number of rows; what may be chance (over 5%) comes last. It is not\n"
	"known for fewer than two sessions on a side: then all counts. A\n"
	"busy machine makes calls longer, none shorter: where means may\n"
	"differ by chance, but the fastest calls of functions that call\n"
	"nothing do not, those are compared (fastest).\n"
	"\n"
	"The exit status is 4 when --fail-over finds more than it allows.",
	.opts = opts,
	.run = run,
};
