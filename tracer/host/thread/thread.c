/* thread.c - a thread's state: brought up to date when the pool's generation
 * changes, one level higher for each hook that a signal handler interrupts, and
 * given back at the thread's end.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/thread.h"
#include "tracer/host/base/break.h"
#include "tracer/host/thread/birth.h"

#include <errno.h>
#include <pthread.h>

_Static_assert(offsetof(struct attach_mailbox, none) ==
	       offsetof(struct attach_mailbox, native) + sizeof(uint64_t),
	       "thread_native_generation finds one before the other");

_Atomic uint32_t thread_native_watched;

/* Of no generation that a pool may have. */
static struct thread_state nobody;
THREAD_LOCAL struct thread_state *thread_self;
THREAD_LOCAL struct thread_state *thread_hot = &nobody;
_Atomic uint32_t thread_natives;
_Atomic int region_only;
THREAD_LOCAL uint32_t region_depth;

/* Set when the thread's state was given back: what it calls is not recorded. */
static THREAD_LOCAL bool ended;

/* Where in the pool such calls, and those for which there was no memory, are
 * counted. NULL: there are none. */
static THREAD_LOCAL _Atomic uint64_t *missed;

/* The pool's generation at which this thread could get no state, 0: never. To
 * try at each call would cost several system calls every time. */
static THREAD_LOCAL uint32_t refused;

/* What a state's generation is while its thread is shut out: no pool has it. */
enum { SHUT_OUT = -1 };

static uint32_t pool_generation(void)
{
	return atomic_load(&mapped_pool->generation);
}

static bool is_awaiting(uint32_t generation)
{
	return (generation & POOL_AWAITS) != 0;
}

bool thread_valid(const struct thread_state *s)
{
	return s->busy != 0 && s->level < LEVELS && chunk_valid(s) &&
	       shadow_valid(s);
}

/* First where the hooks look: a handler that comes between the two finds that
 * the state is up to date. */
static void set_generation(struct thread_state *s, uint32_t generation)
{
	s->each_generation = s->counts || s->chooses ? 0 : generation;
	s->count_generation = s->counts && s->too_deep == 0 ? generation : 0;
	barrier();
	s->generation = generation;
}

void thread_lua_runs(struct thread_state *s, uint32_t top)
{
	s->lua_top = top;
	birth_choose(s);
	set_generation(s, s->generation);
}

static void set_self(struct thread_state *s)
{
	thread_hot = s ? s : &nobody;
	barrier();
	thread_self = s;
	barrier();
}

/* -------------------------------------------------------------------- end */

/* Threads give their state back in the last round of destructors, so that what
 * other destructors call is still recorded. Keys beyond the first 32 would make
 * pthread_setspecific allocate; then the kernel's word on the thread's end
 * (its robust mutex) must do, and its state is not used again. */
#ifdef __SANITIZE_THREAD__
enum { FIRST_KEYS = 32, ROUNDS = 1 }; /* its runtime ends in the last round */
#else
enum { FIRST_KEYS = 32, ROUNDS = 4 };
#endif

static pthread_key_t end_key;
static bool end_key_made;

static void close_for_good(struct thread_state *s)
{
	const uint64_t now = clock_now();

	if (s->generation == 0)
		return;
	if (s->level == 0 && (int64_t)(now - s->last) > 0) {
		chunk_put(s, rec_put_value(REC_TIME, now - s->last));
		s->last = now;
	}
	chunk_close(s, CHUNK_LAST);
}

/* None of its levels is at work. closes: what it has goes to the recorder. */
static void give_back_all(struct thread_state *s, bool closes)
{
	struct thread_state *next;

	set_self(NULL);
	for (; s; s = next) {
		next = s->next;
		if (closes)
			close_for_good(s);
		mapped_range_release(s->range);
		birth_give_back(s);
	}
}

void thread_end(_Atomic uint64_t *count)
{
	struct thread_state *const s = thread_self;
	struct pool_thread *const slot = !s ? NULL : s->slot;

	if (!s || s->busy != 0)
		return;
	missed = count;
	ended = true;
	barrier();
	if (thread_upcalls.lua_ends)
		thread_upcalls.lua_ends();
	if (s->range != mapped_range) {
		give_back_all(s, false);
		return;
	}
	give_back_all(s, true);
	mapped_end_thread(slot);
}

static void at_destructors(void *round)
{
	const uintptr_t r = (uintptr_t)round;

	if (r >= ROUNDS || pthread_setspecific(end_key, (void *)(r + 1)) != 0)
		thread_end(&mapped_pool->after_destructors);
}

/* The thread that forked goes on in the child, whose pages may not have been
 * wiped (map_state). */
static void in_child(void)
{
	mapped_range_reset();
	for (struct thread_state *s = thread_self; s; s = s->next) {
		set_generation(s, 0);
		mapped_range_hold(s->range);
	}
}

/* Calls that the loader made before it called a constructor of ours, which are
 * those of IFUNC resolvers: there is no environment yet, or this library is not
 * relocated. */
static _Atomic uint64_t early;
static _Atomic bool has_begun;

__attribute__((constructor)) static void begin_process(void)
{
	const int saved = errno;

	if (process_ready() && atomic_load(&mapped_pool->generation) & POOL_ON)
		atomic_fetch_add(&mapped_pool->unrecorded, early);
	has_begun = true;
	pthread_atfork(NULL, NULL, in_child);
	end_key_made = pthread_key_create(&end_key, at_destructors) == 0 &&
		       end_key < FIRST_KEYS;
	errno = saved;
}

/* ------------------------------------------------------------ generations */

/* A stack begins anew. The chunk before has ended with its last record, when
 * nobody read the CPU clock: what the thread has used since is not its. */
static void begin_anew(struct thread_state *s)
{
	s->late = true;
	chunk_close(s, CHUNK_LAST);
	s->late = false;
	shadow_forget(s);
	s->last = clock_now();
	s->cpu = kernel_cpu();
}

/* Native calls are recorded from now on, or no longer. Those that are open
 * would stay on the stack for ever, or return unseen. Lua's go on as they are.
 * A stack without any begins anew, so that native calls that return later are
 * put where they belong. */
static void forget_native(struct thread_state *s)
{
	s->busy = (uint64_t)__builtin_frame_address(0);
	barrier();
	if (shadow_drop_native(s)) {
		chunk_switch(s, CHUNK_GAP);
	} else {
		begin_anew(s);
		chunk_switch(s, 0);
	}
	thread_release(s);
}

/* The pool says that something changed: find out what concerns this state. A
 * handler that runs meanwhile goes one level higher; but in a child of fork it
 * must not take this for a hook that went on there. */
static bool catch_up(struct thread_state *s, uint32_t generation)
{
	const uint32_t natives = atomic_load(&thread_natives);
	const uint32_t window = pool_window(mapped_pool, generation);
	const bool forked = s->generation == 0;

	if (forked) {
		birth_check_table(s);
		chunk_disown(s);
		if (!birth_identify(s, refused == 0))
			return false;
		s->last = clock_now();
	} else {
		s->busy = (uint64_t)__builtin_frame_address(0);
		barrier();
		birth_check_table(s);
	}
	if (s->window != window) {
		begin_anew(s);
		s->window = window;
		if (s->awaits) {
			s->awaits = is_awaiting(generation);
			birth_choose(s);
		}
		chunk_switch(s, 0);
	} else if (s->natives != natives) {
		forget_native(s);
	} else if (forked || chunk_is_scrap(s) ||
		   s->opened < atomic_load(&mapped_pool->cut_before)) {
		if (s->awaits) /* the recorder may know more by now */
			chunk_disown(s);
		chunk_switch(s, 0);
	}
	s->natives = natives;
	set_generation(s, generation);
	barrier();
	s->busy = 0;
	return true;
}

/* Recording that begins in the middle of a thread's life (--paused, or a state
 * made after the window opened) cannot know what is open; a thread that the
 * recording saw from its first instruction on has nothing open. */
static bool began_late(uint32_t generation)
{
	return pool_window(mapped_pool, generation) > 0 ||
	       atomic_load(&thread_natives) > 0;
}

/* A state for the thread, or for a handler that has interrupted the hook of the
 * state below; NULL: no memory, or no slot, which is counted. */
static struct thread_state *bear(struct thread_state *below,
				 uint32_t generation)
{
	struct thread_state *const s = birth_new();

	if (!s) {
		if (!below)
			missed = &mapped_pool->unrecorded;
		return NULL;
	}
	s->window = pool_window(mapped_pool, generation);
	s->awaits = is_awaiting(generation);
	s->natives = atomic_load(&thread_natives);
	return birth_begin(s, below, refused == 0) ? s : NULL;
}

/* What a handler's jump would leave without an owner comes first. A chunk may
 * have to be waited for, and a jump out of that is as out of any hook. */
static struct thread_state *open_first(struct thread_state *s)
{
	chunk_switch(s, 0);
	barrier();
	s->busy = 0;
	return s;
}

static struct thread_state *begin(uint32_t generation, bool late)
{
	const struct kernel_signals before = kernel_hold_signals();
	struct thread_state *const s = bear(NULL, generation);

	if (s) {
		missed = NULL;
		s->base_unknown = late;
		set_generation(s, generation);
		s->busy = (uint64_t)__builtin_frame_address(0);
		set_self(s);
		if (end_key_made)
			pthread_setspecific(end_key, (void *)1);
	}
	kernel_let_signals(before);
	return s ? open_first(s) : NULL;
}

/* A handler that interrupted a hook forked: that hook will go on here, too, and
 * must find a state to finish with, which nobody sees. */
static struct thread_state *begin_beside(struct thread_state *old,
					 uint32_t generation)
{
	struct thread_state *const s = begin(generation, true);

	if (!s)
		return NULL;
	old->slot = s->slot;
	chunk_disown(old);
	old->published = (_Atomic uint32_t *)&old->scrap_head.records;
	return s;
}

/* Which fiber runs, and does sampled Lua run in it? */
static void settle(struct thread_state *s)
{
	if (!thread_upcalls.fiber_settle && !thread_upcalls.lua_goes_on)
		return;
	s->busy = (uint64_t)__builtin_frame_address(0);
	barrier();
	if (thread_upcalls.fiber_settle)
		thread_upcalls.fiber_settle(s);
	if (thread_upcalls.lua_goes_on)
		thread_upcalls.lua_goes_on(s);
	s->lua_unsaid = s->lua_top != 0;
	thread_release(s);
}

/* The state, made or brought up to date for this generation; NULL: there is
 * none to record with. */
static struct thread_state *update(struct thread_state *s)
{
	const uint32_t generation = pool_generation();

	if (!(generation & POOL_ON) ||
	    (refused == generation && (!s || s->generation == 0)))
		return NULL;
	/* Of a recording that was left: it is gone unless one of its hooks was
	 * interrupted. */
	if (s && s->range != mapped_range && s->busy == 0) {
		give_back_all(s, false);
		s = NULL;
	}
	if (!s)
		s = begin(generation, began_late(generation) || refused != 0);
	else if (s->busy == 0)
		s = catch_up(s, generation) ? s : NULL;
	else if (s->generation == 0)
		s = begin_beside(s, generation);
	/* else a hook at work here was interrupted: that comes first */
	if (!s)
		refused = generation;
	else if (s->busy == 0 && s->level == 0)
		settle(s);
	return s;
}

SLOW struct thread_state *thread_sync(struct thread_state *s)
{
	const int saved = errno;

	s = process_ready() && !ended && !region_is_shut() ? update(s) : NULL;
	errno = saved;
	return s;
}

/* Not its own address as long as the loader has not relocated this library: it
 * calls resolvers of IFUNC symbols of others, and these may call us. */
static void *volatile self = (void *)&self;

/* No thread's state has this generation, and recording is not on in it. */
static struct pool off = { .generation = ~(uint32_t)POOL_ON };

/* NULL: it may be another one at the next call. */
static struct pool *native_pool(bool no_native)
{
	const bool ready = process_ready();

	if (ready && !no_native)
		return mapped_pool;
	return (ready || process_is_away()) &&
	       atomic_load(&thread_native_watched) == 0 ? &off : NULL;
}

SLOW struct pool *thread_find_native_pool(void)
{
	struct pool *pool;
	bool no_native;
	int saved;

	if (self != (void *)&self)
		return NULL;
	saved = errno;
	process_ready(); /* which may say first whether they are recorded */
	no_native = atomic_load(&process_no_native);
	pool = native_pool(no_native);
	thread_set_native_pool(!pool ? &thread_no_pool : pool);
	/* What this rests on may have changed meanwhile. */
	if (atomic_load(&process_no_native) != no_native ||
	    process_is_asked() || native_pool(no_native) != pool) {
		pool = NULL;
		thread_set_native_pool(&thread_no_pool);
	}
	errno = saved;
	return pool;
}

SLOW void thread_count_missed(void)
{
	/* Without a pool nothing of the thread may be looked at as yet. */
	if (!has_begun)
		early++;
	else if (mapped_pool && missed && !region_is_shut() &&
		 atomic_load_explicit(&mapped_pool->generation,
				      memory_order_relaxed) & POOL_ON)
		atomic_fetch_add_explicit(missed, 1, memory_order_relaxed);
}

/* ----------------------------------------------------------------- levels */

/* Was this level left by a handler that jumped out over the hook it had
 * interrupted? Then our frame is not below that hook's, on the same stack. */
static bool is_stale(const struct thread_state *s, uint64_t sp)
{
	return s->busy <= sp &&
	       shadow_in_alt(s, sp) == shadow_in_alt(s, s->busy);
}

/* The hook that was at work here will not come back. What it did is half
 * done by one record at most: a new chunk, which carries the stack as it is,
 * begins. */
static void abandon(struct thread_state *s, uint64_t sp)
{
	s->busy = sp;
	barrier();
	if (s->moving)
		shadow_end_move(s);
	s->late = false; /* it may have been closing a chunk */
	s->resync = true;
	chunk_switch(s, 0);
	barrier();
	s->busy = 0;
}

static struct thread_state *bear_level(struct thread_state *s,
				       uint32_t generation)
{
	const struct kernel_signals before = kernel_hold_signals();
	struct thread_state *const made = bear(s, generation);

	if (made) {
		set_generation(made, generation);
		made->alt_low = s->alt_low;
		made->alt_high = s->alt_high;
		made->stack_high = s->stack_high;
		made->busy = (uint64_t)__builtin_frame_address(0);
		s->next = made;
	}
	kernel_let_signals(before);
	return made;
}

static struct thread_state *make_level(struct thread_state *s,
				       uint32_t generation)
{
	struct thread_state *const made = refused == generation ? NULL :
					  bear_level(s, generation);

	if (!made) {
		refused = generation;
		chunk_count_lost(s, LOST_NESTED, 1);
		return NULL;
	}
	return open_first(made);
}

static struct thread_state *level_above(struct thread_state *s)
{
	struct thread_state *const n = s->next;
	const uint32_t generation = pool_generation();

	if (!n)
		return make_level(s, generation);
	if (n->busy == 0 && n->generation != generation &&
	    !catch_up(n, generation))
		return NULL;
	return n;
}

/* The lowest level from s on at which no hook is at work. */
static struct thread_state *idle_level(struct thread_state *s, uint64_t sp)
{
	while (s && s->busy != 0) {
		if (is_stale(s, sp)) {
			abandon(s, sp);
			return s;
		}
		if (s->level + 1 >= LEVELS) {
			chunk_count_lost(s, LOST_NESTED, 1);
			return NULL;
		}
		s = level_above(s);
	}
	return s;
}

SLOW struct thread_state *thread_nested(struct thread_state *s, uint64_t sp)
{
	const int saved = errno;

	if (BROKEN(busy))
		return s;
	s = s->range != mapped_range ? NULL : idle_level(s, sp);
	if (s && s->level > 0) {
		s->busy = sp;
		barrier();
		if (s->top == s->frames + 1)
			s->lowest_depth = depth_left(s->below);
		chunk_say_interrupted(s);
	}
	errno = saved;
	return s;
}

void thread_jumped(uint64_t target)
{
	const uint64_t here = (uint64_t)__builtin_frame_address(0);

	for (struct thread_state *s = thread_self; s; s = s->next) {
		if (s->busy != 0 && s->busy < target && s->generation != 0 &&
		    shadow_in_alt(s, target) == shadow_in_alt(s, s->busy))
			abandon(s, here);
	}
}

void thread_set_alt_stack(uint64_t low, uint64_t high)
{
	for (struct thread_state *s = thread_self; s; s = s->next) {
		s->alt_low = low;
		s->alt_high = high;
	}
}

/* ---------------------------------------------------------------- regions */

/* Calls that are open now will go on unseen: they end here, so that what is
 * recorded next does not stand on them. */
static void shut_out(uint64_t sp)
{
	struct thread_state *const s = thread_self;
	struct shadow_mark ground;

	if (!s || s->busy != 0 || s->generation == 0 ||
	    s->generation == (uint32_t)SHUT_OUT)
		return;
	s->busy = sp;
	barrier();
	/* Marks count from the running fiber's segment on; this is the ground
	 * of the thread's own stack. */
	ground = (struct shadow_mark){ .window = s->window,
				       .segments = 1 - s->fiber,
				       .found = s->found };
	if (s->segments > 1 || s->top > s->frames + 1)
		shadow_cut(s, ground, UNWIND_RESET, chunk_clock(s));
	s->lua_plain = NULL;
	set_generation(s, (uint32_t)SHUT_OUT);
	thread_release(s);
}

void region_set(uint32_t depth, uint64_t sp)
{
	region_depth = depth;
	if (depth == 0 &&
	    atomic_load_explicit(&region_only, memory_order_relaxed))
		shut_out(sp);
}

uint32_t region_go_back(uint32_t outside, bool sleeps, uint64_t sp)
{
	const uint32_t its = sleeps && region_depth > outside ?
			     region_depth - outside : 0;

	region_set(outside, sp);
	return its;
}
