/* offcpu.c - context switches of single threads through perf_event_open(2):
 * a dummy software event with context_switch set needs no privilege at
 * perf_event_paranoid 2, and no hardware. SPDX-License-Identifier: MIT */
#include "tracer/recorder/offcpu.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	RING_PAGES = 4,       /* 16 KiB: about 400 switches between readings */
	MAX_WATCHED = 512,    /* a descriptor and five pages each */
	MAX_SPANS = 4096,     /* kept of one thread until its chunk comes */
};

struct span { uint64_t from, to; }; /* CLOCK_MONOTONIC ns, off the CPU */

struct watched {
	int fd;               /* -1: not watched */
	struct perf_event_mmap_page *ring;
	uint64_t known_from, known_to;
	uint64_t off_since;   /* 0: on the CPU */
	struct span *span;    /* rising, disjoint */
	uint32_t spans;
};

struct offcpu {
	uint32_t slots, watched;
	struct watched slot[];
};

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

static uint64_t mono_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

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

/* In another PID namespace the number may be somebody else's. */
static int is_ours(uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, tid);
	return access(path, F_OK) == 0;
}

void offcpu_watch(struct offcpu *o, uint32_t slot, uint32_t pid, uint32_t tid)
{
	struct watched *w;

	if (!o || slot >= o->slots)
		return;
	w = &o->slot[slot];
	offcpu_gone(o, slot);
	w->known_from = w->known_to = w->off_since = 0;
	w->spans = 0;
	if (o->watched >= MAX_WATCHED || !is_ours(pid, tid))
		return;
	if (!w->span)
		w->span = malloc(MAX_SPANS * sizeof(*w->span));
	if (!w->span)
		return;
	w->fd = open_event(tid);
	if (w->fd < 0)
		return;
	w->ring = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
		       w->fd, 0);
	if (w->ring == MAP_FAILED) {
		close(w->fd);
		w->fd = -1;
		return;
	}
	o->watched++;
	w->known_from = w->known_to = mono_now();
}

void offcpu_gone(struct offcpu *o, uint32_t slot)
{
	struct watched *w;

	if (!o || slot >= o->slots || o->slot[slot].fd < 0)
		return;
	w = &o->slot[slot];
	offcpu_read(o, slot);
	munmap(w->ring, ring_size());
	close(w->fd);
	w->fd = -1;
	o->watched--;
}

void offcpu_free(struct offcpu *o)
{
	for (uint32_t i = 0; o && i < o->slots; i++) {
		offcpu_gone(o, i);
		free(o->slot[i].span);
	}
	free(o);
}

/* What was kept does not fit, or switches were lost: begin anew from here. */
static void forget(struct watched *w, uint64_t at)
{
	w->spans = 0;
	w->off_since = 0;
	w->known_from = w->known_to = at;
}

static void note_switch(struct watched *w, int out, uint64_t at)
{
	if (at < w->known_to)
		return;
	if (out) {
		w->off_since = at;
	} else if (w->off_since != 0) {
		if (w->spans == MAX_SPANS)
			forget(w, w->off_since);
		w->span[w->spans++] = (struct span){ w->off_since, at };
		w->off_since = 0;
	}
	w->known_to = at;
}

/* Bytes of the ring, which wraps. */
static void copy_out(const struct watched *w, uint64_t at, void *to,
		     size_t size)
{
	const char *const data = (const char *)w->ring + w->ring->data_offset;
	const uint64_t mask = w->ring->data_size - 1;

	for (size_t i = 0; i < size; i++)
		((char *)to)[i] = data[(at + i) & mask];
}

static void note_record(struct watched *w, uint64_t at,
			const struct perf_event_header *h)
{
	uint64_t time;

	if (h->size < sizeof(*h) + sizeof(time))
		return;
	/* With sample_id_all the time stands last. */
	copy_out(w, at + h->size - sizeof(time), &time, sizeof(time));
	if (h->type == PERF_RECORD_SWITCH)
		note_switch(w, (h->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
			    time);
	else if (h->type == PERF_RECORD_LOST)
		forget(w, time);
}

void offcpu_read(struct offcpu *o, uint32_t slot)
{
	struct perf_event_header h;
	struct watched *w;
	uint64_t at, end, now;

	if (!o || slot >= o->slots || o->slot[slot].fd < 0)
		return;
	w = &o->slot[slot];
	now = mono_now();
	at = w->ring->data_tail;
	end = __atomic_load_n(&w->ring->data_head, __ATOMIC_ACQUIRE);
	while (at < end) {
		copy_out(w, at, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		note_record(w, at, &h);
		at += h.size;
	}
	__atomic_store_n(&w->ring->data_tail, end, __ATOMIC_RELEASE);
	/* Of a thread that is off at this moment, only what went before. */
	if (w->off_since == 0 && now > w->known_to)
		w->known_to = now;
}

void offcpu_read_all(struct offcpu *o)
{
	for (uint32_t i = 0; o && o->watched > 0 && i < o->slots; i++)
		offcpu_read(o, i);
}

/* ---------------------------------------------------------------- items */

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

uint32_t offcpu_item(struct offcpu *o, uint32_t slot,
		     const struct chunk_header *h, uint64_t *to, uint32_t room)
{
	struct watched *w;
	uint32_t n = 1, kept = 0;

	if (!o || slot >= o->slots || h->tick_hz == 0 || room < 3)
		return 0;
	w = &o->slot[slot];
	if (w->known_from == 0 || tick_at(h, w->known_from) >= h->tick_end ||
	    tick_at(h, w->known_to) <= h->tick_begin)
		return 0;
	to[n++] = clip(tick_at(h, w->known_from), h);
	to[n++] = clip(tick_at(h, w->known_to), h);
	for (uint32_t i = 0; i < w->spans; i++) {
		const uint64_t from = clip(tick_at(h, w->span[i].from), h);
		const uint64_t end = clip(tick_at(h, w->span[i].to), h);

		/* What reaches past this chunk is for the next one, too. */
		if (tick_at(h, w->span[i].to) > h->tick_end)
			w->span[kept++] = w->span[i];
		if (from >= end)
			continue;
		if (n + 2 > room)
			return 0;
		to[n++] = from;
		to[n++] = end;
	}
	w->spans = kept;
	to[0] = item_put(ITEM_OFFCPU, n);
	return n;
}
