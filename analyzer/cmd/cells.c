/* cells.c - frames, stacks and identities as several commands print them. Knows
 * the session and how texts are escaped; knows no option.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/cells.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/tables/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void cells_print_text(const char *text)
{
	char *const safe = out_escape_terminal(text);

	fputs(safe, stdout);
	mem_free(safe);
}

/* A frame that stands for others has their number where a function's id is
 * otherwise. */
const char *cells_frame_name(struct session *s, const struct stack_frame *f,
			     char room[48])
{
	if (f->func != 0 && !(f->flags & STACK_OMITTED))
		return func_get(s->funcs, f->func)->name;
	if (f->func == 0)
		return "[open before start]";
	snprintf(room, 48, "[%" PRIu32 " frames]", f->func);
	return room;
}

/* The place is made safe as a whole: a Lua source can hold any bytes. */
void cells_print_frame(const char *mark, const char *name, const char *note,
		       const struct func *f)
{
	char place[512] = "";

	if (f)
		metric_place(place, sizeof(place), f);
	printf("  %s ", mark);
	cells_print_text(name);
	printf("%s%s", note, place[0] ? "  " : "");
	cells_print_text(place);
}

/* A stack is a list from the innermost frame outwards, so its ids are collected
 * before its names are joined. */
char *cells_stack(struct session *s, const struct stack_table *t, stack_id id,
		  const char *between)
{
	const size_t n = stack_table_depth(t, id);
	stack_id *const ids = mem_alloc((n + 1) * sizeof(*ids));
	char *text = mem_copy(""), frame[48];
	size_t used = 0, room = 1;

	for (size_t i = n; i-- > 0; id = stack_table_get(t, id)->below)
		ids[i] = id;
	for (size_t i = 0; i < n; i++) {
		const char *const name = cells_frame_name(s,
			stack_table_get(t, ids[i]), frame);

		vec_need(&text, &room, used + strlen(name) + 8);
		used += (size_t)snprintf(text + used, room - used, "%s%s",
					 i > 0 ? between : "", name);
	}
	mem_free(ids);
	return text;
}

uint32_t cells_tid(const struct session *s, uint32_t thread)
{
	return thread < s->thread_count ? s->threads[thread].tid : 0;
}

uint32_t cells_pid(const struct session *s, uint32_t process)
{
	return process < s->process_count ? s->processes[process].pid : 0;
}

ticks cells_since_start(const struct session *s, ticks t)
{
	const ticks first = session_first_tick(s);

	return t > first ? t - first : 0;
}
