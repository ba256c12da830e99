/* closing.c - the end of a recording: empties the pool, looks whether all has
 * arrived, writes what comes last, and removes what is not the trace's.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/closing.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/notes.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

enum {
	REST_MS = 60000,           /* for a full pool and the slowest disk */
	PATIENCE_MS = 5000,        /* with an LTTng that writes nothing more */
	NO_PATIENCE_MS = 1500,     /* with one that was given up */
};

/* Empty the pool. A process that goes on writing to it does not hold us up for
 * longer than until then. Returns how many buffers there were. */
static uint32_t drain_rest(struct recording *r, uint64_t limit)
{
	uint32_t all = 0, n;

	do {
		registry_find_dead(&r->registry, true);
		n = drain_poll(&r->drain);
		all += n;
	} while (n > 0 && rate_mono_ms() < limit);
	drain_send_aside(&r->drain);
	return all;
}

/* Take what living threads have in their buffers. One that was in the midst of
 * a hook may have closed its buffer since the pool was emptied, and have opened
 * another. Recording is off, so that it does this once. */
static void copy_rest(struct recording *r, uint64_t limit)
{
	do
		drain_copy_older(&r->drain, 0, false);
	while (drain_rest(r, limit) > 0 && rate_mono_ms() < limit);
}

/* Deliver all that was recorded, of dead and living threads. */
static void drain_all(struct recording *r)
{
	struct drain *const d = &r->drain;

	drain_rest(r, rate_mono_ms() + REST_MS);
	r->left_running = r->nobody_left ? 0 :
		registry_update_processes(&r->registry, rate_mono_ms());
	if (r->left_running > 0) {
		/* First cut, then turn off: a thread closes nothing when
		 * recording is off. */
		drain_cut_older(d, 0);
		poll(NULL, 0, CLOSING_ANSWER_MS);
	}
	pool_end(r->owner.pool);
	if (r->left_running > 0)
		r->end_ns = rate_mono(); /* they were recorded until now */
	const uint64_t limit = rate_mono_ms() + REST_MS;

	if (r->left_running > 0)
		drain_rest(r, limit);
	copy_rest(r, limit);
}

/* If LTTng was given up before, little time is spent on its session. */
static void close_lttng(struct recording *r)
{
	if (r->session.socket < 0)
		return;
	const char *const lost = session_process_lost(&r->session);
	const int patience = r->opt.relay.host[0] ? REST_MS : PATIENCE_MS;

	if (lost)
		sink_give_up_lttng(&r->sink, lost);
	if (session_process_close(&r->session, r->plan.output, r->sink.lttng ?
				  patience : NO_PATIENCE_MS) != 0)
		sink_give_up_lttng(&r->sink, "its session did not end well");
}

/* Look for all chunks on the disk, whatever LTTng says. Those that it did not
 * write may still be in the backlog. What a relay daemon wrote is not here to
 * be looked at: who reads it misses what the end notes count. */
static void check_arrival(struct recording *r)
{
	struct delivery *const a = &r->sink.delivery;
	char why[128];

	if (r->session.has_opened && r->opt.relay.host[0]) {
		a->is_blind |= r->sink.told;
		return;
	}
	delivery_check(a, r->folder.absolute);
	if (a->lost_chunks > 0 && r->sink.lttng) {
		snprintf(why, sizeof(why), "only %" PRIu64 " of %zu chunks "
			 "reached the disk", a->count - a->lost_chunks,
			 a->count);
		sink_give_up_lttng(&r->sink, why);
		delivery_check(a, r->folder.absolute);
	}
	if (spill_is_removed(&r->sink.spill))
		message_trouble("spill.weft was removed during the recording: "
				"its contents are lost");
}

/* Without spilled chunks there is no spill file in the trace. */
static void close_spill(struct recording *r)
{
	if (r->sink.lttng && !r->sink.spilled) {
		spill_discard(&r->sink.spill);
		return;
	}
	const uint32_t words = notes_end(r, 0);

	if (spill_close(&r->sink.spill, sink_reserve(&r->sink, words)) != 0)
		message_trouble("the end notes could not be written to "
				"spill.weft");
}

/* The archive is packed before the end notes, which tell what came of it. */
static void close_trace(struct recording *r)
{
	rotation_end(r);
	summary_copy_counts(r);
	if (r->sink.archive)
		archive_pack(&r->archive);
	notes_send_names(r, notes_send);
	if (r->sink.lttng)
		notes_send(r, notes_end(r, 0));
	close_lttng(r);
	check_arrival(r);
	close_spill(r);
}

void closing_run(struct recording *r)
{
	drain_all(r);
	rate_update(&r->rate, r->owner.pool);
	registry_sum_processes(&r->registry);
	calibration_end(&r->calibration);
	if (r->sink.flight)
		flight_end(r);
	else
		close_trace(r);
	flight_hear_ends(r);
	attach_end(&r->attach, &r->owner);
	pool_owner_remove(&r->owner);
	installation_clean(&r->installation);
	control_fini(&r->control);
}
