/* process.c - finding the pool, and this process' slot in it; fork.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/pool/process.h"
#include "tracer/host/pool/liveness.h"
#include "tracer/host/thread/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct process_view process_view;
_Atomic int process_no_native;
struct pool_process *process_slot;
uint32_t process_serial;
uint64_t process_start;
int process_confined;
_Atomic uint32_t process_module_epoch;

static struct pool_process stand_in; /* where the pool has no slot left */
static pthread_key_t end_key;
static int end_key_made;

/* On a page of its own that a child of fork or clone finds zeroed. */
static _Atomic uint32_t *registered;

/* Where the environment's word on the pool was looked for: 0 not yet, 1 being
 * looked for, 2 done. */
static _Atomic int looked;

/* ---------------------------------------------------------------- mapping */

struct address { int fd; dev_t device; ino_t inode; const char *path; };

static int parse(const char *text, struct address *a)
{
	char *end;

	a->fd = (int)strtol(text, &end, 10);
	if (*end++ != ':')
		return 0;
	a->device = (dev_t)strtoull(end, &end, 10);
	if (*end++ != ':')
		return 0;
	a->inode = (ino_t)strtoull(end, &end, 10);
	if (*end++ != ':')
		return 0;
	a->path = end;
	return 1;
}

static int is_pool(int fd, const struct address *a, off_t *size)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_dev != a->device || st.st_ino != a->inode)
		return 0;
	*size = st.st_size;
	return 1;
}

static struct pool *map_fd(int fd, off_t size)
{
	struct pool *const p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
				    MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (!pool_valid(p, (uint64_t)size)) {
		munmap(p, (size_t)size);
		return NULL;
	}
	return p;
}

static struct pool *map_pool(const char *text)
{
	struct pool *p = NULL;
	struct address a;
	off_t size;
	int fd;

	if (!parse(text, &a))
		return NULL;
	if (is_pool(a.fd, &a, &size))
		return map_fd(a.fd, size);
	fd = open(a.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (is_pool(fd, &a, &size))
		p = map_fd(fd, size);
	if (fd >= 0)
		close(fd);
	return p;
}

static void copy_layout(struct pool *p)
{
	process_view = (struct process_view){
		.processes = pool_process(p, 0),
		.threads = pool_thread(p, 0),
		.states = pool_state(p, 0),
		.small = (uint64_t *)((char *)p + p->small_offset),
		.big = (uint64_t *)((char *)p + p->big_offset),
		.process_slots = p->process_slots,
		.thread_slots = p->thread_slots,
		.small_count = p->small_buffers,
		.big_count = p->big_buffers,
		.recording = p->recording,
		.lua = p->lua != 0,
	};
	atomic_store(&process_no_native, p->native == 0);
	clock_is_tsc = p->use_tsc != 0;
}

/* ------------------------------------------------------------ registering */

static void describe(struct pool_process *slot, uint32_t parent)
{
	const ssize_t n = readlink("/proc/self/exe", slot->path,
				   sizeof(slot->path) - 1);

	slot->path[n > 0 ? n : 0] = '\0';
	slot->parent = parent;
	slot->pid = (uint32_t)getpid();
	slot->start = process_start;
	atomic_store(&slot->vms, 0);
	atomic_store(&slot->coroutines, 0);
	atomic_store(&slot->dropped, 0);
}

static struct pool_process *claim_slot(void)
{
	const uint32_t slots = process_view.process_slots;

	for (uint32_t i = 0; i < slots; i++) {
		struct pool_process *const slot = &process_view.processes[i];
		uint32_t expected = SLOT_FREE;

		if (atomic_load_explicit(&slot->state, memory_order_relaxed) !=
		    SLOT_FREE || !atomic_compare_exchange_strong(&slot->state,
							&expected, SLOT_BUSY))
			continue;
		if (liveness_hold(&slot->alive))
			return slot;
		atomic_store(&slot->state, SLOT_FREE);
	}
	return NULL;
}

static void register_process(void)
{
	const uint32_t parent = process_serial;
	struct pool_process *slot;

	liveness_begin();
	process_start = clock_ns(CLOCK_REALTIME);
	process_serial = atomic_fetch_add(&process_pool->next_process, 1);
	slot = claim_slot();
	if (!slot)
		slot = &stand_in;
	describe(slot, parent);
	slot->serial = process_serial;
	process_slot = slot;
	atomic_store_explicit(&slot->state, SLOT_USED, memory_order_release);
	atomic_store(registered, 1);
}

static void look_for_pool(void)
{
	const char *const text = getenv(POOL_ENV);
	struct pool *p;
	void *page;

	if (!text)
		return;
	p = map_pool(text);
	if (!p)
		return;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) != 0)
		return;
	registered = page;
	copy_layout(p);
	process_pool = p;
	register_process();
}

int process_ready(void)
{
	int expected = 0;

	if (unlikely(atomic_load_explicit(&looked, memory_order_acquire) !=
		     2)) {
		/* A hook may come before any constructor, even before there
		 * is an environment; another thread, or a handler, may be
		 * looking at this moment. */
		if (!environ ||
		    !atomic_compare_exchange_strong(&looked, &expected, 1))
			return 0;
		look_for_pool();
		atomic_store_explicit(&looked, 2, memory_order_release);
	}
	if (!process_pool)
		return 0;
	if (unlikely(atomic_load_explicit(registered, memory_order_relaxed) ==
		     0))
		register_process();
	return 1;
}

/* ------------------------------------------------------------------- life */

/* Threads give their state back in the last round of destructors, so that what
 * other destructors call is still recorded. Keys beyond the first 32 would make
 * pthread_setspecific allocate; then the kernel's word on the thread's end
 * (its robust mutex) must do, and its state is not used again. */
#ifdef __SANITIZE_THREAD__
enum { FIRST_KEYS = 32, ROUNDS = 1 }; /* its runtime ends in the last round */
#else
enum { FIRST_KEYS = 32, ROUNDS = 4 };
#endif

static void thread_ends(void *round)
{
	const uintptr_t r = (uintptr_t)round;

	if (r < ROUNDS && pthread_setspecific(end_key, (void *)(r + 1)) == 0)
		return;
	thread_end();
}

void process_watch_thread(void)
{
	if (end_key_made)
		pthread_setspecific(end_key, (void *)1);
}

static void in_child(void)
{
	const int saved = errno;

	process_ready();
	errno = saved;
}

#ifdef WEFT_TEST_BREAKS
enum break_rule break_chosen = BREAK_NONE;

static void choose_break(void)
{
	static const char *const names[] = {
#define X(name, meaning) #name,
		BREAK_LIST(X) BREAK_WAYS(X)
#undef X
	};
	const char *const wanted = getenv("WEFT_TEST_BREAK");

	for (int i = 0; wanted && i < BREAK_NONE; i++) {
		if (strcmp(names[i], wanted) == 0)
			break_chosen = (enum break_rule)i;
	}
}
#endif

__attribute__((constructor)) static void begin(void)
{
	const int saved = errno;

#ifdef WEFT_TEST_BREAKS
	choose_break();
#endif
	if (process_ready()) {
		end_key_made = pthread_key_create(&end_key, thread_ends) == 0 &&
			       end_key < FIRST_KEYS;
		pthread_atfork(NULL, NULL, in_child);
	}
	errno = saved;
}
