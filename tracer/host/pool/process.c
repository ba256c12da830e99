/* process.c - joining the recording. SPDX-License-Identifier: MIT */
#include "tracer/host/pool/process.h"
#include "tracer/host/base/break.h"
#include "tracer/host/base/clock.h"
#include "tracer/host/base/module.h"
#include "tracer/host/link/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Atomic bool process_no_native;
_Atomic uint32_t process_joins;
struct pool_process *process_slot;
uint32_t process_serial;
uint64_t process_start;
void (*process_rejoins)(bool is_blind);
void (*process_maps)(void);

_Static_assert(sizeof(kernel_program) == POOL_PATH_MAX, "a path is a path");

static struct pool_process stand_in; /* where the pool has no slot left */

/* On a page of its own that a child of fork or clone finds zeroed. */
static _Atomic uint32_t *registered;

EXPORT struct attach_mailbox weft_mailbox = { .version = ATTACH_VERSION };
extern struct attach_mailbox process_mailbox
	__attribute__((alias("weft_mailbox"), visibility("hidden")));
#define mailbox process_mailbox

/* Is there a recording that this process takes part in? */
static _Atomic bool joined;

/* The numbers of the pool that was left: the next one's begin above them, so
 * that nothing of one recording is taken for something of another. */
static struct {
	uint32_t generation, window, thread, vm;
	uint64_t coroutine;
} past;

uint32_t process_past_windows(void)
{
	return past.window;
}

static void describe(struct pool_process *slot, uint32_t parent)
{
	memcpy(slot->path, kernel_program, sizeof(slot->path));
	slot->parent = parent;
	slot->pid = kernel_pid();
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

static bool make_registered(void)
{
	void *page;

	if (registered)
		return true;
	page = kernel_map(4096);
	if (!page || !kernel_wipe_on_fork(page, 4096))
		return false;
	registered = page;
	return true;
}

/* Recording is off in a pool that is attached, until it has been joined. */
static void begin_above_past(struct pool *p)
{
	atomic_fetch_add(&p->next_thread, past.thread);
	atomic_fetch_add(&p->next_vm, past.vm);
	atomic_fetch_add(&p->next_coroutine, past.coroutine);
	atomic_fetch_add(&p->window, past.window);
	atomic_fetch_add(&p->generation, past.generation);
}

static void join(const char *text, bool attached)
{
	struct pool *const p = mapped_open(text, attached);

	if (!p)
		return;
	if (!make_registered()) {
		atomic_fetch_add(&p->unjoined_processes, 1);
		return;
	}
	begin_above_past(p);
	if (process_maps)
		process_maps();
	/* What was closed meanwhile, nobody may have said. */
	if (mailbox.is_late)
		atomic_fetch_add(&module_epoch, 1);
	if (attached && process_rejoins)
		process_rejoins(mailbox.is_late);
	atomic_store(&process_no_native, !mapped_view.native);
	mailbox.pool_size = p->asked;
	memset(mailbox.joined, 0, ATTACH_PATH_MAX);
	memcpy(mailbox.joined, text, strnlen(text, ATTACH_PATH_MAX - 1));
	mapped_pool = p;
	register_process();
	atomic_fetch_add(&process_joins, 1);
	atomic_store(&joined, true);
	atomic_store(&mailbox.state,
		     attached ? ATTACH_JOINED : ATTACH_LAUNCHED);
}

static void leave_pool(void)
{
	const struct pool *const p = mapped_pool;

	atomic_store(&joined, false);
	past.generation = (atomic_load(&p->generation) |
			   (POOL_GENERATION_STEP - 1)) + 1;
	past.window = atomic_load(&p->window) + 1;
	past.thread = atomic_load(&p->next_thread);
	past.vm = atomic_load(&p->next_vm);
	past.coroutine = atomic_load(&p->next_coroutine);
	process_slot = &stand_in;
	process_serial = 0;
	mapped_leave();
	atomic_store(&mailbox.state, ATTACH_AWAY);
}

/* Of two recorders, each may ask for its own pool alone; and who wants to join
 * waits until the one before has come to its end. */
static bool may_leave(bool joins)
{
	if (!mapped_view.attached)
		return false;
	return joins ? mapped_recorder_is_dead() :
	       memcmp(mailbox.pool, mailbox.joined, ATTACH_PATH_MAX) == 0 &&
	       (kernel_confined || link_put_back());
}

/* A recorder has asked. False: not all is done that it asked for. */
static bool obey(void)
{
	const bool joins = mailbox.wish == ATTACH_JOIN;

	mailbox.pool[ATTACH_PATH_MAX - 1] = '\0';
	if (atomic_load(&joined)) {
		/* The recorder asks again. */
		if (!may_leave(joins))
			return true;
		leave_pool();
	}
	if (joins)
		join(mailbox.pool, true);
	if (atomic_load(&joined))
		return true;
	if (joins)
		atomic_store(&mailbox.state, ATTACH_REFUSED);
	return kernel_confined || link_put_back();
}

static bool search_pool(void)
{
	const char *const text = getenv(POOL_ENV);

	if (mailbox.wish != ATTACH_NOTHING)
		return obey();
	if (text)
		join(text, false);
	return true;
}

/* The thread that looks, 0: none. One at a time: the recorder may ask again
 * while one looks, which alone does not let another in. */
static _Atomic pthread_t looker;

static void search(void)
{
	uint32_t expected = ATTACH_LOOK;
	bool done;

	if (!atomic_compare_exchange_strong(&mailbox.search, &expected,
					    ATTACH_LOOKING))
		return;
	done = search_pool();
	/* Unless a recorder has asked again meanwhile. */
	expected = ATTACH_LOOKING;
	atomic_compare_exchange_strong(&mailbox.search, &expected,
				       done ? ATTACH_LOOKED : ATTACH_LOOK);
}

/* No handler may jump out of it. Where signals cannot be held back nobody is
 * kept out, since what is done then may be done twice. */
static void look(void)
{
	const int saved = errno;
	struct kernel_signals before;
	pthread_t nobody = 0;

	if (atomic_load(&looker) != 0)
		return;
	before = kernel_hold_signals();
	if (kernel_confined) {
		search();
	} else if (atomic_compare_exchange_strong(&looker, &nobody,
						  pthread_self())) {
		search();
		atomic_store(&looker, 0);
	}
	kernel_let_signals(before);
	errno = saved;
}

/* A child does not have the thread that looked for it. */
static void look_anew(void)
{
	uint32_t expected = ATTACH_LOOKING;
	const pthread_t who = atomic_load(&looker);

	if (who == 0 || who == pthread_self())
		return;
	atomic_compare_exchange_strong(&mailbox.search, &expected, ATTACH_LOOK);
	atomic_store(&looker, 0);
}

/* Nobody else is at it: it has one thread as yet. */
static void register_child(void)
{
	const struct kernel_signals before = kernel_hold_signals();

	if (atomic_load(registered) == 0)
		register_process();
	kernel_let_signals(before);
}

bool process_ready(void)
{
	if (unlikely(atomic_load_explicit(&mailbox.search,
					  memory_order_acquire) !=
		     ATTACH_LOOKED)) {
		/* A hook may come before any constructor, even before there
		 * is an environment; but a program that is asked may have
		 * cleared its own. Another thread, or a handler, may be
		 * looking at this moment. */
		if (environ || mailbox.wish != ATTACH_NOTHING)
			look();
		if (atomic_load_explicit(&mailbox.search,
					 memory_order_acquire) !=
		    ATTACH_LOOKED)
			return false;
	}
	if (!atomic_load_explicit(&joined, memory_order_acquire))
		return false;
	if (unlikely(atomic_load_explicit(registered, memory_order_relaxed) ==
		     0))
		register_child();
	return true;
}

long weft_links_lead(void);

/* Which links are led, the pool says. A recorder that does not wait for the end
 * of this asks to leave before it. */
EXPORT long weft_links_lead(void)
{
	long led;

	if (mailbox.wish == ATTACH_JOIN)
		process_ready();
	led = link_lead();
	if (mailbox.wish == ATTACH_LEAVE) {
		atomic_store(&mailbox.search, ATTACH_LOOK);
		__atomic_store_n(&mailbox.native, 0, __ATOMIC_RELEASE);
	}
	return led;
}

bool process_is_away(void)
{
	return atomic_load(&mailbox.search) == ATTACH_LOOKED &&
	       !atomic_load(&joined);
}

/* ------------------------------------------------------------- the program */

static void in_child(void)
{
	const int saved = errno;

	link_forked();
	kernel_forked();
	look_anew();
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

bool process_ready_early(char **envp)
{
	const int saved = errno;
	bool ready;

	if (!environ)
		environ = envp;
	ready = process_ready();
	errno = saved;
	return ready;
}

__attribute__((constructor)) static void begin(int argc, char **argv,
					       char **envp)
{
	const int saved = errno;

	(void)argc;
	(void)argv;
	mailbox.is_late = link_is_late();

#ifdef WEFT_TEST_BREAKS
	choose_break();
#endif
	process_ready_early(envp);
	pthread_atfork(NULL, NULL, in_child);
	errno = saved;
}
