/* lttng_session.c - talks to the session daemon through liblttng-ctl.
 * Runs in the keeper process only: these calls may hang.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/lttng_session.h"

#include <lttng/lttng.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCK_US = 1000000,         /* LTTng may hold us up so long */
	METADATA_FLUSH_US = 200000, /* a killed daemon leaves metadata */
	DATA_FLUSH_US = 1000000,
	MOST_RING_BYTES = 64 << 20, /* of all CPUs together */
	DESTROY_MS = 15000,
	IMPATIENT_MS = 5000,
	CALL_S = 20,                /* a call that takes longer hangs */
};

static const char data_name[] = "weft";

uint64_t channel_fit(struct channel_plan *plan, uint64_t free_bytes,
		     uint32_t cpus)
{
	/* A chunk is 128 KiB and must fit a sub-buffer with its headers. */
	static const uint64_t size[] = { 1 << 20, 512 << 10, 256 << 10 };

	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		for (uint32_t n = 16; n >= 2; n /= 2) {
			/* LTTng keeps one sub-buffer more for its reader. */
			const uint64_t all = size[i] * (n + 1) * cpus;

			if (all > free_bytes / 2 ||
			    (n > 4 && all > MOST_RING_BYTES + size[i] * cpus))
				continue;
			plan->ring_bytes = size[i];
			plan->rings = n;
			return all;
		}
	}
	return 0;
}

static int failed(const char *what, int code, char *why, size_t room)
{
	snprintf(why, room, "%s: %s", what, lttng_strerror(code));
	return -1;
}

static int add_channel(struct lttng_handle *handle, const char *name,
		       uint64_t bytes, uint64_t count, unsigned int flush_us,
		       int64_t block_us)
{
	struct lttng_channel *const c = lttng_channel_create(&handle->domain);
	int code = -LTTNG_ERR_NOMEM;

	if (!c)
		return code;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->enabled = 1;
	c->attr.overwrite = 0;
	c->attr.subbuf_size = bytes;
	c->attr.num_subbuf = count;
	c->attr.switch_timer_interval = flush_us;
	c->attr.output = LTTNG_EVENT_MMAP;
	/* Nobody watches how full its rings are. Where one recording ends
	 * while another begins, the stopping of that timer is where LTTng
	 * 2.13's daemons may come to wait for each other for ever. */
	lttng_channel_set_monitor_timer_interval(c, 0);
	if (block_us > 0)
		lttng_channel_set_blocking_timeout(c, block_us);
	code = lttng_enable_channel(handle, c);
	lttng_channel_destroy(c);
	return code;
}

static int add_event(struct lttng_handle *handle)
{
	struct lttng_event *const e = lttng_event_create();
	int code = -LTTNG_ERR_NOMEM;

	if (!e)
		return code;
	e->type = LTTNG_EVENT_TRACEPOINT;
	e->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
	e->loglevel = -1;
	snprintf(e->name, sizeof(e->name), "weft:chunk");
	code = lttng_enable_event(handle, e, data_name);
	lttng_event_destroy(e);
	return code;
}

/* Without this, two recordings of one user hold each other's chunks. */
static int track(const struct channel_plan *plan)
{
	struct lttng_process_attr_tracker_handle *t = NULL;
	int bad;

	if (lttng_session_get_tracker_handle(plan->session, LTTNG_DOMAIN_UST,
			LTTNG_PROCESS_ATTR_VIRTUAL_PROCESS_ID, &t) != LTTNG_OK)
		return -1;
	bad = lttng_process_attr_tracker_handle_set_tracking_policy(t,
			LTTNG_TRACKING_POLICY_INCLUDE_SET) !=
	      LTTNG_PROCESS_ATTR_TRACKER_HANDLE_STATUS_OK ||
	      lttng_process_attr_virtual_process_id_tracker_handle_add_pid(t,
			plan->pid) !=
	      LTTNG_PROCESS_ATTR_TRACKER_HANDLE_STATUS_OK;
	lttng_process_attr_tracker_handle_destroy(t);
	return bad ? -1 : 0;
}

static int fill(const struct channel_plan *plan, struct lttng_handle *handle,
		char *why, size_t room)
{
	int code = add_channel(handle, "metadata", 4096, 2, METADATA_FLUSH_US,
			       0);

	if (code < 0)
		return failed("metadata channel", code, why, room);
	code = add_channel(handle, data_name, plan->ring_bytes, plan->rings,
			   DATA_FLUSH_US, BLOCK_US);
	if (code < 0)
		return failed("data channel", code, why, room);
	if (track(plan) != 0) {
		snprintf(why, room, "cannot restrict the session to weft");
		return -1;
	}
	code = add_event(handle);
	if (code < 0)
		return failed("event weft:chunk", code, why, room);
	code = lttng_start_tracing(plan->session);
	return code < 0 ? failed("start", code, why, room) : 0;
}

int channel_open(const struct channel_plan *plan, char *why, size_t room)
{
	struct lttng_domain domain = { .type = LTTNG_DOMAIN_UST,
				       .buf_type = LTTNG_BUFFER_PER_UID };
	struct lttng_session_descriptor *const d =
		lttng_session_descriptor_local_create(plan->session,
						      plan->output);
	struct lttng_handle *handle;
	int result = -1;

	if (!d)
		return failed("session", -LTTNG_ERR_INVALID, why, room);
	const enum lttng_error_code code = lttng_create_session_ext(d);

	lttng_session_descriptor_destroy(d);
	if (code != LTTNG_OK)
		return failed("session", -(int)code, why, room);
	handle = lttng_create_handle(plan->session, &domain);
	if (handle)
		result = fill(plan, handle, why, room);
	else
		failed("handle", -LTTNG_ERR_NOMEM, why, room);
	lttng_destroy_handle(handle);
	if (result != 0)
		lttng_destroy_session_no_wait(plan->session);
	return result;
}

/* As long as somebody waits for it; then a little. Gives whether all is on
 * disk, metadata too. */
static bool wait_for_data(const struct channel_plan *plan, int waiting)
{
	struct pollfd p = { .fd = waiting, .events = POLLIN };
	int left = IMPATIENT_MS;
	int pending;

	while ((pending = lttng_data_pending(plan->session)) == 1 && left > 0) {
		alarm(CALL_S);
		if (poll(&p, 1, 5) != 0) {
			poll(NULL, 0, 5);
			left -= 5;
		}
	}
	return pending == 0;
}

bool channel_stop(const struct channel_plan *plan, int waiting)
{
	alarm(CALL_S);
	if (lttng_stop_tracing_no_wait(plan->session) < 0)
		return false;
	return wait_for_data(plan, waiting);
}

int channel_destroy(const struct channel_plan *plan, char *why, size_t room)
{
	struct lttng_destruction_handle *d = NULL;
	enum lttng_error_code code;

	alarm(CALL_S);
	code = lttng_destroy_session_ext(plan->session, &d);
	if (code != LTTNG_OK)
		return failed("destroy", -(int)code, why, room);
	const enum lttng_destruction_handle_status waited =
		lttng_destruction_handle_wait_for_completion(d, DESTROY_MS);

	code = LTTNG_OK;
	if (waited == LTTNG_DESTRUCTION_HANDLE_STATUS_COMPLETED)
		lttng_destruction_handle_get_result(d, &code);
	lttng_destruction_handle_destroy(d);
	if (waited != LTTNG_DESTRUCTION_HANDLE_STATUS_COMPLETED) {
		snprintf(why, room, "the session does not end");
		return -1;
	}
	return code == LTTNG_OK ? 0 : failed("destroy", -(int)code, why, room);
}
