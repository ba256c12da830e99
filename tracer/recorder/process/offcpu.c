/* offcpu.c - context switches of single threads through perf_event_open(2): a
 * dummy software event with context_switch set needs no hardware, and no
 * privilege at perf_event_paranoid 2.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/offcpu.h"
#include "tracer/recorder/base/baton.h"
#include "tracer/recorder/base/rate.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	RING_PAGES = 4,            /* about 400 switches between readings */
	MAX_WATCHED = 512,         /* each takes a descriptor and five pages */
	MAX_SPANS = 4096,          /* kept of a thread until its chunk comes */
	SURE_NS = 1000000,         /* more than a tick's time can be wrong by */
};

struct span { uint64_t from, to; }; /* off the CPU, CLOCK_MONOTONIC ns */

/* UNSEEN: no switch has come yet. The first one tells where the thread was
 * until then; before that, nothing of its time is known. */
enum place { UNSEEN, ON, OFF };

/* The span items rise and do not overlap; all of them lie between known_from
 * and known_to. */
struct watched {
	int fd;                    /* -1: not watched */
	struct perf_event_mmap_page *ring;
	uint64_t known_from, known_to; /* all switches between are known */
	uint64_t read_to;          /* no switch after known_to and before it */
	enum place place;          /* at known_to; UNSEEN: that is known_from */
	struct span *span;
	uint32_t spans;
};

struct offcpu {
	uint32_t slots, watched;
	struct watched slot[];
};

/* ---- reading the kernel's ring ---- */

/* From this time on, and at no time before it, the switches are known. */
static void begin(struct watched *w, uint64_t at, enum place place)
{
	w->spans = 0;
	w->place = place;
	w->known_from = w->known_to = w->read_to = at;
}

void offcpu_lost(struct offcpu *o, uint32_t slot, uint64_t at)
{
	begin(&o->slot[slot], at, UNSEEN);
}

/* False: no memory. */
static bool add_span(struct watched *w, uint64_t at)
{
	if (!w->span)
		w->span = malloc(MAX_SPANS * sizeof(*w->span));
	if (!w->span)
		return false;
	if (w->spans == MAX_SPANS)
		begin(w, w->known_to, OFF);
	w->span[w->spans++] = (struct span){ w->known_to, at };
	return true;
}

/* A span is known when the thread comes back. A switch that does not follow
 * from the one before shows that one was lost. */
void offcpu_switch(struct offcpu *o, uint32_t slot, bool out, uint64_t at)
{
	struct watched *const w = &o->slot[slot];

	/* The kernel may have noted it while the ring was read. */
	if (at < w->known_to)
		at = w->known_to;
	if (w->place == (out ? OFF : ON) || (!out && !add_span(w, at)))
		begin(w, at, out ? OFF : ON);
	w->place = out ? OFF : ON;
	w->known_to = at;
}

/* Copy bytes of the ring, which wraps. */
static void copy_out(const struct watched *w, uint64_t at, void *to,
		     size_t size)
{
	const char *const data = (const char *)w->ring + w->ring->data_offset;
	const uint64_t mask = w->ring->data_size - 1;

	for (size_t i = 0; i < size; i++)
		((char *)to)[i] = data[(at + i) & mask];
}

static void note_record(struct offcpu *o, uint32_t slot, uint64_t at,
			const struct perf_event_header *h)
{
	uint64_t time;

	if (h->size < sizeof(*h) + sizeof(time))
		return;
	/* With sample_id_all, the time is the last field. */
	copy_out(&o->slot[slot], at + h->size - sizeof(time), &time,
		 sizeof(time));
	if (h->type == PERF_RECORD_SWITCH)
		offcpu_switch(o, slot,
			      (h->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
			      time);
	else if (h->type == PERF_RECORD_LOST)
		offcpu_lost(o, slot, time);
}

void offcpu_read(struct offcpu *o, uint32_t slot)
{
	struct perf_event_header h;

	if (!o || slot >= o->slots || o->slot[slot].fd < 0)
		return;
	struct watched *const w = &o->slot[slot];
	const uint64_t now = rate_mono();
	const uint64_t end = __atomic_load_n(&w->ring->data_head,
					     __ATOMIC_ACQUIRE);

	for (uint64_t at = w->ring->data_tail; at < end; at += h.size) {
		copy_out(w, at, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		note_record(o, slot, at, &h);
	}
	__atomic_store_n(&w->ring->data_tail, end, __ATOMIC_RELEASE);
	/* If the thread is off the CPU now, the end of this span is unknown. */
	if (now > w->known_to)
		w->read_to = now;
	if (w->place == ON && now > w->known_to)
		w->known_to = now;
	assert(w->known_from <= w->known_to && w->spans <= MAX_SPANS);
}

/* ---- watching ---- */

struct offcpu *offcpu_new(uint32_t slots)
{
	struct offcpu *const o = calloc(1, sizeof(*o) +
					slots * sizeof(o->slot[0]));

	if (!o)
		return NULL;
	o->slots = slots;
	for (uint32_t i = 0; i < slots; i++)
		o->slot[i].fd = -1;
	return o;
}

static size_t ring_size(void)
{
	return (size_t)(1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* CLOCK_MONOTONIC is the clock that chunks have pairs of. */
static int open_event(uint32_t tid)
{
	struct perf_event_attr a = {
		.size = sizeof(a), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY, .context_switch = 1,
		.sample_id_all = 1, .sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.exclude_kernel = 1,
	};

	return (int)syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* A thread in another PID namespace may have a stranger's number here. */
static bool is_thread_of(uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, tid);
	return access(path, F_OK) == 0;
}

void offcpu_unwatch(struct offcpu *o, uint32_t slot)
{
	if (!o || slot >= o->slots || o->slot[slot].fd < 0)
		return;
	offcpu_read(o, slot);
	munmap(o->slot[slot].ring, ring_size());
	close(o->slot[slot].fd);
	o->slot[slot].fd = -1;
	o->watched--;
}

void offcpu_watch(struct offcpu *o, uint32_t slot, uint32_t pid, uint32_t tid)
{
	if (!o || slot >= o->slots)
		return;
	struct watched *const w = &o->slot[slot];

	offcpu_unwatch(o, slot);
	begin(w, 0, UNSEEN);
	if (o->watched >= MAX_WATCHED)
		return;
	baton_lend();
	const int fd = is_thread_of(pid, tid) ? open_event(tid) : -1;

	baton_take();
	w->fd = fd;
	if (fd < 0)
		return;
	w->ring = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
		       w->fd, 0);
	if (w->ring == MAP_FAILED) {
		close(w->fd);
		w->fd = -1;
		return;
	}
	o->watched++;
	begin(w, rate_mono(), UNSEEN);
}

/* ---- the item ---- */

static uint64_t tick_at(const struct chunk_header *h, uint64_t ns)
{
	const int64_t away = (int64_t)(ns - h->pair_mono);

	return h->pair_tick + (uint64_t)(int64_t)
	       ((__int128)away * (int64_t)h->tick_hz / 1000000000);
}

static uint64_t clip(uint64_t tick, const struct chunk_header *h)
{
	return tick < h->tick_begin ? h->tick_begin :
	       tick > h->tick_end ? h->tick_end : tick;
}

/* A thread that wrote a record since its last switch was on the CPU then, and
 * so all the time from that switch to the last reading. */
static void settle(struct watched *w, const struct chunk_header *h)
{
	if (w->place != UNSEEN || w->known_from == 0 ||
	    tick_at(h, w->known_from + SURE_NS) >= h->tick_end)
		return;
	w->place = ON;
	w->known_to = w->read_to;
}

uint32_t offcpu_item(struct offcpu *o, uint32_t slot,
		     const struct chunk_header *h, uint64_t *to, uint32_t room)
{
	uint32_t n = 1, kept = 0;
	bool is_full = false;

	if (!o || slot >= o->slots || h->tick_hz == 0 || room < 3)
		return 0;
	struct watched *const w = &o->slot[slot];

	settle(w, h);
	to[n++] = clip(tick_at(h, w->known_from), h);
	to[n++] = clip(tick_at(h, w->known_to), h);
	if (w->known_from == 0 || to[1] >= to[2])
		return 0;
	for (uint32_t i = 0; i < w->spans; i++) {
		const uint64_t from = clip(tick_at(h, w->span[i].from), h);
		const uint64_t end = clip(tick_at(h, w->span[i].to), h);

		/* A span that ends after this chunk is also the next one's. */
		if (tick_at(h, w->span[i].to) > h->tick_end)
			w->span[kept++] = w->span[i];
		if (from >= end || is_full)
			continue;
		is_full = n + 2 > room;
		if (is_full) {
			/* What is left out makes the rest unknown. */
			to[2] = from;
			continue;
		}
		to[n++] = from;
		to[n++] = end;
	}
	w->spans = kept;
	to[0] = item_put(ITEM_OFFCPU, n);
	return n;
}
