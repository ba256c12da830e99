/* recording.h - one recording: its parts, and the three acts of its life.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_RECORDING_H
#define WEFT_RECORDER_RECORDING_H

#include "tracer/recorder/archive.h"
#include "tracer/recorder/pool_owner.h"
#include "tracer/recorder/lttng_session.h"
#include "tracer/recorder/sink.h"
#include "tracer/recorder/diagnose.h"
#include "tracer/recorder/drain.h"
#include "tracer/recorder/folder.h"
#include "tracer/recorder/session_process.h"
#include "tracer/recorder/meta.h"
#include "tracer/recorder/options.h"
#include "tracer/recorder/preload.h"
#include "tracer/recorder/program.h"
#include "tracer/recorder/rate.h"
#include "tracer/recorder/registry.h"

struct recording {
	struct options opt;
	char program_path[PATH_MAX];
	struct preload preload;
	struct folder folder;
	struct arena arena;
	struct rate rate;
	struct channel_plan plan;
	struct keeper keeper;
	struct deliver deliver;
	struct archive archive;
	struct slots slots;
	struct drain drain;
	struct program program;
	const char *home;          /* LTTNG_HOME for LTTng, NULL: as it is */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint32_t left_running;     /* processes that live on unrecorded */
	enum diagnose_outlook outlook;
	bool is_doubtful;          /* LTTng lost more than we still had */
};

/* start.c: all that is made before the program runs. Negative: nothing runs,
 * *status is what to exit with. */
int start_recording(struct recording *r, int *status);
/* loop.c: from the program's first instruction to the end of the recording. */
void loop_run(struct recording *r);
/* close.c: drain what is left, close the trace. */
void close_recording(struct recording *r);
/* summary.c: what the user is told at the end; the trace's end notes. */
void summary_print(struct recording *r);
void summary_notes(struct recording *r, struct meta *m);

#endif
