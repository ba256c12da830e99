/* export_spans.h - what the writers of chronicles share: how spans and tracks
 * are called and numbered, and their times.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/export/export.h"
#include "analyzer/watch/chronicle.h"

/* The distinct names of all spans, numbered from 0 on; and the tracks. */
struct export_spans {
	struct session *session; /* borrowed, as found is */
	const struct chronicle_found *found;
	size_t names;
	/* Private: */
	struct shown_name { uint32_t func, form; } *name;
	uint32_t *number_of;     /* by function and form: number + 1 */
	char **quoted;           /* by number, as JSON */
	uint32_t *pid, *tid;     /* by process, and by track */
	struct map *coroutine_of; /* process and serial: index + 1 */
	ticks first;
	size_t name_room;
};
void export_spans_init(struct export_spans *,
			  const struct export_from *);
void export_spans_fini(struct export_spans *);

/* The number of a span's name. Calls that are folded into one have the name of
 * their function if that says it all, or "NAME (with callees)", or "(short
 * calls)"; a run has "~" and the body's name. */
uint32_t export_spans_name(const struct export_spans *,
			      const struct span *);
/* The name as JSON, in quotes; borrowed. */
const char *export_spans_json(const struct export_spans *, uint32_t name);
/* The name as it is shown; the caller frees it with mem_free. */
char *export_spans_text(const struct export_spans *, uint32_t name);
/* The name's function; 0: it is none's. */
func_id export_spans_func(const struct export_spans *, uint32_t name);
/* What kind of span has it: "native", "lua", "run", "folded" or "missing". */
const char *export_spans_category(const struct export_spans *,
				     uint32_t name);

/* Call fn when a span of the track begins and when it ends, so that they nest.
 * The times that it is called for never go back. */
typedef void (*export_spans_fn)(void *ctx, const struct span *, bool is_end);
void export_spans_walk(const struct track *, export_spans_fn fn, void *ctx);

/* ns since the first tick: rises with the ticks, so what nests in ticks does in
 * ns. */
uint64_t export_spans_ns(const struct export_spans *, ticks);

/* "main (tid 12)", "coroutine 5 of producer", and so on, to GROUP_NAME bytes;
 * untrusted. */
const char *export_spans_track(const struct export_spans *, size_t track,
				  char *to);
/* Numbers for viewers that know processes and threads alone: those of the
 * kernel, but each of them once, and made-up ones from 10^9 on for coroutines
 * and signal handlers. */
uint32_t export_spans_pid(const struct export_spans *, uint32_t process);
uint32_t export_spans_tid(const struct export_spans *, size_t track);

/* What the file is called: the recorded command, and what is missing in it. The
 * caller frees it with mem_free; untrusted. */
char *export_spans_title(const struct export_spans *);
