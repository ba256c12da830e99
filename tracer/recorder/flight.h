/* flight.h - the flight recorder: keeps the newest chunks in memory, and writes
 * them as a trace of their own, a snapshot, when that is asked for.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/drain/slow_call.h"
#include "tracer/recorder/process/process_end.h"
#include "tracer/recorder/trace/flight_ring.h"
#include "tracer/recorder/trace/trace_folder.h"

struct recording;

struct flight {
	struct flight_ring ring;
	struct process_ends ends;  /* by a signal: they want a snapshot */
	struct slow_calls slow;    /* that are looked for */
	uint64_t begin;            /* of the recording: CLOCK_REALTIME ns */
	char reason[CHUNK_STRING_MAX + 1]; /* for the next one; "": none is
	                            * wanted */
	uint32_t more;             /* that wanted one, too */
	bool was_told;             /* a program was writing its reason */
	bool is_urgent;            /* it waits 1 s at most */
	uint64_t last_ns, looked_ns; /* CLOCK_MONOTONIC */
	uint32_t tries, snapshots; /* of these, that were written */
	/* The one that is being written, or was last. */
	struct spill spill;
	struct flight_gone gone;  /* what is not in it */
	uint64_t bytes;
	uint32_t unwritten;        /* chunks that could not be written, */
	int why;                   /* and errno of the first */
	char name[32];             /* of its folder in the trace's */
};

/* Keep chunks in the sink's backlog from now on, if the options ask for it.
 * Negative: there is no memory. */
int flight_begin(struct recording *r);
/* Look for slow calls from now on, if the options say of which functions.
 * Negative: there is no memory. */
int flight_watch(struct recording *r);
/* A snapshot is wanted for that reason, which may be any text. If one is wanted
 * already, they become one. is_urgent: a user asked, or a process died. Does
 * nothing without a flight recorder. */
void flight_want(struct flight *f, const char *reason, bool is_urgent);
/* Whether the time has come for what is wanted. */
bool flight_may(const struct flight *f);
/* Write what is wanted if its time has come, and hear of ends. Call it in each
 * round. */
void flight_poll(struct recording *r);
/* How the program has ended that is attached to; with a flight recorder, what
 * other processes end by. */
void flight_hear_ends(struct recording *r);
/* Write what is wanted, which must be something, now. Returns 0, or negative:
 * it could not be written, and *why says so. */
int flight_snapshot(struct recording *r, const char **why);
/* The recording is over: write what is still wanted, or the last seconds of a
 * program that a signal has ended. */
void flight_end(struct recording *r);
