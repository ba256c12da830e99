/* chunk_samples.h - the samples of a thread as an item of its chunk, with the
 * modules that they lie in.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/process/cpu_watch.h"
#include "tracer/recorder/names/chunk_names.h"
#include "tracer/recorder/names/code_maps.h"

/* Write the chunk's ITEM_SAMPLES behind its items, and before it an ITEM_MODULE
 * for each module that the chunk lacks. There is none where nothing is known of
 * the chunk's time, or there is no room. Where not all samples have room, each
 * second one is left out, or each fourth, and so on. Samples until the chunk's
 * end are forgotten: ask once for each chunk of a thread, in their order. */
void chunk_samples_put(struct cpu_watch *w, uint32_t slot,
		       struct code_maps *maps, struct chunk_items *items);
