/* close.c - the end of a recording: the last chunks, the end notes, LTTng's
 * session; and a look whether everything has arrived.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/recording.h"
#include "tracer/recorder/message.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
	ANSWER_MS = 100,           /* for living threads to close buffers */
	PATIENCE_MS = 5000,        /* with an LTTng that writes nothing more */
	NO_PATIENCE_MS = 1500,     /* with one that was given up before */
};

static void turn_off(struct pool *p)
{
	uint32_t now = atomic_load(&p->generation);

	while (!atomic_compare_exchange_weak(&p->generation, &now,
			(now & ~(uint32_t)POOL_ON) + POOL_GENERATION_STEP))
		;
}

/* All that was recorded is delivered, be its thread alive or dead. */
static void drain_all(struct recording *r)
{
	struct drain *const d = &r->drain;

	slots_find_dead(&r->slots, true);
	while (drain_poll(d) > 0)
		slots_find_dead(&r->slots, true);
	r->left_running = slots_update_processes(&r->slots,
						 rate_mono() / 1000000);
	if (r->left_running > 0) {
		/* Cut before off: a thread that is off closes nothing. */
		drain_cut_older(d, 0);
		poll(NULL, 0, ANSWER_MS);
		turn_off(r->arena.pool);
		while (drain_poll(d) > 0)
			;
	} else {
		turn_off(r->arena.pool);
	}
	drain_copy_older(d, 0);
}

static void send_end_notes(struct recording *r)
{
	struct meta m;

	meta_begin(&m, deliver_room(&r->deliver), r->arena.recording, META_END,
		   &r->rate);
	summary_notes(r, &m);
	deliver_send(&r->deliver, meta_end(&m));
}

/* Whatever LTTng says: are the bytes there? Disk full, a full /dev/shm and a
 * killed consumer were all seen to report no loss. */
static void check_arrival(struct recording *r)
{
	const uint64_t there = folder_bytes(r->plan.output);

	if (!r->deliver.lttng || there >= r->deliver.lttng_bytes)
		return;
	char why[128];

	snprintf(why, sizeof(why), "%" PRIu64 " of %" PRIu64 " bytes reached "
		 "the disk", there, r->deliver.lttng_bytes);
	r->is_doubtful = r->deliver.lttng_bytes - there >
			 recent_bytes(&r->deliver.recent);
	deliver_give_up(&r->deliver, why);
}

static void close_lttng(struct recording *r)
{
	if (r->keeper.socket < 0)
		return;
	if (keeper_lost_daemon(&r->keeper))
		deliver_give_up(&r->deliver, "LTTng's daemon has died");
	if (keeper_close(&r->keeper, r->plan.output, r->deliver.lttng ?
			 PATIENCE_MS : NO_PATIENCE_MS) != 0)
		deliver_give_up(&r->deliver, "its session did not end well");
	check_arrival(r);
}

/* Somebody removed the trace while it was being made. */
static void check_spill(struct deliver *d)
{
	if (!spill_is_gone(&d->spill))
		return;
	say_trouble("spill.weft was removed: what was recorded is lost");
	d->lost_chunks += d->spilled_chunks;
	d->lost_records += d->spilled_records;
}

static void close_spill(struct recording *r)
{
	struct meta m;

	if (r->deliver.lttng && !r->deliver.spilled) {
		spill_discard(&r->deliver.spill);
		return;
	}
	check_spill(&r->deliver);
	meta_begin(&m, deliver_room(&r->deliver), r->arena.recording, META_END,
		   &r->rate);
	summary_notes(r, &m);
	meta_pad(&m, SPILL_RESERVE_WORDS);
	meta_end(&m);
	if (spill_close(&r->deliver.spill, m.words) != 0)
		say_trouble("the end notes could not be written");
}

void close_recording(struct recording *r)
{
	drain_all(r);
	rate_update(&r->rate, r->arena.pool);
	slots_sum_processes(&r->slots);
	if (r->deliver.archive)
		archive_pack(&r->archive);
	if (r->deliver.lttng)
		send_end_notes(r);
	close_lttng(r);
	close_spill(r);
	arena_remove(&r->arena);
	preload_clean(&r->preload);
}
