/* marks.h - a part of a trace by the marks the program left: recordings with a
 * title, and what came after a mark.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_MARKS_H
#define WEFT_ANALYZER_LOAD_MARKS_H

#include "analyzer/load/opt.h"
#include "analyzer/replay/replay.h"

/* --recording, --since-mark, --until-mark; a part of choose_opts. */
extern const struct opt marks_opts[];

int marks_are_asked_for(void);

/* What the options say, for the sentence on top; NULL: not given. */
const char *marks_recording(void);
const char *marks_since(void);
const char *marks_until(void);

/* Sees every mark of the trace, in any order. */
void marks_see(void *ctx, const struct replay_event *);
/* What marks_see needs. */
struct marks { struct session *session; struct marks_seen *seen; };
struct marks marks_new(struct session *);
void marks_free(struct marks *);

/* Cut [*from, *to) (*to 0: no end) down to what the options ask for. 0, or -1
 * with the cause in the chain. */
int marks_range(const struct marks *, ticks *from, ticks *to);

#endif
