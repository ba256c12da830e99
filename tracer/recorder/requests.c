/* requests.c - a function for each request that comes through the control
 * socket. Does not know how it comes.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/recording.h"
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/proc.h"
#include "tracer/recorder/base/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- status ---- */

/* Records that will never be in the trace, as far as it is known by now. */
static uint64_t count_lost(struct recording *r)
{
	uint64_t n = 0;

	summary_copy_counts(r);
	for (int i = 0; i < LOST_REASONS; i++)
		n += i == LOST_CLOCK ? 0 : r->said.lost[i];
	return n + r->said.unrecorded + r->said.after_destructors;
}

static void say_path(struct control_text *t, const char *key, const char *path)
{
	char text[PATH_MAX + 40];

	snprintf(text, sizeof(text), "%s", path);
	message_clean(text);
	control_say(t, "%s %s\n", key, text);
}

static pid_t pid_of(const struct recording *r)
{
	const pid_t attached = attach_pid(&r->attach);
	return attached > 0 ? attached : r->program.pid;
}

/* The process id of the recorded process with that serial; 0: it has ended. */
static uint32_t pid_of_process(const struct recording *r, uint32_t serial)
{
	for (uint32_t i = 0; i < r->owner.process_slots; i++) {
		const struct pool_process *const p = &r->owner.processes[i];

		if (atomic_load(&p->state) == SLOT_USED && p->serial == serial)
			return p->pid;
	}
	return 0;
}

static void say_waiting(struct recording *r, struct control_text *t,
			uint32_t pid, uint32_t tid)
{
	char name[32];

	proc_line(name, sizeof(name), "/proc/%" PRIu32 "/task/%" PRIu32
		   "/comm", pid, tid);
	message_clean(name);
	control_say(t, "waits Lua state of process %" PRIu32 ", thread %" PRIu32
		    " (%s), for %.1f s\n", pid, tid, name,
		    (double)(rate_mono() - r->on.since_ns) / 1e9);
}

/* Does it map a Lua library? */
static bool has_lua(uint32_t pid)
{
	struct proc_maps m;
	struct elf_file elf;
	bool has = false;

	for (proc_maps_open(&m, (pid_t)pid); !has && proc_maps_next(&m); ) {
		const char *const base = strrchr(m.path, '/');

		has = base && strstr(base, "lua") &&
		      elf_file_read(m.path, &elf) == 0 && elf.has_lua;
	}
	proc_maps_close(&m);
	return has;
}

/* Programs that were attached and in which no Lua state was seen yet. */
static void say_unseen(struct recording *r, struct control_text *t)
{
	for (uint32_t i = 0; i < r->owner.process_slots; i++) {
		const struct pool_process *const p = &r->owner.processes[i];
		const uint32_t pid = p->pid;

		if (atomic_load(&p->state) == SLOT_USED &&
		    atomic_load(&p->vms) == 0 && has_lua(pid))
			control_say(t, "waits any Lua state of process %" PRIu32
				    ": none was seen yet\n", pid);
	}
}

/* Lua states in which nothing was seen since recording was turned on; t may be
 * NULL. Those of processes that have ended leave their slots to others. */
static void look_at_vms(struct recording *r, struct control_text *t)
{
	struct pool *const p = r->owner.pool;
	const uint32_t window = pool_window(p, atomic_load(&p->generation));

	if (window != r->on.window || r->on.since_ns == 0)
		r->on = (struct on){ window, rate_mono() };
	for (uint32_t i = 0; i < POOL_VMS; i++) {
		struct pool_vm *const v = &p->vm[i];

		if (atomic_load(&v->state) != SLOT_USED)
			continue;
		const uint32_t pid = pid_of_process(r, v->process);

		if (pid == 0)
			atomic_store(&v->state, SLOT_FREE);
		else if (t && atomic_load(&v->window) != window)
			say_waiting(r, t, pid, atomic_load(&v->tid));
	}
}

/* Records a second: until there are some, as many as lie in the pool. */
static double rate_of(const struct recording *r, double seconds)
{
	return r->speed.is_known ? r->speed.rate :
	       (double)(r->drain.records + drain_in_pool(&r->drain)) /
	       (seconds > 0.001 ? seconds : 0.001);
}

static void do_status(struct recording *r, struct control_text *t)
{
	const double seconds = (double)(rate_mono() - r->begin_ns) / 1e9;
	const uint32_t is = atomic_load(&r->owner.pool->generation) &
			    (POOL_ON | POOL_AWAITS);

	control_say(t, "ok\nname %.*s\n",
		    (int)(strrchr(r->control.name, '.') - r->control.name),
		    r->control.name);
	say_path(t, "program", r->program_path);
	control_say(t, "pid %d\n", (int)pid_of(r));
	control_say(t, "recorder %d\n", (int)getppid());
	control_say(t, "seconds %.3f\n", seconds);
	control_say(t, "state %s\n", is == POOL_ON ? "on" :
		    (is & POOL_ON) ? "waits" : "off");
	control_say(t, "carrier %s\n", r->sink.flight ? "memory" :
		    r->sink.lttng ? "lttng" : "spill");
	if (is & POOL_AWAITS)
		say_path(t, "start-on", r->opt.start_on);
	look_at_vms(r, is == POOL_ON ? t : NULL);
	if (r->attach.waits)
		control_say(t, "waits process %d: it has called nothing yet\n",
			    (int)pid_of(r));
	else if (is == POOL_ON && r->attach.is_used &&
		 r->opt.lua != POOL_LUA_OFF)
		say_unseen(r, t);
	control_say(t, "records %" PRIu64 "\n", r->drain.records);
	control_say(t, "rate %.0f\n", (is & POOL_ON) ? rate_of(r, seconds) : 0);
	control_say(t, "pool %" PRIu32 "\n", pool_owner_fill(&r->owner));
	control_say(t, "disk %" PRIu64 "\n",
		    trace_folder_bytes(r->folder.absolute));
	control_say(t, "lost %" PRIu64 "\n", count_lost(r));
	say_path(t, "trace", r->folder.absolute);
}

/* ---- progress ---- */

/* What records take is known by calibration: a call has one or two. */
void requests_show(struct recording *r)
{
	const double share = r->budget.share > 0 ? r->budget.share :
			     r->speed.rate * r->budget.call_ns / 1e9;
	char calls[32], bytes[32], takes[64] = "";

	if (!r->opt.progress)
		return;
	if (share > 0)
		snprintf(takes, sizeof(takes), ", recording takes %.1f%% of "
			 "%s", share * 100, r->budget.share > 0 ?
			 "the CPU time" : "a core");
	amount_print(bytes, sizeof(bytes),
		     (double)trace_folder_bytes(r->folder.absolute));
	message_rewrite("%.0f s, %s, %s, lost: %" PRIu64 "%s",
			(double)(rate_mono() - r->begin_ns) / 1e9,
			amount_many(calls, sizeof(calls), r->drain.records +
				    r->drain.counted, "records"), bytes,
			count_lost(r), takes);
}

/* ---- the others ---- */

static void do_start(struct recording *r, struct control_text *t)
{
	control_say(t, "ok\nrecording is on, was %s\n",
		    pool_start(r->owner.pool) ? "on" : "off");
}

static void do_stop(struct recording *r, struct control_text *t)
{
	control_say(t, "ok\nrecording is off, was %s\n",
		    pool_turn_off(r->owner.pool, POOL_ON | POOL_BY_TITLE) &
		    POOL_ON ? "on" : "off");
}

/* The loop writes later ones at most once a second. */
static void do_snapshot(struct recording *r, struct control_text *t)
{
	const char *why;
	char path[PATH_MAX + 40];

	if (!r->sink.flight) {
		control_say(t, "error this recording has no flight recorder: "
			    "see weft record --flight-recorder\n");
		return;
	}
	flight_want(&r->flight, t->argument, true);
	if (!flight_may(&r->flight)) {
		control_say(t, "ok\nsnapshot soon: the last one is less than "
			    "a second old\n");
		return;
	}
	if (flight_snapshot(r, &why) != 0) {
		control_say(t, "error the snapshot could not be written: %s\n",
			    why);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", r->folder.absolute,
		 r->flight.name);
	control_say(t, "ok\n");
	say_path(t, "snapshot", path);
}

static void do_finish(struct recording *r, struct control_text *t)
{
	r->wants_finish = true;
	t->stays = true;
	control_say(t, "ok\n");
	if (r->sink.flight && r->flight.snapshots == 0)
		control_say(t, "trace none: no snapshot was asked for\n");
	else
		say_path(t, "trace", r->folder.absolute);
}

static void do_watch(struct recording *r, struct control_text *t)
{
	(void)r;
	t->stays = t->watches = true;
	control_say(t, "ok\n");
}

/* A new request is a row here, and one in commands[] of control/client.c. */
static const struct {
	const char *word;
	void (*call)(struct recording *r, struct control_text *t);
} requests[] = {
	{ "status", do_status },
	{ "start", do_start },
	{ "stop", do_stop },
	{ "snapshot", do_snapshot },
	{ "finish", do_finish },
	{ "watch", do_watch },
};

/* A control_fn. */
static void take_request(void *ctx, const char *word, struct control_text *t)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (strcmp(requests[i].word, word) == 0) {
			requests[i].call(ctx, t);
			return;
		}
	control_say(t, "error this recorder knows no such request\n");
}

void requests_init(struct recording *r)
{
	const char *const why = control_init(
		&r->control, r->opt.name ? r->opt.name : r->program_path,
		pid_of(r), take_request, r);

	if (why)
		message("no control socket: %s; weft status, start, stop and "
			"finish will not find this recording", why);
}

void requests_beat(struct recording *r, uint64_t now)
{
	struct speed *const s = &r->speed;

	look_at_vms(r, NULL);
	const uint64_t ms = now - s->since;

	if (ms > 0 && s->since > 0)
		s->rate = (double)(r->drain.records - s->records) * 1e3 /
			  (double)ms;
	s->is_known |= ms > 0 && s->since > 0 && r->drain.records > 0;
	s->since = now;
	s->records = r->drain.records;
}
