/* process.c - joining the recording. SPDX-License-Identifier: MIT */
#include "tracer/host/pool/process.h"
#include "tracer/host/base/break.h"
#include "tracer/host/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic bool process_no_native;
struct pool_process *process_slot;
uint32_t process_serial;
uint64_t process_start;
bool process_confined;

static struct pool_process stand_in; /* where the pool has no slot left */

/* On a page of its own that a child of fork or clone finds zeroed. */
static _Atomic uint32_t *registered;

/* Has the environment been searched for the pool's name? */
enum { NOT_YET, SEARCHING, SEARCHED };
static _Atomic int search;

static void describe(struct pool_process *slot, uint32_t parent)
{
	const ssize_t n = readlink("/proc/self/exe", slot->path,
				   sizeof(slot->path) - 1);

	slot->path[n > 0 ? n : 0] = '\0';
	slot->parent = parent;
	slot->pid = (uint32_t)getpid();
	slot->start = process_start;
	slot->serial = process_serial;
	atomic_store(&slot->vms, 0);
	atomic_store(&slot->coroutines, 0);
	atomic_store(&slot->dropped, 0);
	atomic_store(&slot->titles, 0);
}

static void register_process(void)
{
	const uint32_t parent = process_serial;
	struct pool_process *slot = mapped_claim_process();

	process_start = clock_ns(CLOCK_REALTIME);
	process_serial = atomic_fetch_add(&mapped_pool->next_process, 1);
	if (!slot) {
		slot = &stand_in;
		atomic_fetch_add(&mapped_pool->unslotted_processes, 1);
	}
	describe(slot, parent);
	process_slot = slot;
	atomic_store_explicit(&slot->state, SLOT_USED, memory_order_release);
	atomic_store(registered, 1);
}

static void search_pool(void)
{
	const char *const text = getenv(POOL_ENV);
	struct pool *const p = text ? mapped_open(text) : NULL;
	void *page;

	if (!p)
		return;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) != 0) {
		atomic_fetch_add(&p->unjoined_processes, 1);
		return;
	}
	registered = page;
	atomic_store(&process_no_native, !mapped_view.native);
	mapped_pool = p;
	register_process();
}

bool process_ready(void)
{
	int expected = NOT_YET;

	if (unlikely(atomic_load_explicit(&search, memory_order_acquire) !=
		     SEARCHED)) {
		/* A hook may come before any constructor, even before there
		 * is an environment; another thread, or a handler, may be
		 * searching at this moment. */
		if (!environ || !atomic_compare_exchange_strong(
					&search, &expected, SEARCHING))
			return false;
		search_pool();
		atomic_store_explicit(&search, SEARCHED, memory_order_release);
	}
	if (!mapped_pool)
		return false;
	if (unlikely(atomic_load_explicit(registered, memory_order_relaxed) ==
		     0))
		register_process();
	return true;
}

bool process_never(void)
{
	return atomic_load(&search) == SEARCHED && !mapped_pool;
}

/* ------------------------------------------------------------- the program */

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
	if (process_ready())
		pthread_atfork(NULL, NULL, in_child);
	errno = saved;
}
