/* cpu_watch.c - opens the kernel's ring of each thread, and hands out what is
 * in it.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/cpu_watch.h"
#include "tracer/recorder/base/turn.h"
#include "tracer/recorder/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_WATCHED = 512,         /* each takes a descriptor and its pages */
	MAX_GROWN = 16,            /* of them, with 132 KiB instead of 20 */
	MOST_HZ = 4000,            /* more is taken if it is asked for */
	LEAST_HZ = 100,
	PART_OF_CPU = 100,         /* that samples may cost: 1 % */
	CREDIT_NS = 50000000,
};

#define NS_PER_S UINT64_C(1000000000)

struct cpu_watch *cpu_watch_new(uint32_t slots, const struct rate *rate)
{
	struct cpu_watch *const w = calloc(1, sizeof(*w) +
					   slots * sizeof(w->slot[0]));

	if (!w)
		return NULL;
	w->rate = rate;
	w->slots = slots;
	for (uint32_t i = 0; i < slots; i++)
		w->slot[i].ring.fd = w->slot[i].ring.samples =
			w->slot[i].schedule = -1;
	return w;
}

/* ---- what samples cost ---- */

enum {
	TRIAL_NS = 50000,          /* period */
	TRIAL_SAMPLES = 63,
	TRIAL_MS = 30,             /* at most */
	USUAL_NS = 10000,          /* if it cannot be found out */
};

static void count_one(void *ctx, enum ring_event event, uint64_t tick,
		      uint64_t address)
{
	(void)tick;
	(void)address;
	*(unsigned *)ctx += event == RING_SAMPLE;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Look at the clock again and again. Where a sample has come since the last
 * look but one, they are as far apart as it took. Half of the samples took less
 * than that: those in which another thread had its turn do not count. Returns
 * ns. */
static uint64_t sample_cost(struct kernel_ring *ring, const struct rate *rate)
{
	const uint64_t end = rate_ticks(rate) + rate_ms_ticks(rate, TRIAL_MS);
	uint64_t cost[TRIAL_SAMPLES], now, last = end, before = end;
	unsigned n = 0;

	do {
		const bool has_news = kernel_ring_has_news(ring);
		unsigned samples = 0;

		now = rate_ticks(rate);
		if (has_news)
			kernel_ring_read(ring, rate, count_one, &samples);
		if (samples > 0 && before < now)
			cost[n++] = now - before;
		before = has_news ? end : last;
		last = has_news ? end : now;
	} while (n < TRIAL_SAMPLES && now < end);
	if (n < TRIAL_SAMPLES / 4 || rate->hz == 0)
		return USUAL_NS;
	qsort(cost, n, sizeof(*cost), by_size);
	return (uint64_t)((unsigned __int128)cost[n / 2] * NS_PER_S /
			  rate->hz);
}

/* A number in /proc/sys/kernel; 0: it is not there, or not above 0. */
static uint64_t setting(const char *name)
{
	char line[32];

	proc_line(line, sizeof(line), "/proc/sys/kernel/%s", name);
	const long long n = atoll(line);

	return n > 0 ? (uint64_t)n : 0;
}

/* A period that no other clock of the machine shares: samples must not fall on
 * the same place of a program's own rhythm each time. */
static uint64_t odd_period(uint64_t hz)
{
	return NS_PER_S / hz - NS_PER_S / hz / 100 + 11;
}

int cpu_watch_choose(struct cpu_watch *w, int hz)
{
	struct kernel_ring ring;
	uint64_t chosen = hz < 0 ? 0 : (uint64_t)hz, most;
	int error;

	if (!w)
		return ENOMEM;
	error = kernel_ring_open(&ring, 0, hz == 0 ? 0 : TRIAL_NS, w->rate);
	if (error < 0)
		return -error;
	w->cost = hz == 0 ? 0 : sample_cost(&ring, w->rate);
	/* Half as much again is what a program loses after the sample: its
	 * caches. */
	if (hz < 0)
		chosen = NS_PER_S / PART_OF_CPU / (w->cost * 3 / 2 + 1);
	kernel_ring_close(&ring);
	if (hz < 0 && chosen > MOST_HZ)
		chosen = MOST_HZ;
	else if (hz < 0 && chosen < LEAST_HZ)
		chosen = LEAST_HZ;
	/* The kernel takes no more samples a second than this. */
	most = setting("perf_event_max_sample_rate");
	if (most > 0 && chosen > most) {
		w->most_hz = hz > 0 ? most : 0;
		chosen = most;
	}
	w->period = chosen > 0 ? odd_period(chosen) : 0;
	return 0;
}

bool cpu_watch_is_forbidden(int error)
{
	return error == EACCES || error == EPERM;
}

void cpu_watch_explain(int error, char *text, size_t room)
{
	const uint64_t paranoid = setting("perf_event_paranoid");

	if (error == 0)
		text[0] = '\0';
	else if (error == ENOMEM)
		snprintf(text, room, "no more memory may be locked (ulimit -l, "
			 "kernel.perf_event_mlock_kb)");
	else if (error == EMFILE)
		snprintf(text, room, "more than %d lived at one time, or "
			 "`ulimit -n` is too low", MAX_WATCHED);
	else if (!cpu_watch_is_forbidden(error))
		snprintf(text, room, "perf_event_open: %s", strerror(error));
	else if (paranoid > 2 && geteuid() != 0)
		snprintf(text, room, "kernel.perf_event_paranoid is %" PRIu64,
			 paranoid);
	else
		snprintf(text, room, "perf_event_open is forbidden here, as by "
			 "the seccomp filter of a container");
}

/* ---- reading ---- */

/* Nothing is known of what was before this tick and has no chunk yet. */
static void lose(struct cpu_watched *t, uint64_t tick)
{
	const bool takes_none = t->samples.is_stopped;

	offcpu_begin(&t->offcpu, tick, OFFCPU_UNSEEN);
	samples_begin(&t->samples, tick);
	if (takes_none)
		samples_stop(&t->samples, tick);
}

/* A ring_fn. */
static void note(void *ctx, enum ring_event event, uint64_t tick,
		 uint64_t address)
{
	struct cpu_watched *const t = ctx;

	switch (event) {
	case RING_IN:
		t->credit -= !t->samples.is_stopped;
		offcpu_switch(&t->offcpu, OFFCPU_ON, tick);
		break;
	case RING_OUT:
		offcpu_switch(&t->offcpu, OFFCPU_OFF, tick);
		break;
	case RING_PREEMPTED:
		offcpu_switch(&t->offcpu, OFFCPU_READY, tick);
		break;
	case RING_SAMPLE:
		samples_add(&t->samples, tick, address);
		break;
	case RING_LOST:
		t->has_lost = true;
		lose(t, tick);
		break;
	case RING_UNKNOWN:
		lose(t, tick);
		break;
	case RING_STOPPED:
		samples_stop(&t->samples, tick);
		break;
	case RING_RESUMED:
		if (!t->is_rationed)
			samples_begin(&t->samples, tick);
		break;
	case RING_MAPPED:
		t->has_mapped = true;
		break;
	}
}

static int64_t most_credit(const struct cpu_watch *w)
{
	return w->period > 0 ? (int64_t)(CREDIT_NS / w->period) : 0;
}

/* A thread that comes to a CPU has a timer set, which costs about as much as a
 * sample: in a virtual machine, some us. So this may happen as often as samples
 * do, on average. A thread that comes more often is sampled now and then. */
static void ration(const struct cpu_watch *w, struct cpu_watched *t,
		   uint64_t now)
{
	const int64_t most = most_credit(w);
	const uint64_t tick = rate_ticks_of(w->rate, w->period);
	const uint64_t n = now > t->credited ? (now - t->credited) / tick : 0;

	t->credited += n * tick;
	t->credit += n < CREDIT_NS ? (int64_t)n : CREDIT_NS;
	if (t->credit > most)
		t->credit = most;
	if (w->is_paused)
		return;
	if (t->credit < 0 && !t->is_rationed) {
		t->is_rationed = true;
		kernel_ring_sample(&t->ring, false);
		samples_stop(&t->samples, now);
	} else if (t->credit == most && t->is_rationed) {
		t->is_rationed = false;
		kernel_ring_sample(&t->ring, true);
		samples_begin(&t->samples, rate_ticks(w->rate));
	}
}

/* How long it has waited for cores until about now, in ticks: the second
 * number, in ns (the kernel's Documentation/scheduler/sched-stats.rst).
 * UINT64_MAX: nobody knows. */
static uint64_t waited_of(const struct cpu_watch *w,
			  const struct cpu_watched *t)
{
	unsigned long long waited;
	char line[64];
	ssize_t n;

	n = t->schedule < 0 ? 0 : pread(t->schedule, line, sizeof(line) - 1, 0);
	line[n > 0 ? n : 0] = '\0';
	return sscanf(line, "%*u %llu", &waited) == 1 ?
	       rate_ticks_of(w->rate, waited) : UINT64_MAX;
}

/* No more is known of the slot's thread. */
static void unwatch(struct cpu_watch *w, struct cpu_watched *t)
{
	w->grown -= t->ring.is_grown;
	kernel_ring_close(&t->ring);
	if (t->schedule >= 0)
		close(t->schedule);
	t->schedule = -1;
	w->watched--;
}

void cpu_watch_read(struct cpu_watch *w, uint32_t slot)
{
	if (!w || slot >= w->slots || w->slot[slot].ring.fd < 0)
		return;
	struct cpu_watched *const t = &w->slot[slot];
	const uint64_t waited = kernel_ring_has_news(&t->ring) ?
				waited_of(w, t) : UINT64_MAX;
	const uint64_t at = rate_ticks(w->rate);
	const uint64_t now = kernel_ring_read(&t->ring, w->rate, note, t);

	offcpu_reach(&t->offcpu, now);
	if (waited != UINT64_MAX)
		offcpu_waited(&t->offcpu, at, waited);
	w->is_crowded |= offcpu_is_crowded(&t->offcpu) && !t->was_crowded;
	t->was_crowded = offcpu_is_crowded(&t->offcpu);
	if (w->period == 0)
		return;
	samples_reach(&t->samples, now);
	ration(w, t, now);
}

void cpu_watch_make_room(struct cpu_watch *w, uint32_t slot)
{
	struct cpu_watched *const t = w && slot < w->slots ? &w->slot[slot] :
				      NULL;

	if (!t || t->ring.fd < 0 || !t->has_lost || t->ring.is_grown ||
	    w->grown == MAX_GROWN)
		return;
	w->grown++;
	if (kernel_ring_grow(&t->ring) != 0) {
		w->refused++;
		w->why = ENOMEM;
		unwatch(w, t);
		return;
	}
	lose(t, rate_ticks(w->rate));
}

void cpu_watch_pause(struct cpu_watch *w, bool is_paused)
{
	const uint64_t now = w ? rate_ticks(w->rate) : 0;

	for (uint32_t i = 0; w && i < w->slots; i++) {
		struct cpu_watched *const t = &w->slot[i];

		if (t->ring.fd < 0 || t->is_rationed)
			continue;
		kernel_ring_sample(&t->ring, !is_paused);
		if (is_paused)
			samples_stop(&t->samples, now);
		else
			samples_begin(&t->samples, now);
	}
	if (w)
		w->is_paused = is_paused;
}

uint64_t cpu_watch_lost(const struct cpu_watch *w)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; w && i < w->slots; i++)
		lost += w->slot[i].samples.lost + w->slot[i].samples.n;
	return lost;
}

/* ---- watching ---- */

/* Where it is if it is not on a CPU. What ends its sleep meanwhile is seen. */
static enum offcpu_place away_of(uint32_t pid, uint32_t tid)
{
	struct proc_stat s;

	return !proc_stat((pid_t)pid, (pid_t)tid, &s) ? OFFCPU_UNSEEN :
	       s.state == 'R' ? OFFCPU_READY : OFFCPU_OFF;
}

void cpu_watch_end(struct cpu_watch *w, uint32_t slot)
{
	if (!w || slot >= w->slots || w->slot[slot].ring.fd < 0)
		return;
	cpu_watch_read(w, slot);
	if (w->slot[slot].ring.fd >= 0)
		unwatch(w, &w->slot[slot]);
}

/* Nothing is known of the slot's new thread. */
static void reset(const struct cpu_watch *w, struct cpu_watched *t,
		  uint32_t process)
{
	offcpu_begin(&t->offcpu, 0, OFFCPU_UNSEEN);
	samples_begin(&t->samples, 0);
	t->process = process;
	t->has_mapped = t->is_rationed = false;
	t->has_lost = t->was_crowded = false;
	t->credit = most_credit(w);
}

static int open_schedule(uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/schedstat", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void cpu_watch_begin(struct cpu_watch *w, uint32_t slot, uint32_t process,
		     uint32_t pid, uint32_t tid)
{
	enum offcpu_place away = OFFCPU_UNSEEN;
	struct kernel_ring ring;
	int error = -EMFILE;

	if (!w || slot >= w->slots)
		return;
	cpu_watch_end(w, slot);
	reset(w, &w->slot[slot], process);
	turn_lend();
	/* In another PID namespace, a stranger may have its number here. */
	if (!proc_has_thread((pid_t)pid, (pid_t)tid))
		error = -ESRCH;
	else if (w->watched < MAX_WATCHED)
		error = kernel_ring_open(&ring, tid, w->period, w->rate);
	if (error == 0)
		away = away_of(pid, tid);
	turn_take();
	if (error < 0) {
		w->refused += error != -ESRCH;
		w->why = error != -ESRCH ? -error : w->why;
		return;
	}
	w->slot[slot].ring = ring;
	w->slot[slot].schedule = open_schedule(tid);
	w->watched++;
	offcpu_begin(&w->slot[slot].offcpu, ring.last.tick, away);
	w->slot[slot].offcpu.waited = waited_of(w, &w->slot[slot]);
	if (w->period == 0)
		return;
	samples_begin(&w->slot[slot].samples, ring.last.tick);
	w->slot[slot].credited = ring.last.tick;
	if (w->is_paused)
		kernel_ring_sample(&ring, false);
}
