/* filter_args.h - the options by which a command shows a part of a trace only, the
 * same for every command that has them in its table.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_FILTER_ARGS_H
#define WEFT_ANALYZER_LOAD_FILTER_ARGS_H

#include "analyzer/cmd/cmd.h"
#include "analyzer/load/marks.h"
#include "analyzer/replay/replay.h"
#include "analyzer/tables/filter.h"

/* For OPT_MORE, before load_opts; load_open does the rest, header_print tells
 * what is shown. */
extern const struct opt choose_opts[];

/* Is less than all chosen; and does that need single records? */
int choose_is_on(void);
int choose_needs_records(void);
/* Does it need to know when the trace begins before it is replayed? */
int choose_has_range(void);

/* What replay must collect. The session, for the range, knows its clock and
 * first tick; marks: those of the trace, where they are asked for. 0, or -1 with
 * the cause in the chain. */
int choose_collect(const struct session *, const struct marks *,
		   struct replay_collect *);

/* Narrow the session, whose functions have names. 0, or -1 with the cause. */
int choose_apply(struct session *, int keep_vm, struct filter_sums *);

/* One sentence: what is shown, and what part of the whole that is. */
void choose_tell(const struct session *, const struct filter_sums *, char *to,
		 size_t size);

#endif
