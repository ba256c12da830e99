/* carrier.c - asks LTTng's daemon for a session and joins it. Neither the
 * program nor its chunks wait for a daemon that hangs.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/notes.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	STEP_NS = 5000000,         /* between looks at LTTng */
	HOLD_NS = 500000000, START_NS = 500000000,
	ANSWER_MS = 30,            /* a daemon that works answers in 1 */
};

/* ---- asking ---- */

/* LTTng-UST's threads, arenas and mappings take 2 GB of address space. If they
 * do not get it, it aborts. */
static bool has_room_for_lttng(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) != 0 ||
	       limit.rlim_cur >= (rlim_t)4 << 30;
}

uint64_t carrier_plan(struct recording *r)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!has_room_for_lttng()) {
		message_trouble("the address space is limited (ulimit -v), and "
				"LTTng may need more; recording goes to "
				"spill.weft");
		return 0;
	}
	session_plan_name(&r->plan);
	snprintf(r->plan.output, sizeof(r->plan.output), "%.*s/ctf",
		 PATH_MAX - 8, r->folder.absolute);
	r->plan.pid = getpid();
	r->plan.relay = r->opt.relay;
	const uint64_t rings = session_plan_fit(&r->plan, pool_folder_free(),
						cpus > 0 ? (uint32_t)cpus : 1);

	if (rings == 0) {
		message_trouble(POOL_FOLDER " is too small for LTTng's rings; "
				"recording goes to spill.weft");
		return 0;
	}
	r->carrier.rings = rings;
	r->carrier.awaited = session_process_start(&r->session, &r->plan) == 0;
	return r->carrier.awaited ? rings : 0;
}

/* ---- joining ---- */

static bool watch_relay(struct recording *r)
{
	r->session.relay = relay_watch(&r->opt.relay);
	if (r->session.relay >= 0)
		return true;
	message_trouble("cannot reach the relay daemon at %s, port %s; "
			"recording goes to spill.weft", r->opt.relay.host,
			r->opt.relay.control);
	session_process_close(&r->session, r->plan.output, 0);
	return r->session.has_opened = false;
}

/* A daemon that sees another file system than we do (because one of us is in a
 * private mount namespace or a container) writes to a folder of that name
 * there. */
static bool writes_elsewhere(struct recording *r)
{
	if (r->opt.relay.host[0])
		return !watch_relay(r);
	if (access(r->plan.output, F_OK) == 0)
		return false;
	message_trouble("LTTng's session daemon does not write to \"%s\", as "
			"it sees other files there (a private mount "
			"namespace, a container); recording goes to "
			"spill.weft", r->folder.absolute);
	session_process_close(&r->session, r->plan.output, 0);
	return true;
}

/* LTTng-UST would die of it: it maps files there that have no pages yet. */
static bool is_full_now(struct recording *r)
{
	if (pool_folder_free() >= r->carrier.rings)
		return false;
	message_trouble(POOL_FOLDER " has become too full for LTTng; recording "
			"goes to spill.weft");
	session_process_close(&r->session, r->plan.output, 0);
	r->session.has_opened = false;
	return true;
}

/* The session is there: load the provider, which asks the daemon again and may
 * wait for it. All else goes on meanwhile. */
static void *join(void *ctx)
{
	struct recording *const r = ctx;

	r->carrier.why_not = sink_open_provider(r->installation.provider);
	r->carrier.has_joined = true;
	return NULL;
}

static bool begin_to_join(struct recording *r)
{
	struct carrier *const c = &r->carrier;
	pthread_t thread;

	if (writes_elsewhere(r) || is_full_now(r))
		return false;
	sink_set_environment();
	c->joins = true;
	if (pthread_create(&thread, NULL, join, r) == 0) {
		pthread_detach(thread);
	} else {
		c->why_not = "there can be no thread to load LTTng-UST";
		c->has_joined = true;
	}
	return true;
}

/* Positive: LTTng takes chunks; 0: that is not known yet; negative: it does
 * not, and the user was told. */
static int poll_joined(struct recording *r)
{
	const struct carrier *const c = &r->carrier;
	const bool has_joined = c->has_joined; /* once: it may change */
	const char *const why = has_joined ? c->why_not :
				session_process_hangs(&r->session, c->hurries);

	if (why)
		message_trouble("no LTTng session: %s; recording goes to "
				"spill.weft", why);
	return why ? -1 : has_joined;
}

/* The start notes come before all else. */
static void begin_trace(struct recording *r)
{
	if (!r->carrier.has_begun && !r->sink.flight)
		notes_send(r, notes_start(r));
	r->carrier.has_begun = true;
}

void carrier_poll(struct recording *r)
{
	struct carrier *const c = &r->carrier;
	char text[64];
	int got;

	if (!c->awaited || rate_mono() < c->next_ns)
		return;
	c->next_ns = rate_mono() + STEP_NS;
	if (c->joins)
		got = poll_joined(r);
	else
		got = session_process_poll_open(&r->session, c->hurries);
	if (got == 0 || (!c->joins && got > 0 && begin_to_join(r)))
		return;
	c->awaited = false;
	r->sink.lttng = c->joins && got > 0;
	if (r->sink.lttng && r->sink.spilled)
		message_summary("LTTng was late: spill.weft has what came "
				"before it (%s)", amount_many(text,
				sizeof(text), r->sink.chunks, "chunks"));
	begin_trace(r);
}

/* LTTng needs processors to start, which the program would miss. So the program
 * waits while a daemon is started, or answers. */
static void wait_for_lttng(struct recording *r)
{
	const struct carrier *const c = &r->carrier;
	const uint64_t from = rate_mono();

	while (c->awaited && rate_mono() - from < START_NS &&
	       (c->joins ||
		!session_process_is_silent(&r->session, ANSWER_MS))) {
		carrier_poll(r);
		poll(NULL, 0, c->awaited);
	}
}

void carrier_begin(struct recording *r)
{
	if (r->session.home)
		setenv("LTTNG_HOME", r->session.home, 1);
	wait_for_lttng(r);
	if (!r->carrier.awaited)
		begin_trace(r);
}

const char *carrier_name(const struct recording *r)
{
	return r->sink.flight ? "memory" : r->carrier.awaited ? "awaited" :
	       r->sink.lttng ? "lttng" : "spill";
}

/* The daemon must not make the trace's folder again, later. */
void carrier_undo(struct recording *r)
{
	while (r->carrier.awaited && !r->carrier.joins &&
	       session_process_poll_open(&r->session, true) == 0)
		poll(NULL, 0, 1);
	r->carrier.awaited = false;
	if (r->session.socket >= 0)
		session_process_close(&r->session, r->plan.output, 1000);
}

bool carrier_hurry(struct recording *r)
{
	r->carrier.hurries = true;
	return !r->carrier.awaited;
}

/* While half of the pool is free; and somewhat longer, if the program waits for
 * room: LTTng is to carry all, where it takes the usual time. Not for a daemon
 * that hangs: who watches the recording waits for chunks, too. */
bool carrier_holds(struct recording *r)
{
	const bool waits = r->opt.on_full == POOL_WAIT ||
			   r->opt.on_full == POOL_LEND;

	if (!r->carrier.awaited || r->carrier.has_begun)
		return false;
	if (!session_process_is_silent(&r->session, SESSION_SILENT_MS) &&
	    (pool_owner_fill(&r->owner) < 50 ||
	     (waits && rate_mono() - r->begin_ns < HOLD_NS)))
		return true;
	begin_trace(r);
	return false;
}
