/* mapped_pool.c - finding the pool, and taking from it. Several processes, all
 * their threads and the recorder do so at once, without locks: a slot or buffer
 * is claimed by one word. SPDX-License-Identifier: MIT */
#include "tracer/host/pool/mapped_pool.h"
#include "tracer/host/base/clock.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/link/link.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pool *mapped_pool;
struct mapped_view mapped_view;

/* ---------------------------------------------------------------- mapping */

struct address {
	int fd;
	dev_t device;
	ino_t inode;
	const char *path;
};

static bool parse(const char *text, struct address *a)
{
	char *end;

	a->fd = (int)strtol(text, &end, 10);
	if (*end++ != ':')
		return false;
	a->device = (dev_t)strtoull(end, &end, 10);
	if (*end++ != ':')
		return false;
	a->inode = (ino_t)strtoull(end, &end, 10);
	if (*end++ != ':')
		return false;
	a->path = end;
	return true;
}

/* ---- the places of pools ---- */

enum { RANGES = 8 };

struct range {
	void *start;
	uint64_t size;
	_Atomic uint32_t users;
};

static struct range ranges[RANGES];
uint32_t mapped_range;

void mapped_range_hold(uint32_t range)
{
	atomic_fetch_add(&ranges[range].users, 1);
}

void mapped_range_release(uint32_t range)
{
	atomic_fetch_sub(&ranges[range].users, 1);
}

void mapped_range_reset(void)
{
	for (int i = 0; i < RANGES; i++)
		atomic_store(&ranges[i].users, 0);
}

/* NULL: all are in use. */
static struct range *free_range(void)
{
	for (int i = 0; i < RANGES; i++) {
		if (atomic_load(&ranges[i].users) == 0 &&
		    (!ranges[i].start || ranges[i].start != mapped_pool))
			return &ranges[i];
	}
	return NULL;
}

void mapped_leave(void)
{
	const uint32_t generation = atomic_load(&mapped_pool->generation);

	if (kernel_map_over(mapped_pool, ranges[mapped_range].size))
		atomic_store(&mapped_pool->generation,
			     (generation | POOL_GENERATION_STEP) &
			     ~(uint32_t)(POOL_ON | POOL_BY_TITLE |
					 POOL_ENDED));
}

/* ---- */

static bool is_pool(int fd, const struct address *a, off_t *size)
{
	struct stat st;

	if (fd < 0 || !kernel_stat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_dev != a->device || st.st_ino != a->inode)
		return false;
	*size = st.st_size;
	return true;
}

/* Is this a pool of this kind, and of the shape of the one that was mapped
 * before? A thread may still hold a number of that one's. */
static bool fits(const struct pool *p, uint64_t size, bool attached)
{
	return pool_valid(p, size) && (p->attached != 0) == attached &&
	       (ranges[0].size == 0 || (ranges[0].size == size &&
		p->small_buffers == mapped_view.small_count &&
		p->big_buffers == mapped_view.big_count &&
		p->thread_slots == mapped_view.thread_slots &&
		p->process_slots == mapped_view.process_slots &&
		p->verdict_slots == mapped_view.verdict_slots));
}

/* There is no room for all of it, but there may be for its head. */
static void count_unmapped(int fd, off_t size)
{
	struct pool *const p = kernel_map_file(fd, sizeof(*p), NULL);

	if (!p)
		return;
	if (pool_valid(p, (uint64_t)size))
		atomic_fetch_add(&p->unjoined_processes, 1);
	kernel_unmap(p, sizeof(*p));
}

/* The pool is looked at before it takes a place. */
static struct pool *map_checked(int fd, off_t size, bool attached)
{
	struct pool *const p = kernel_map_file(fd, (size_t)size, NULL);

	if (!p && size >= (off_t)sizeof(*p))
		count_unmapped(fd, size);
	struct range *const r = p && fits(p, (uint64_t)size, attached) ?
				free_range() : NULL;

	if (!r) {
		if (p)
			kernel_unmap(p, (size_t)size);
		return NULL;
	}
	mapped_range = (uint32_t)(r - ranges);
	if (!r->start) {
		*r = (struct range){ .start = p, .size = (uint64_t)size };
		return p;
	}
	kernel_unmap(p, (size_t)size);
	return kernel_map_file(fd, (size_t)size, r->start);
}

/* By the inherited descriptor, or else by the path. */
static struct pool *map_pool(const struct address *a, bool attached)
{
	struct pool *p = NULL;
	off_t size;
	int fd;

	if (is_pool(a->fd, a, &size))
		return map_checked(a->fd, size, attached);
	fd = kernel_open(a->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (is_pool(fd, a, &size))
		p = map_checked(fd, size, attached);
	if (fd >= 0)
		kernel_close(fd);
	return p;
}

/* A thread has waited LEND_NS for an answer (mapped_ask). */
static _Atomic bool asked_in_vain;

/* given_back + 1 when a thread had waited LEND_NS and it had not changed. */
static _Atomic uint64_t in_vain_at;

struct pool *mapped_open(const char *text, bool attached)
{
	struct address a;
	struct pool *const p = parse(text, &a) ? map_pool(&a, attached) : NULL;

	if (!p)
		return NULL;
	mapped_view = (struct mapped_view){
		.attached = attached,
		.processes = pool_process(p, 0),
		.threads = pool_thread(p, 0),
		.states = pool_state(p, 0),
		.small = (uint64_t *)((char *)p + p->small_offset),
		.big = (uint64_t *)((char *)p + p->big_offset),
		.verdicts = p->verdict_slots > 0 ? pool_verdicts(p) : NULL,
		.verdict_slots = p->verdict_slots,
		.process_slots = p->process_slots,
		.thread_slots = p->thread_slots,
		.small_count = p->small_buffers,
		.big_count = p->big_buffers,
		.recording = p->recording,
		.lua = p->lua != POOL_LUA_OFF,
		.lua_sampled = p->lua == POOL_LUA_SAMPLED,
		.lua_budget = p->lua == POOL_LUA_BUDGET &&
			      p->verdict_slots > 0,
		.lua_lines = p->lua == POOL_LUA_LINES,
		.native = p->native != 0,
		.waits = p->waits,
		.heap = p->heap,
	};
	clock_is_tsc = p->use_tsc != 0;
	atomic_store(&in_vain_at, 0);
	atomic_store(&asked_in_vain, false);
	return p;
}

/* --------------------------------------------------------------- liveness
 * A slot's owner holds its robust mutex, by which the kernel tells the recorder
 * of the owner's end. libc keeps a list of a thread's mutexes for the kernel. A
 * child that the program made by clone itself has none, and libc takes it for
 * its parent: it gets a list of ours. */

static struct robust_list_head ours;
static THREAD_LOCAL bool is_ours;

static void begin_list(void)
{
	is_ours = false;
	if (kernel_has_robust_list())
		return;
	ours = (struct robust_list_head){
		.list = { &ours.list },
		.futex_offset = (long)offsetof(pthread_mutex_t, __data.__lock) -
			(long)offsetof(pthread_mutex_t, __data.__list.__next),
	};
	is_ours = kernel_set_robust_list(&ours);
}

/* Where the mapping is left before the thread ends, no list may have it. */
static bool hold_by_word(pthread_mutex_t *m)
{
	int free = 0;

	return __atomic_compare_exchange_n(&m->__data.__lock, &free,
					   (int)kernel_tid(), 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool hold_in_ours(pthread_mutex_t *m)
{
	struct robust_list *const node =
		(struct robust_list *)&m->__data.__list.__next;
	bool held;

	ours.list_op_pending = node;
	held = hold_by_word(m);
	if (held) {
		node->next = ours.list.next;
		barrier();
		ours.list.next = node;
	}
	barrier();
	ours.list_op_pending = NULL;
	return held;
}

void mapped_end_thread(struct pool_thread *slot)
{
	if (mapped_view.attached)
		__atomic_store_n(&slot->alive.__data.__lock, FUTEX_OWNER_DIED,
				 __ATOMIC_RELEASE);
}

/* Until the calling thread ends. False: another holds it. */
static bool hold(pthread_mutex_t *m)
{
	if (mapped_view.attached)
		return hold_by_word(m);
	return is_ours ? hold_in_ours(m) : pthread_mutex_trylock(m) == 0;
}

/* Has the recorder died? The kernel says so in its mutex. */
bool mapped_recorder_is_dead(void)
{
	const int lock = __atomic_load_n((int *)&mapped_pool->recorder,
					 __ATOMIC_RELAXED);

	return lock == 0 || (lock & FUTEX_OWNER_DIED) != 0;
}

/* ------------------------------------------------------------------ slots */

static bool claim_slot(_Atomic uint32_t *state, pthread_mutex_t *alive)
{
	uint32_t expected = SLOT_FREE;

	if (atomic_load_explicit(state, memory_order_relaxed) != SLOT_FREE ||
	    !atomic_compare_exchange_strong(state, &expected, SLOT_BUSY))
		return false;
	if (hold(alive))
		return true;
	atomic_store(state, SLOT_FREE);
	return false;
}

struct pool_process *mapped_claim_process(void)
{
	if (!mapped_view.attached)
		begin_list();
	for (uint32_t i = 0; i < mapped_view.process_slots; i++) {
		struct pool_process *const p = &mapped_view.processes[i];

		if (claim_slot(&p->state, &p->alive))
			return p;
	}
	return NULL;
}

uint32_t mapped_claim_thread(void)
{
	const uint32_t slots = mapped_view.thread_slots;
	const uint32_t start = slots == 0 ? 0 :
		atomic_fetch_add(&mapped_pool->thread_hint, 1) % slots;

	for (uint32_t i = 0; i < slots; i++) {
		const uint32_t k = start + i < slots ? start + i :
				   start + i - slots;
		struct pool_thread *const t = &mapped_view.threads[k];

		if (claim_slot(&t->state, &t->alive))
			return k;
	}
	return NO_SLOT;
}

/* ---------------------------------------------------------------- buffers */

static bool claim(struct buffer_claim *c, uint32_t b, uint64_t word,
		  uint64_t filling)
{
	c->buffer = b;
	barrier();
	c->word = filling;
	barrier();
	if (atomic_compare_exchange_strong(&mapped_view.states[b], &word,
					   filling))
		return true;
	c->word = 0;
	barrier();
	return false;
}

/* Always the first free one: a pool that is drained in time then uses few of
 * its buffers, again and again, which stay in the caches and need no new page
 * of this process. Those that are closed come last. */
static uint32_t claim_in(struct buffer_claim *c, uint32_t first,
			 uint32_t count, uint32_t slot)
{
	for (uint32_t b = first; b < first + count; b++) {
		const uint64_t word = atomic_load_explicit(
			&mapped_view.states[b], memory_order_relaxed);

		if (buffer_state(word) == BUFFER_CLOSED)
			break;
		if (buffer_state(word) == BUFFER_FREE &&
		    claim(c, b, word, buffer_word(BUFFER_FILLING, slot,
						  buffer_generation(word))))
			return b;
	}
	return NO_BUFFER;
}

static uint32_t claim_free(struct buffer_claim *c, uint32_t slot, bool big)
{
	const uint32_t small_count = mapped_view.small_count;
	uint32_t b = NO_BUFFER;

	for (int i = 0; i < 2 && b == NO_BUFFER; i++, big = !big)
		b = big ? claim_in(c, small_count, mapped_view.big_count,
				   slot) :
		    claim_in(c, 0, small_count, slot);
	return b;
}

/* ---- waiting ----
 * Where many threads share few processors, the recorder has one share of many,
 * and the pool is full though the disk keeps up. A thread that sleeps lends it
 * its own share. */

enum { LEND_NS = 900000000 }; /* a thread lends no more at a time */

/* Does the recorder need more than a processor? It may be stopped, too. One
 * thread finds that out for all: those that need each other's locks would wait
 * one after the other. */
static bool has_lent_enough(uint64_t begin, uint32_t from, uint32_t now)
{
	const uint64_t here = now + UINT64_C(1);

	if (atomic_load(&mapped_pool->is_stuck) ||
	    atomic_load(&in_vain_at) == here)
		return true;
	if (clock_ns(CLOCK_MONOTONIC) - begin < LEND_NS)
		return false;
	if (from == now)
		atomic_store(&in_vain_at, here);
	return true;
}

static uint32_t claim_next(struct buffer_claim *c, uint32_t slot, bool big)
{
	const bool lends = mapped_pool->on_full == POOL_LEND;
	const uint64_t begin = lends ? clock_ns(CLOCK_MONOTONIC) : 0;
	const uint32_t from = atomic_load(&mapped_pool->given_back);

	while (!mapped_recorder_is_dead()) {
		const uint32_t seen = atomic_load(&mapped_pool->given_back);
		const uint32_t b = claim_free(c, slot, big);

		if (b != NO_BUFFER)
			return b;
		if (atomic_load(&mapped_pool->is_stuck) == STUCK_THREADS ||
		    (lends && has_lent_enough(begin, from, seen)))
			break;
		if (!kernel_wait(&mapped_pool->given_back, seen) && lends) {
			atomic_store(&in_vain_at, seen + UINT64_C(1));
			break;
		}
		/* After the end, the recorder empties the pool once more. */
		if ((atomic_load(&mapped_pool->generation) & POOL_ENDED) &&
		    atomic_load(&mapped_pool->given_back) == seen)
			break;
	}
	return NO_BUFFER;
}

uint32_t mapped_claim_buffer(struct buffer_claim *c, uint32_t slot, bool big,
			     enum buffer_wait wait)
{
	/* A program that was not started for this must not pay for it. */
	if (mapped_view.attached && mapped_recorder_is_dead()) {
		atomic_fetch_and(&mapped_pool->generation, ~(uint32_t)POOL_ON);
		if (wait != WAIT_NEVER)
			link_put_back();
	}
	const uint32_t b = claim_free(c, slot, big);

	if (b != NO_BUFFER)
		return b;
	switch (mapped_pool->on_full) {
	case POOL_WAIT:
		return wait == WAIT_NEVER ? NO_BUFFER :
		       claim_next(c, slot, big);
	case POOL_LEND:
		return wait == WAIT_AS_SAID ? claim_next(c, slot, big) :
		       NO_BUFFER;
	default:
		return NO_BUFFER;
	}
}

void mapped_release_buffer(uint32_t b, uint64_t word, enum buffer_state state)
{
	const uint32_t slot = state == BUFFER_FULL ? buffer_slot(word) : 0;

	if (word != 0)
		atomic_compare_exchange_strong(&mapped_view.states[b], &word,
			buffer_word(state, slot, buffer_generation(word)));
}

/* -------------------------------------------------------------- questions */

/* Sleeps until something was answered since then, or for a while. False: it was
 * waited for long enough. */
static bool awaits_answer(uint32_t seen, uint64_t begin)
{
	struct pool_question *const q = &mapped_pool->question;

	if (mapped_recorder_is_dead() || atomic_load(&asked_in_vain))
		return false;
	if (clock_ns(CLOCK_MONOTONIC) - begin < LEND_NS &&
	    kernel_wait(&q->answered, seen))
		return true;
	atomic_store(&asked_in_vain, true);
	return false;
}

/* False: another one is there. Else, seen is how many had been answered. No
 * handler may jump out of it. */
static bool put_question(uint32_t pid, uint64_t hash, const char *name,
			 size_t size, uint32_t *seen)
{
	struct pool_question *const q = &mapped_pool->question;
	const struct kernel_signals before = kernel_hold_signals();
	uint32_t free = ASKING_FREE;
	const bool may = atomic_compare_exchange_strong(&q->state, &free,
							ASKING_TAKEN);

	if (may) {
		*seen = atomic_load(&q->answered); /* with the last answer */
		q->pid = pid;
		q->hash = hash;
		memcpy(q->name, name, size);
		q->name[size] = '\0';
		atomic_store(&q->state, ASKING_ASKED);
	}
	kernel_let_signals(before);
	return may;
}

bool mapped_ask(uint32_t pid, uint64_t hash, const char *name, size_t size)
{
	struct pool_question *const q = &mapped_pool->question;
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	uint32_t seen = atomic_load(&q->answered);

	if (size >= sizeof(q->name))
		return false;
	while (!put_question(pid, hash, name, size, &seen)) {
		if (!awaits_answer(seen, begin))
			return false;
		seen = atomic_load(&q->answered);
	}
	while (atomic_load(&q->answered) == seen) {
		if (!awaits_answer(seen, begin))
			return false;
	}
	return true;
}
