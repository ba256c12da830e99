/* chunk_samples.h - the samples of a thread as an item of its chunk, with the
 * modules that they lie in.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"
#include "tracer/recorder/process/cpu_watch.h"
#include "tracer/recorder/names/code_maps.h"

/* Write the chunk's ITEM_SAMPLES to the room words at to, behind an ITEM_MODULE
 * for each module that the chunk, a finished one but for these, lacks. Returns
 * the words. 0: nothing is known of the chunk's time, or there is no room.
 * Where not all samples have room, each second one is left out, or each fourth,
 * and so on. Samples until the chunk's end are forgotten: ask once for each
 * chunk of a thread, in their order. */
uint32_t chunk_samples_put(struct cpu_watch *w, uint32_t slot,
			   struct code_maps *maps, const uint64_t *chunk,
			   uint64_t *to, uint32_t room);
