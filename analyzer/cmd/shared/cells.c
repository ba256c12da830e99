/* cells.c - frames, stacks and identities as several commands print them. Knows
 * the session and how texts are escaped; knows no option.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/cells.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_name.h"
#include "analyzer/tables/metric.h"

#include <stdio.h>
#include <string.h>

/* How wide a name may be in a sentence or a stack, in columns. */
enum { NAME_COLUMNS = 72 };

char *cells_name(const char *name)
{
	char *const safe = out_escape_terminal(name);
	char *const cut = out_name_cut(safe, NAME_COLUMNS);

	mem_free(safe);
	return cut;
}

/* The place is made safe as a whole: a Lua source can hold any bytes. */
void cells_print_frame(const char *mark, const char *name, const char *note,
		       const struct func *f)
{
	char place[512] = "", *const brief = cells_name(name);

	if (f)
		metric_place(place, sizeof(place), f);
	out_print(stdout, "  %s %s%s%s%s", mark, brief, note,
		  place[0] ? "  " : "", place);
	mem_free(brief);
}

uint32_t cells_tid(const struct session *s, uint32_t thread)
{
	return thread < s->thread_count ? s->threads[thread].tid : 0;
}

uint32_t cells_pid(const struct session *s, uint32_t process)
{
	return process < s->process_count ? s->processes[process].pid : 0;
}

char *cells_stack(const struct stack_table *t, struct func_table *funcs,
		  stack_id id, bool is_csv)
{
	return is_csv ? stack_table_text(t, funcs, id, ";") :
	       stack_table_line(t, funcs, id, cells_name);
}

ticks cells_since_start(const struct session *s, ticks t)
{
	const ticks first = session_first_tick(s);

	return t > first ? t - first : 0;
}

bool cells_samples_lua(const struct session *s)
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->thread_count; i++)
		all |= s->threads[i].noted | s->threads[i].unnoted;
	return all > 0;
}

char *cells_pattern(const char *name)
{
	char *const pattern = mem_copy(name), *word;
	const bool has_key = strchr(name, '=') != NULL;

	for (size_t i = 0, size; pattern[i] != '\0'; i += size) {
		uint32_t code;

		size = text_utf8(pattern + i, &code);
		if (code == TEXT_NO_CODE || text_is_hostile(code) ||
		    code == '|' || (i == 0 && (code == '-' || has_key)))
			memset(pattern + i, '?', size);
	}
	word = out_escape_shell(pattern);
	mem_free(pattern);
	return word;
}
