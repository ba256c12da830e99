/* lttng_join.c - asks LTTng's daemon for a session and joins it. A daemon that
 * hangs is waited for as long as one needs that works, and no longer.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/notes.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- asking ---- */

/* LTTng-UST's threads, arenas and mappings take 2 GB of address space. If they
 * do not get it, it aborts. */
static bool has_room_for_lttng(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) != 0 ||
	       limit.rlim_cur >= (rlim_t)4 << 30;
}

uint64_t lttng_join_plan(struct recording *r)
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
	r->rings = session_process_start(&r->session, &r->plan) == 0 ? rings :
		   0;
	return r->rings;
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
	if (pool_folder_free() >= r->rings)
		return false;
	message_trouble(POOL_FOLDER " has become too full for LTTng; recording "
			"goes to spill.weft");
	session_process_close(&r->session, r->plan.output, 0);
	r->session.has_opened = false;
	return true;
}

/* The session is there: load the provider, which asks the daemon again and may
 * wait for it. */
static struct {
	pthread_t thread;
	_Atomic bool has_ended;
	const char *why_not;       /* since then; NULL: it can be used */
} loading;

static void *load_provider(void *ctx)
{
	const struct recording *const r = ctx;

	loading.why_not = sink_open_provider(r->installation.provider);
	loading.has_ended = true;
	return NULL;
}

/* A daemon that hangs keeps that thread for ever. */
static void join_session(struct recording *r)
{
	const char *why = NULL;

	sink_set_environment();
	if (pthread_create(&loading.thread, NULL, load_provider, r) != 0)
		why = "there can be no thread to load LTTng-UST";
	while (!why && !loading.has_ended) {
		poll(NULL, 0, 1);
		why = session_process_hangs(&r->session);
	}
	if (loading.has_ended)
		why = loading.why_not;
	if (why)
		message_trouble("no LTTng session: %s; recording goes to "
				"spill.weft", why);
	r->sink.lttng = !why;
}

void lttng_join_wait(struct recording *r)
{
	if (r->session.socket >= 0 && session_process_open(&r->session) == 0 &&
	    !writes_elsewhere(r) && !is_full_now(r))
		join_session(r);
	if (!r->sink.flight)
		notes_send(r, notes_start(r));
}

/* The daemon must not make the trace's folder again, later. */
void lttng_join_undo(struct recording *r)
{
	struct session_process *const s = &r->session;

	if (s->socket >= 0 && (s->has_opened || session_process_open(s) == 0))
		session_process_close(&r->session, r->plan.output, 1000);
}
