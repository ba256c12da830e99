/* reference.h - where the program is while no hook is at work: how often
 * samples fell on each place in its code. Reports take times from that, since
 * hooks bend them (docs/times.md).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/meta.h"
#include "tracer/recorder/names/chunk_names.h"
#include "tracer/recorder/names/code_maps.h"
#include "tracer/recorder/reference/sampler.h"

/* All zero: there are no samples. */
struct reference {
	uint64_t period, cost;     /* ns: between two samples on the CPU; that
	                            * the program loses with each */
	enum reference_kind kind;
	struct sampler sampler;
	bool is_on;
	uint64_t confirmed;        /* CLOCK_MONOTONIC ns: samples until then
	                            * count */
	struct sampler_event *held; size_t helds, room; /* not counted yet */
	struct code_map *image; uint32_t images; /* of the processes */
	struct reference_place {
		uint64_t offset;   /* in the module, without the bias; 0 in
		                    * the kernel, 1 in no file */
		uint32_t module;   /* number; 0: none */
		uint32_t count;
	} *place;
	uint32_t places;
	struct name_set by_place;  /* index + 1 */
	struct reference_module { char *path; struct elf_build build; }
		*module;           /* by number - 1 */
	uint32_t modules;
	uint64_t samples, lost;    /* that places have; that none has */
	uint64_t all;              /* samples that were ever counted */
	int why;                   /* errno of what the kernel refused; or 0 */
};

/* Begin to sample the n processes and all that comes from them. from_exec: each
 * is a thread that waits before its exec, and is sampled from that on. Returns
 * 0, or the errno with which the kernel refuses. */
int reference_begin(struct reference *f, const pid_t *pid, size_t n,
		    bool from_exec);
/* Needed every 100 ms or sooner while it is on. Since the last call nothing has
 * begun that bends samples; those since are held until this is said again. */
void reference_poll(struct reference *f);
/* End it; samples since the last reference_poll do not count. */
void reference_end(struct reference *f);

/* The program's own time that a sample stands for, ns. */
static inline uint64_t reference_unit(const struct reference *f)
{
	return f->period > 2 * f->cost ? f->period - f->cost : f->period;
}

/* "15,277 samples, 3.507 s of CPU time (a run before)". False: there are
 * none. */
enum { REFERENCE_TEXT = 128 };
bool reference_text(const struct reference *f, char text[REFERENCE_TEXT]);

/* Hand over what was counted, as items for META chunks: write gets each of
 * them, and then again from the module on whenever it returns false because a
 * chunk is full. Afterwards nothing is counted. */
typedef bool reference_write_fn(void *ctx, const uint64_t *item,
				uint32_t words);
void reference_take(struct reference *f, reference_write_fn *write, void *ctx);
