/* flight.c - who wants a snapshot, when it is written, and how. While one is
 * written, what the program records is only copied out of the pool.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/flight.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/notes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between snapshots: nobody's mistake fills the disk, and none is without what
 * came after the one before. */
static const uint64_t hold_ns = UINT64_C(10000000000),
		      urgent_hold_ns = UINT64_C(1000000000),
		      look_ns = UINT64_C(100000000);

int flight_begin(struct recording *r)
{
	struct flight *const f = &r->flight;
	struct rate_pair now;

	f->ends.all = -1;
	if ((r->opt.flight_bytes > 0 || r->opt.attach) &&
	    process_ends_init(&f->ends, &r->owner) != 0)
		return -1;
	if (r->opt.flight_bytes == 0)
		return 0;
	rate_read(&r->rate, &now);
	f->begin = now.real;
	f->spill.fd = -1;
	r->sink.flight = &f->ring;
	r->drain.late_below = UINT32_MAX;
	r->owner.pool->flight = 1;
	/* What is set aside when a slow call is found must not push the call
	 * out of the ring. */
	if (r->drain.copies.room > r->opt.flight_bytes / 8)
		r->drain.copies.room = r->opt.flight_bytes / 8;
	flight_ring_init(&f->ring, &r->sink.backlog);
	return 0;
}

int flight_watch(struct recording *r)
{
	struct slow_calls *const s = &r->flight.slow;

	if (r->opt.slow_n == 0)
		return 0;
	r->drain.slow = s;
	return slow_calls_init(s, r->opt.slow, (uint32_t)r->opt.slow_n,
			       r->program_path, r->drain.names, &r->rate);
}

/* ---- who wants one ---- */

void flight_want(struct flight *f, const char *reason, bool is_urgent)
{
	if (!f->ring.chunks)
		return;
	f->is_urgent |= is_urgent;
	if (f->reason[0]) {
		f->more++;
		return;
	}
	snprintf(f->reason, sizeof(f->reason), "%s",
		 reason[0] ? reason : "no reason given");
	message_clean(f->reason);
}

/* A thread that is killed while it writes its reason does not hold up others:
 * what is there the second time is taken. */
static void hear_program(struct flight *f, struct pool *p)
{
	char reason[sizeof(p->snapshot_reason) + 1];
	const uint32_t state = atomic_load(&p->snapshot);
	const bool is_new = state == SNAPSHOT_TOLD && !f->was_told;

	f->was_told = is_new;
	if (state == SNAPSHOT_NONE || is_new)
		return;
	memcpy(reason, p->snapshot_reason, sizeof(p->snapshot_reason));
	reason[sizeof(reason) - 1] = '\0';
	atomic_store(&p->snapshot, SNAPSHOT_NONE);
	flight_want(f, reason, false);
}

bool flight_may(const struct flight *f)
{
	return f->last_ns == 0 || rate_mono() - f->last_ns >=
	       (f->is_urgent ? urgent_hold_ns : hold_ns);
}

static bool is_fault(int signal)
{
	switch (signal) {
	case SIGQUIT: case SIGILL: case SIGTRAP: case SIGABRT: case SIGBUS:
	case SIGFPE: case SIGSEGV: case SIGXCPU: case SIGXFSZ: case SIGSYS:
	case SIGKILL: /* nobody asks politely so; the kernel, without memory */
		return true;
	default:
		return false;
	}
}

static void say_signal(char *reason, size_t size, const char *who, int signal)
{
	snprintf(reason, size, "%sended by signal %d (%s)", who, signal,
		 strsignal(signal));
}

/* A process that weft record did not start has ended. Servers end their workers
 * by a signal when they have no work for them: that is no fault. */
static void hear_end(void *ctx, pid_t pid, int status)
{
	struct recording *const r = ctx;
	const bool is_target = pid == attach_pid(&r->attach);
	const bool is_killed = status >= 0 && WIFSIGNALED(status);
	char who[32], reason[96] = "it has ended; how is not known";

	if (is_target) {
		r->attach.has_ended = true;
		r->attach.status = status;
	}
	if (is_target ? status >= 0 && !is_killed :
	    !is_killed || !is_fault(WTERMSIG(status)))
		return;
	snprintf(who, sizeof(who), "process %d ", (int)pid);
	if (is_killed)
		say_signal(reason, sizeof(reason), is_target ? "" : who,
			   WTERMSIG(status));
	registry_find_dead(&r->registry, true);
	flight_want(&r->flight, reason, true);
}

void flight_hear_ends(struct recording *r)
{
	process_ends_poll(&r->flight.ends, r->program.pid,
			  attach_pid(&r->attach), hear_end, r);
}

static void hear_all(struct recording *r)
{
	struct flight *const f = &r->flight;

	flight_hear_ends(r);
	hear_program(f, r->owner.pool);
	if (f->slow.reason[0])
		flight_want(f, f->slow.reason, false);
	f->slow.reason[0] = '\0';
	if (r->program.wants_snapshot)
		flight_want(f, "SIGUSR1", true);
	r->program.wants_snapshot = false;
}

/* The tick is read when all of it was lost. */
static void look_at_losses(struct recording *r)
{
	struct flight_gone now;

	registry_sum_lost(&r->registry, now.lost);
	now.tick = rate_ticks(&r->rate);
	flight_ring_note_lost(&r->flight.ring, &now);
}

void flight_poll(struct recording *r)
{
	struct flight *const f = &r->flight;
	const uint64_t now = rate_mono();
	const char *why;

	if (!f->ring.chunks) {
		flight_hear_ends(r);
		return;
	}
	if (now - f->looked_ns >= look_ns) {
		look_at_losses(r);
		f->looked_ns = now;
	}
	hear_all(r);
	if (f->reason[0] && flight_may(f))
		flight_snapshot(r, &why);
}

/* ---- writing one ---- */

static void put_chunk(struct recording *r, const uint64_t *words, uint32_t n)
{
	struct flight *const f = &r->flight;
	struct packed_head h;

	if (packed_read((const char *)words, &h))
		delivery_note(&r->sink.delivery, &(struct chunk_header){
			.recording = h.recording, .thread = h.thread,
			.level = h.level, .number = h.number,
			.records = h.records });
	if (spill_write(&f->spill, words, n) == 0)
		f->bytes += (uint64_t)n * 8;
	else if (f->unwritten++ == 0)
		f->why = errno;
}

/* A notes_send_fn. The room is used again by the next chunk. */
static void put_made(struct recording *r, uint32_t words)
{
	uint64_t *const packed = chunk_queue_room(&r->sink.backlog,
							false);
	const uint32_t n = packer_put(&r->sink.packer, packed,
				      sink_room(&r->sink), words,
				      packer_way(r->sink.compress));

	put_chunk(r, packed, n);
}

static void put_kept(void *ctx, const uint64_t *words, uint32_t n)
{
	struct recording *const r = ctx;
	struct packed_head h;

	put_chunk(r, words, n);
	if (packed_read((const char *)words, &h))
		census_add(&r->sink.census, h.process, h.thread);
	/* The disk may be slow, and the ring must not change meanwhile. */
	drain_set_aside(&r->drain);
}

/* All that was recorded up to now comes into the ring: what is full, what
 * threads are filling, and what was closed before the chunk that was copied. */
static void gather(struct recording *r)
{
	drain_poll(&r->drain);
	drain_send_aside(&r->drain);
	flight_ring_renew(&r->flight.ring);
	drain_copy_older(&r->drain, 0, true);
	drain_poll(&r->drain);
	drain_send_aside(&r->drain);
	look_at_losses(r);
}

/* The tick before which nothing is wanted. */
static uint64_t since(const struct recording *r)
{
	const uint64_t now = rate_ticks(&r->rate);
	const uint64_t age = r->opt.flight_ms == 0 ? now :
			     rate_ms_ticks(&r->rate, r->opt.flight_ms);

	return age < now ? now - age : 0;
}

/* The chunks; then the start notes, which know what is not among them; and the
 * end notes go to the beginning. */
static int fill_snapshot(struct recording *r)
{
	struct flight *const f = &r->flight;

	census_begin(&r->sink.census);
	delivery_forget(&r->sink.delivery);
	flight_ring_each(&f->ring, since(r), &f->gone, put_kept, r);
	summary_copy_counts(r);
	put_made(r, notes_start(r));
	notes_send_names(r, put_made);
	const uint32_t words = notes_end(r, 0);

	if (spill_close(&f->spill, sink_reserve(&r->sink, words)) != 0)
		return -1;
	errno = f->why;
	return f->unwritten == 0 ? 0 : -1;
}

/* Half of what is free stays free. Negative: errno says why there is none. */
static int open_folder(struct recording *r)
{
	struct flight *const f = &r->flight;
	struct statvfs fs;

	if (fstatvfs(r->folder.fd, &fs) == 0 && fs.f_frsize > 0 &&
	    chunk_queue_bytes(f->ring.chunks) / fs.f_frsize >=
	    fs.f_bavail / 2) {
		errno = ENOSPC;
		return -1;
	}
	snprintf(f->name, sizeof(f->name), "snapshot-%u", ++f->tries);
	if (mkdirat(r->folder.fd, f->name, 0700) != 0)
		return -1;
	return openat(r->folder.fd, f->name, O_RDONLY | O_DIRECTORY |
		      O_NOFOLLOW | O_CLOEXEC);
}

static int write_all(struct recording *r)
{
	struct flight *const f = &r->flight;
	const int folder = open_folder(r);
	int bad = -1;

	if (folder < 0)
		return -1;
	const uint32_t words = notes_no_end(r);

	if (spill_open(&f->spill, folder, sink_reserve(&r->sink, words)) == 0)
		bad = fill_snapshot(r);
	close(folder);
	return bad;
}

static void tell_snapshot(const struct recording *r)
{
	const struct flight *const f = &r->flight;
	char size[32];

	amount_print(size, sizeof(size), (double)f->bytes);
	message_summary("%s/%s: %s (%s)", r->folder.path, f->name, size,
			f->reason);
}

int flight_snapshot(struct recording *r, const char **why)
{
	struct flight *const f = &r->flight;

	assert(f->reason[0]);
	/* What has ended by now is in it. */
	f->slow.after = rate_ticks(&r->rate);
	gather(r);
	f->bytes = 0;
	f->unwritten = 0;
	f->why = errno = 0;
	const bool is_bad = write_all(r) != 0;

	*why = strerror(errno);
	if (is_bad)
		message_trouble("the snapshot \"%s\" could not be written "
				"whole: %s", f->reason, *why);
	f->snapshots += !is_bad;
	if (!is_bad)
		tell_snapshot(r);
	memset(&f->gone, 0, sizeof(f->gone));
	f->last_ns = rate_mono();
	f->reason[0] = '\0';
	f->more = 0;
	f->is_urgent = false;
	return is_bad ? -1 : 0;
}

void flight_end(struct recording *r)
{
	struct flight *const f = &r->flight;
	const int status = r->program.status;
	char reason[96];
	const char *why;

	hear_all(r);
	if (r->program.has_ended && WIFSIGNALED(status)) {
		say_signal(reason, sizeof(reason), "", WTERMSIG(status));
		f->reason[0] = '\0';
		flight_want(f, reason, false);
	}
	if (f->reason[0])
		flight_snapshot(r, &why);
	for (uint32_t i = 0; i < f->slow.rules; i++)
		if (f->slow.selection[i].skipped == 0)
			message_summary("note: --snapshot-on \"%s\": no such "
					"function was seen",
					f->slow.wish[i].text);
	summary_copy_counts(r);
	if (f->snapshots == 0)
		rmdir(r->folder.absolute);
}
