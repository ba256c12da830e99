/* outcome.h - what a replay gave, as sorted lines of text, beside the lines
 * that a test expects.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"
#include "analyzer/watch/chronicle.h"

struct outcome;
struct outcome *outcome_new(void);
void outcome_free(struct outcome *);
void outcome_set_session(struct outcome *, struct session *);

/* Collects events; its context is the outcome. */
extern const struct replay_sink outcome_sink;

/* A line "stack ...", "thread ...", "coroutine ..." and so on: expected.
 * 0 if it is none of these. */
int outcome_expect(struct outcome *, const char *line);

/* Compare, for each of the kinds that was expected at all; what is missing
 * and what is too much is printed. Entries and exits must pair up in any case.
 * 0 if all is as expected. */
int outcome_compare(struct outcome *, const char *name);

/* What a chronicle collected, of the same session or one like it. */
void outcome_spans(struct outcome *, const struct chronicle_found *);
