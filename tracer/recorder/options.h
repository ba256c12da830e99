/* options.h - the command line of `weft record`.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"
#include "tracer/recorder/trace/packer.h"
#include "tracer/recorder/trace/relay.h"
#include "tracer/recorder/names/selection.h"
#include "tracer/recorder/drain/slow_call.h"

#ifndef WEFT_VERSION
#define WEFT_VERSION "0.1.0"
#endif

enum { OPTIONS_MAX_LABELS = 32 };

/* What the user asked for. The strings belong to popt or to argv, and live as
 * long as the recorder. */
struct options {
	const char *output;        /* NULL: a name is made */
	const char *name;          /* NULL: the program's */
	/* 1 if the option was given; popt stores to int. */
	int paused, no_follow, no_native, lua_init, quiet, archive,
	    progress;
	enum pool_lua lua;
	int no_lua_names, waits, count_only, reference, sample_only;
	const char *heap_text;
	uint32_t heap;             /* as in the pool */
	const char *reference_of;  /* the program of that run; NULL: the same */
	uint64_t reference_ns;     /* for which one that runs is sampled */
	enum pool_on_full on_full;
	enum compress compress;
	uint64_t pool_bytes;       /* 0: the default */
	struct selection_wish select; /* what is left out on purpose */
	uint32_t max_depth;        /* deeper calls are left out; 0: none */
	uint64_t min_duration;     /* ns: shorter calls are counted; 0: none */
	uint64_t duration;         /* ns until the recording ends; 0: any */
	uint64_t duty_on, duty_period; /* ns of each so many; 0: always */
	uint32_t duty_of;          /* replicas that share it; 0: one */
	char *start_on;            /* patterns: functions that do; or NULL */
	int sample_hz;             /* negative: chosen by their cost */
	struct slow_call_wish slow[SLOW_CALL_RULES]; /* they make snapshots */
	int slow_n;
	uint64_t max_size;         /* bytes of a piece of the trace; 0: any */
	uint32_t max_files;        /* pieces that are kept; 0: all */
	uint64_t flight_bytes;     /* of a flight recorder; 0: none */
	uint64_t flight_ms;        /* that it reaches back at most; 0: any */
	struct relay relay;        /* that gets the trace; or none */
	double budget;             /* a share of CPU time; 0: none */
	char *label[OPTIONS_MAX_LABELS]; /* "key=value" */
	int labels;
	const char *attach;        /* a process that runs; NULL: none */
	char **program;            /* its argv; of one that runs, its name */
};

/* Read the command line. Negative: go on, and *o is complete. Otherwise help or
 * a complaint was printed: the status to exit with, and *o is as it was. */
int options_read(struct options *o, int argc, char **argv);
