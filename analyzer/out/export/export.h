/* export.h - the writers of all formats, and what each of them gets.
 *
 * analyzer/out/export: a session in the format of another tool, a file for each
 * format. The folder may use base, model, watch, tables and out.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

#include <stdio.h>

struct chronicle_found;
struct slow_found;
struct resumes_row;

/* All borrowed. The sentences are untrusted and have no full stop. */
struct export_from {
	struct session *session;
	const struct chronicle_found *chronicle; /* formats in the order of
	                          * time; else NULL */
	const struct slow_found *slow; /* formats of tables; NULL: not known */
	const struct resumes_row *resumes; /* the same */
	size_t resume_count;
	const char **lost;       /* what was lost; lost_count 0: nothing */
	const char **notes;      /* what else a reader of figures should know */
	size_t lost_count, note_count;
};

/* A writer of a format. Returns 0, or -1 with the cause in the chain; those
 * that get an open file always 0: the caller checks the file for errors. */
typedef int (*export_fn)(FILE *, const struct export_from *);

/* ---- from the tree ------------------------------------------------------ */

/* Stacks as lines of text, "main;work;leaf 1234", which flame graph tools read:
 * a line for each stack that has self time: the name of its thread, its
 * functions, and the time in ns. Equal stacks of threads of one name are
 * several lines, which tools add up. Of stacks deeper than 1024 frames, the
 * innermost ones are kept. */
int export_collapsed_write(FILE *, const struct export_from *);
/* How many bytes that writes, about. */
uint64_t export_collapsed_bytes(const struct session *);

/* For speedscope (https://www.speedscope.app/file-format-schema.json): an
 * "evented" profile for each thread with calls. Each stack occurs once, as wide
 * as its total time in ns, in the order of the tree, not of time. */
int export_speedscope_write(FILE *, const struct export_from *);

/* Functions and their calls as a file of callgrind, which kcachegrind and
 * callgrind_annotate open. Each function has a position, the line where it
 * begins, with its self time, raw self time where times are net, time on and
 * off the CPU where switches are known, time suspended as the innermost frame,
 * and calls. What it calls follows with inclusive costs: those of what leads to
 * a function add up to its totals and suspended time, even if it is recursive.
 * What no function calls is called by "[outside]". Calls have no inclusive
 * sum. */
int export_callgrind_write(FILE *, const struct export_from *);

/* CSV: a head, and a row for each distinct stack, parents first, with the
 * columns of nodes_view; those of net times only where times are net. */
int export_csv_write(FILE *, const struct export_from *);

/* ---- from the tree and single moments ----------------------------------- */

/* Add the session to the SQLite database in the file, which is made if there is
 * none: the tables of relations.h, each row with the number of its session in
 * front. All of it is added, or nothing: a file that is damaged or of another
 * program stays as it is. */
int export_sqlite_write(const char *file, const struct export_from *);

/* { "format": "weft", "version": 1, and for each table of relations.h its name:
 *   { "columns": [names], "rows": [[values]] } }
 * Times are ns, what is not known is null. The version rises when a column goes
 * or changes its meaning. */
int export_json_write(FILE *, const struct export_from *);

/* ---- from a chronicle --------------------------------------------------- */

/* For speedscope: an "evented" profile for each track. Needs a chronicle
 * without tracks for coroutines: of these, speedscope would show one at a
 * time. */
int export_speedscope_time_write(FILE *, const struct export_from *);

/* Trace Event JSON, which chrome://tracing, the Perfetto UI and others open
 * (Chromium's document "Trace Event Format"): complete events ("X") in us, each
 * track's in its order: of threads, and of coroutines as threads of their own;
 * metadata that name them; a flow from each resume over the coroutine's run to
 * its suspend; marks as instant events. The category of a call that goes on
 * after a suspension is ",continued". */
int export_chrome_write(FILE *, const struct export_from *);

/* A Perfetto trace (protobuf): a track for each thread, below it those of the
 * coroutines that were first resumed there, below these those that they
 * resumed; names once; a flow from each resume to what the coroutine then
 * does. */
int export_perfetto_write(FILE *, const struct export_from *);

/* A "processed" profile for the Firefox Profiler: a thread for each track,
 * whose samples are the stretches of time in which its stack did not change,
 * weighted by their length in ms; marks are markers. Needs a chronicle without
 * tracks for coroutines. */
int export_firefox_write(FILE *, const struct export_from *);
