/* recording.h - weft-record: takes chunks out of the pool that it shares with
 * the recorded programs, and writes the trace. This folder may use tracepoints,
 * liblttng-ctl and popt. It must not know libweft.so's insides, nor the
 * analyzer; and it must not trust what the recorded programs write.
 *
 * This header has one recording with all its parts; record_main.c runs it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/attach/attach.h"
#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/control/server.h"
#include "tracer/recorder/drain/chunk_copy.h"
#include "tracer/recorder/drain/drain.h"
#include "tracer/recorder/flight.h"
#include "tracer/recorder/lttng_join.h"
#include "tracer/recorder/options.h"
#include "tracer/recorder/process/calibration.h"
#include "tracer/recorder/process/diagnose.h"
#include "tracer/recorder/process/program.h"
#include "tracer/recorder/process/registry.h"
#include "tracer/recorder/reference/reference.h"
#include "tracer/recorder/rotation.h"
#include "tracer/recorder/schedule.h"
#include "tracer/recorder/trace/archive.h"
#include "tracer/recorder/trace/lttng_session.h"
#include "tracer/recorder/trace/sink.h"
#include "tracer/recorder/trace/trace_folder.h"

/* What the recorded programs counted in the pool, where any of them can write.
 * A count that cannot be is 0 here, and sets is_false. */
struct said {
	uint64_t lost[LOST_REASONS];
	uint64_t coroutines;
	uint64_t unslotted_threads, unslotted_processes, unjoined_processes;
	uint64_t unrecorded, after_destructors, unheard;
	bool is_false;
};

/* How fast records come. */
struct speed {
	uint64_t since, records;   /* ms; what there was then */
	double rate;               /* a second, before */
	bool is_known;             /* there was a whole one */
};

/* Since when recording has been on, or waited to be. */
struct on {
	uint32_t window;           /* pool_window */
	uint64_t since_ns;         /* rate_mono; 0: not looked at yet */
};

/* There is one, in record_main.c. Its parts point to each other, so that it is
 * never copied. The order here has no meaning; record_main.c has that in which
 * they are made. */
struct recording {
	struct options opt;
	char program_path[PATH_MAX];
	struct installation installation;
	struct trace_folder folder;
	struct pool_owner owner;
	struct rate rate;
	struct session_plan plan;
	struct session_process session;
	uint64_t rings;            /* bytes of all LTTng's rings, as planned */
	struct sink sink;
	struct archive archive;
	struct lua_names names;
	struct selection selection;
	struct selection awaited;  /* the function that recording begins with */
	struct registry registry;
	struct drain drain;
	struct reference reference;
	/* Since when, and how long in all; it was so when last looked; ms. */
	struct { uint32_t window; uint64_t since, all, seen; bool was; } off;
	struct budget budget;
	struct flight flight;
	struct program program;
	struct control control;
	struct speed speed;
	struct on on;
	struct schedule schedule;
	struct rotation rotation;
	uint64_t names_sent;       /* META chunks from META_NAMES on */
	bool wants_finish;         /* though the program goes on */
	struct attach attach;
	int unwatched;             /* errno: why nothing is known of the CPUs */
	struct calibration calibration;
	bool cost_is_noted;        /* that it found, at the start */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	struct said said;          /* by the end */
	uint32_t left_running;     /* processes that go on unrecorded */
	bool nobody_left;          /* no process maps the pool any more */
	enum diagnose_outlook outlook;
};

/* How many of them are in the trace, or in the snapshot. */
static inline uint64_t recording_holds(const struct recording *r,
				       enum census_kind kind)
{
	return r->sink.census.set[kind].n;
}

/* Copy what the pool says, once the recording has ended and before the notes of
 * the end are made: it may change at any time. */
void summary_copy_counts(struct recording *r);
/* Tell the user what was recorded, what was lost, and what to do next. Call it
 * when the trace is closed: it measures the folder. */
void summary_print(const struct recording *r);

/* Listen to other commands of the user, once the program is forked; what it is
 * called is known then. Without a socket the recording goes on, and says so. */
void requests_init(struct recording *r);
/* Show how far the recording is, if that is wanted. */
void requests_show(struct recording *r);
/* Measure the rate; call it now and then. now: ms. */
void requests_beat(struct recording *r, uint64_t now);
