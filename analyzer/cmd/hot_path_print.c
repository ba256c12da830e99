/* hot_path_print.c - a slow call's hot_path path, a line a callee.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/hot_path_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/base/vec.h"

#include <inttypes.h>
#include <string.h>

static ticks time_of(ticks total, ticks suspended, enum slow_key key)
{
	return key == SLOW_WALL ? total + suspended :
	       key == SLOW_SUSPENDED ? suspended : total;
}

static void print_step(const struct load *load,
		       const struct hot_path_step *step,
		       ticks time, ticks whole)
{
	const struct func *const f = func_get(load->session->funcs,
					      step->func);
	char share[OUT_NUMBER], text[OUT_NUMBER], calls[OUT_NUMBER];
	char place[512];
	char *const name = out_escape_terminal(f->name);
	char *const file = out_escape_terminal(cells_place(place,
						sizeof(place), f));

	printf("    %7s %10s %12s  %s%s%s%s\n",
	       out_number_share(share, time, whole),
	       out_number_time(text, (double)session_ns(load->session, time)),
	       out_number_many(calls, step->calls, "calls"),
	       step->is_body ? "~ " : "", name, file[0] != '\0' ? "  " : "",
	       file);
	mem_free(name);
	mem_free(file);
}

void hot_path_print(const struct load *load, struct hot_path *in, size_t call,
		  const struct slow_call *c, enum slow_key key)
{
	static const char *const kinds[] = { "time", "time", "time and sleep",
					     "sleep" };
	const ticks whole = time_of(c->total, c->suspended, key);
	size_t count;
	struct hot_path_step *const steps = hot_path_steps(in, call, key,
							   &count);

	if (count == 0)
		printf("    its %s is its own\n", kinds[key]);
	else
		printf("    most of its %s below it:\n", kinds[key]);
	for (size_t i = 0; i < count; i++)
		print_step(load, &steps[i], time_of(steps[i].total,
			   steps[i].suspended, key), whole);
	mem_free(steps);
}

static void add(char **text, size_t *used, size_t *room, const char *more)
{
	const size_t length = strlen(more);

	vec_need(text, room, *used + length + 2);
	if (*used > 0)
		(*text)[(*used)++] = ';';
	memcpy(*text + *used, more, length + 1);
	*used += length;
}

void hot_path_print_csv(struct out_csv *csv, const struct load *load,
		      struct hot_path *in, size_t call, enum slow_key key)
{
	struct session *const s = load->session;
	char *names = NULL, *times = NULL, ns[32];
	size_t count, n = 0, names_room = 0, t = 0, times_room = 0;
	struct hot_path_step *const steps = hot_path_steps(in, call, key,
							   &count);

	for (size_t i = 0; i < count; i++) {
		add(&names, &n, &names_room,
		    func_get(s->funcs, steps[i].func)->name);
		snprintf(ns, sizeof(ns), "%" PRIu64, session_ns(s,
			 time_of(steps[i].total, steps[i].suspended, key)));
		add(&times, &t, &times_room, ns);
	}
	out_csv_text(csv, !names ? "" : names);
	out_csv_text(csv, !times ? "" : times);
	mem_free(names);
	mem_free(times);
	mem_free(steps);
}
