/* plots_diff.c - what is slower than before, and why, as bars to both sides.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/load/completeness.h"
#include "analyzer/merge/diff.h"
#include "analyzer/out/out_number.h"

#include <math.h>

enum { BAR_HEIGHT = 26, FRAME_HEIGHT = 130, MORE = 0xc8553d, LESS = 0x2f6690,
       CHANCE = 0xb8b8b8 };

static const char *describe(struct plots *p, const struct diff_row *r)
{
	char time[OUT_NUMBER];

	return plots_text(p, "%s%s  %+.1f%%  %s", r->added < 0 ? "-" : "+",
			  out_number_time(time, fabs(r->added)), r->share,
			  diff_reason_words(r));
}

/* Texts stand right of what adds; of what takes, right of the axis. */
static void add_bars(struct plots *p, const struct sides *s, size_t count,
		     double unit)
{
	const size_t more = plots_layer(p, OUT_BOX, MORE, "more time");
	const size_t less = plots_layer(p, OUT_BOX, LESS, "less time");
	const size_t chance = plots_layer(p, OUT_BOX, CHANCE, "may be chance");

	for (size_t i = 0; i < count; i++) {
		const struct diff_row *const r = &s->diff->rows[i];
		const double at = r->added / unit, y = (double)(count - i);

		plots_row(p, r->chance > DIFF_CHANCE ? chance : at > 0 ? more :
			  less, at < 0 ? at : 0, at < 0 ? 0 : at, y - 0.36,
			  y + 0.36);
		plots_tic(p, &p->plot.y, y,
			  sides_func(s, r->before, r->after)->name);
		plots_label(p, at > 0 ? at : 0, y, describe(p, r));
	}
}

static void set_axes(struct plots *p, const struct diff *d, size_t count,
		     const struct plots_unit *unit)
{
	double least = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		const double at = d->rows[i].added / unit->ns;

		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	p->plot.x.label = plots_text(p, "added to a session, %s", unit->name);
	p->plot.x.from = least * 1.05;
	/* Texts need room. */
	p->plot.x.to = most + (most - least) * 0.6 + (most == least);
	p->plot.y.is_name = true;
	p->plot.y.from = 0.3;
	p->plot.y.to = (double)(count > 0 ? count : 1) + 0.7;
	p->plot.height = FRAME_HEIGHT + BAR_HEIGHT * (count > 0 ? count : 1);
}

/* What stands below the title, beside what the side after has lost. */
static const char *describe_sides(struct plots *p, const struct diff *d,
				  size_t count, const struct load *before)
{
	char a[OUT_NUMBER], b[OUT_NUMBER];

	return plots_text(p, "%s time of a session: %s before, %s after"
		"%s%s%s", d->has_cpu ? "CPU" : "self",
		out_number_time(a, d->time[0]), out_number_time(b, d->time[1]),
		d->no_core[0] + d->no_core[1] > 0 ?
		", without waits for a core" : "",
		d->count == 0 ? "; no function takes more or less" :
		count == d->count ? "" : plots_text(p, "; the first %zu of %zu "
			"changes", count, d->count),
		completeness_each(before, NULL, NULL) == 0 ? "" :
		"; of what was before, something was lost");
}

enum cmd_exit plots_diff(struct plots *p, struct sides *s)
{
	struct diff *const d = s->diff = diff_new(s->before.session,
						  s->after.session);
	const size_t count = plots_top(p, 20, d->count < 1200 ? d->count :
				       1200);
	double most = 0;
	struct plots_unit unit;

	for (size_t i = 0; i < count; i++)
		if (fabs(d->rows[i].added) > most)
			most = fabs(d->rows[i].added);
	unit = plots_unit(most);
	add_bars(p, s, count, unit.ns);
	set_axes(p, d, count, &unit);
	plots_title(p, &s->after, "What changed in the time",
		    describe_sides(p, d, count, &s->before));
	return CMD_OK;
}
