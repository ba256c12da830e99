/* waits.c - calls of libc's functions that may wait (waits.h) come here. One is
 * recorded as if libc's function had hooks; of a lock, only where it is taken,
 * with a record of what it waits for. A lock is looked at, never tried: what
 * its own thread does not find, it must not find here. A call that is left by a
 * jump, an exception or its thread's end is ended as every native call is.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/native/waits.h"
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>

/* Of hook.c. */
HIDDEN void hook_enter(void *fn, void *site);
HIDDEN void hook_exit(void *fn, void *site);

/* Integers and pointers are all passed alike, and what is left over is not
 * looked at. */
#define ARGUMENTS long a, long b, long c, long d, long e, long f
#define PASS a, b, c, d, e, f
typedef long any_fn(ARGUMENTS);

enum {
#define X(name, look) W_##name,
	WAITS_LIST(X)
#undef X
	WAITS
};

/* What ours go on to. */
static any_fn *real[WAITS];

/* ------------------------------------------------------------------ looks
 * What glibc's objects tell of themselves, as its public headers lay them out.
 * All are read without a lock: they say what was so at one moment. */

/* What a call waits for, or ends waits for. what: the flags of WAIT; 0: of
 * nothing that is known. */
struct seen {
	uint64_t object;
	uint32_t what, owner;
};

#define READ_NOW(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

/* False: the call is not recorded. */
typedef bool look_fn(const void *object, struct seen *seen);

INLINE bool see(const void *object, uint32_t what, uint32_t owner,
		struct seen *seen)
{
	seen->object = (uint64_t)object;
	seen->what = what;
	seen->owner = owner;
	return true;
}

/* What is recorded in any case. WAIT_THREAD: which thread it made is known
 * afterwards; the object is where that is said. */
#define LOOK(name, what)                                                       \
	INLINE bool look_##name(const void *object, struct seen *seen)         \
	{                                                                      \
		return see(object, what, 0, seen);                             \
	}
LOOK(ANY, 0)
LOOK(CONDITION, WAIT_CONDITION)
LOOK(BARRIER, WAIT_BARRIER)
LOOK(JOIN, WAIT_JOIN)
LOOK(THREAD, WAIT_THREAD)
LOOK(DETACH, WAIT_THREAD | WAIT_ENDS)
#undef LOOK

/* A mutex that may be taken again by its owner, or refuses that, makes nobody
 * wait then. */
static bool is_own(const pthread_mutex_t *m)
{
	const int kind = READ_NOW(m->__data.__kind) & 3;

	return (kind == PTHREAD_MUTEX_RECURSIVE ||
		kind == PTHREAD_MUTEX_ERRORCHECK) && thread_self &&
	       (uint32_t)READ_NOW(m->__data.__owner) == thread_self->tid;
}

INLINE bool look_MUTEX(const void *object, struct seen *seen)
{
	const pthread_mutex_t *const m = object;

	if (likely(READ_NOW(m->__data.__lock) == 0) || is_own(m))
		return false;
	return see(m, WAIT_MUTEX, (uint32_t)READ_NOW(m->__data.__owner), seen);
}

/* 2 in a usual mutex; those that the kernel knows hold their owner's tid. */
INLINE bool look_MUTEX_ENDS(const void *object, struct seen *seen)
{
	const pthread_mutex_t *const m = object;
	const unsigned lock = (unsigned)READ_NOW(m->__data.__lock);

	if (likely(lock <= 1) || (lock != 2 && !(lock & FUTEX_WAITERS)))
		return false;
	return see(m, WAIT_MUTEX | WAIT_ENDS, 0, seen);
}

/* glibc's pthread_rwlock_common.c. FUTEX_USED: a writer sleeps until another
 * one lets go; __writers counts such only where writers are preferred. */
enum { WRITE_PHASE = 1, WRITE_LOCKED = 2, READERS_SHIFT = 3, FUTEX_USED = 2 };

INLINE bool look_READ(const void *object, struct seen *seen)
{
	const pthread_rwlock_t *const l = object;
	const unsigned readers = READ_NOW(l->__data.__readers);

	if (likely(!(readers & WRITE_LOCKED)) ||
	    (!(readers & WRITE_PHASE) && READ_NOW(l->__data.__flags) !=
	     PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
		return false;
	return see(l, WAIT_READ, (uint32_t)READ_NOW(l->__data.__cur_writer),
		   seen);
}

INLINE bool look_WRITE(const void *object, struct seen *seen)
{
	const pthread_rwlock_t *const l = object;
	const unsigned readers = READ_NOW(l->__data.__readers);

	if (likely(!(readers & WRITE_LOCKED) && readers >> READERS_SHIFT == 0))
		return false;
	return see(l, WAIT_WRITE, (uint32_t)READ_NOW(l->__data.__cur_writer),
		   seen);
}

/* A writer finds readers or writers that wait; a reader, which may be the last
 * one, a writer. */
INLINE bool look_RWLOCK_ENDS(const void *object, struct seen *seen)
{
	const pthread_rwlock_t *const l = object;
	const unsigned readers = READ_NOW(l->__data.__readers);
	const bool writes = READ_NOW(l->__data.__cur_writer) != 0;

	if (likely(!(writes ? readers >> READERS_SHIFT != 0 ||
			      READ_NOW(l->__data.__writers) != 0 ||
			      (READ_NOW(l->__data.__writers_futex) &
			       FUTEX_USED) != 0 :
			      (readers & WRITE_LOCKED) != 0)))
		return false;
	return see(l, (writes ? WAIT_WRITE : WAIT_READ) | WAIT_ENDS, 0, seen);
}

/* Its value, and how many threads wait (glibc's struct new_sem). */
INLINE bool look_SEMAPHORE(const void *object, struct seen *seen)
{
	const uint32_t *const s = object;

	return unlikely(READ_NOW(s[0]) == 0) &&
	       see(s, WAIT_SEMAPHORE, 0, seen);
}

INLINE bool look_SEMAPHORE_ENDS(const void *object, struct seen *seen)
{
	const uint32_t *const s = object;

	return unlikely(READ_NOW(s[1]) != 0) &&
	       see(s, WAIT_SEMAPHORE | WAIT_ENDS, 0, seen);
}

/* glibc's pthread_cond_common.c: it measures time by that clock. */
enum { MONOTONIC_CONDITION = 2 };

INLINE bool look_CONDITION_ENDS(const void *object, struct seen *seen)
{
	const pthread_cond_t *const c = object;

	return unlikely(READ_NOW(c->__data.__wrefs) >> 3 != 0) &&
	       see(c, WAIT_CONDITION | WAIT_ENDS, 0, seen);
}

/* ---------------------------------------------------------------- records */

/* Of generation 0 it is not known, and the hook finds out. Not what Lua calls
 * while it is found out which functions are its own. */
INLINE bool is_on(void)
{
	const uint32_t generation = thread_native_generation();

	return ((generation & POOL_ON) || generation == 0) &&
	       !exclude_learns();
}

/* Where it is named in the open chunk. */
static uint64_t index_of(struct thread_state *s, uint64_t address)
{
	const uint32_t index = dictionary_try_name(s, address);

	return index == NO_INDEX ? REC_FUNC_OMITTED : index;
}

/* What a wait on a condition takes again afterwards, and after how many ns it
 * gives up; 0: never. */
struct again { uint64_t mutex, left; };

/* Says it of the innermost call, if that is of this function and has records:
 * its calls may be counted, or left out. The call site tells who calls, where
 * that has no hooks. again: NULL, or of a wait on a condition. */
static SLOW void say(uint64_t fn, void *site, const struct seen *seen,
		     const struct again *again)
{
	uint64_t operands[] = { seen->object, seen->owner, REC_FUNC_OMITTED,
				REC_FUNC_OMITTED, again ? again->mutex : 0,
				REC_FUNC_OMITTED, again ? again->left : 0 };
	const uint32_t count = again ? 7 : 4;
	struct thread_state *const s = thread_acquire_native(HERE);
	uint64_t now;

	if (!s)
		return;
	if (s->top[-1].key == fn && !s->counts && s->too_deep == 0 &&
	    depth_recorded(s, s->top - 1) > 0) {
		chunk_need(s, 2 + count);
		if ((seen->what & WAIT_KIND) < WAIT_JOIN)
			operands[2] = index_of(s, seen->object);
		operands[3] = index_of(s, (uint64_t)site - 1);
		if (again)
			operands[5] = index_of(s, again->mutex);
		now = chunk_clock(s);
		chunk_put_with(s, rec_put(REC_WAIT, seen->what,
					  chunk_gap(s, now)), operands, count);
	}
	thread_release(s);
}

/* By which clock a wait on a condition may give up, and when; NULL: never. */
static const struct timespec *until(any_fn *fn, ARGUMENTS,
				    clockid_t *clock)
{
	const pthread_cond_t *const condition = (const pthread_cond_t *)a;

	(void)b, (void)e, (void)f;
	*clock = CLOCK_REALTIME;
	if (fn == real[W_pthread_cond_clockwait]) {
		*clock = (clockid_t)c;
		return (const struct timespec *)d;
	}
	if (READ_NOW(condition->__data.__wrefs) & MONOTONIC_CONDITION)
		*clock = CLOCK_MONOTONIC;
	return fn == real[W_pthread_cond_timedwait] ||
	       fn == real[W_cnd_timedwait] ? (const struct timespec *)c : NULL;
}

/* What is waited for on a condition gives its mutex back. libc reads the time
 * in any case. */
static void say_condition(any_fn *fn, void *site, const struct seen *seen,
			  ARGUMENTS)
{
	enum { LONGEST_S = 1000000000 };
	struct again again = { (uint64_t)b, 0 };
	struct seen also;
	clockid_t clock;
	const struct timespec *const t = until(fn, PASS, &clock);
	const int64_t now = t ? (int64_t)clock_ns(clock) : 0;
	int64_t left;

	if (t && t->tv_sec >= 0 && t->tv_sec < now / 1000000000 + LONGEST_S &&
	    t->tv_nsec >= 0 && t->tv_nsec < 1000000000) {
		left = t->tv_sec * INT64_C(1000000000) + t->tv_nsec - now;
		again.left = left > 0 ? (uint64_t)left : 1;
	}
	if (look_MUTEX_ENDS((const void *)b, &also))
		say((uint64_t)fn, site, &also, NULL);
	say((uint64_t)fn, site, seen, &again);
}

static void say_all(any_fn *fn, void *site, const struct seen *seen, ARGUMENTS)
{
	if (seen->what == WAIT_CONDITION)
		say_condition(fn, site, seen, PASS);
	else if (seen->what != 0)
		say((uint64_t)fn, site, seen, NULL);
}

/* The thread may have ended by now, and may have freed where it was said which
 * one it is. */
static SLOW void say_made(any_fn *fn, void *site, struct seen *seen, long b)
{
	const uint64_t *const at = (const uint64_t *)seen->object;
	const pthread_attr_t *const how = (const pthread_attr_t *)b;
	int state = PTHREAD_CREATE_JOINABLE;

	if (!kernel_can_read(at))
		return;
	if (fn == real[W_pthread_create] && how)
		pthread_attr_getdetachstate(how, &state);
	seen->object = *at;
	seen->owner = state == PTHREAD_CREATE_DETACHED;
	say((uint64_t)fn, site, seen, NULL);
}

static NOINLINE long recorded(any_fn *fn, void *site, struct seen seen,
			      ARGUMENTS)
{
	long r;

	hook_enter((void *)fn, site);
	if (seen.what != WAIT_THREAD)
		say_all(fn, site, &seen, PASS);
	r = fn(PASS);
	if (seen.what == WAIT_THREAD && (int)r == 0)
		say_made(fn, site, &seen, b);
	hook_exit((void *)fn, site);
	return r;
}

#define X(name, look)                                                          \
	static long our_##name(ARGUMENTS)                                      \
	{                                                                      \
		struct seen seen;                                              \
                                                                               \
		if (!look_##look((const void *)a, &seen) || !is_on())          \
			return real[W_##name](PASS);                           \
		return recorded(real[W_##name], __builtin_return_address(0),   \
				seen, PASS);                                   \
	}
WAITS_LIST(X)
#undef X

/* -------------------------------------------------------------- the table */

static any_fn *const ours[] = {
#define X(name, look) our_##name,
	WAITS_LIST(X)
#undef X
};

/* Ours goes on to one function: another version of libc's, or another
 * library's, is left alone. */
static void *choose(unsigned which, void *original)
{
	const struct link_map *const at = dynamic_module_at(original);

	if (!at || at->l_name[0] == '\0' || !stand_in_is_libc(at))
		return NULL;
	if (!real[which])
		real[which] = (any_fn *)original;
	return real[which] == (any_fn *)original ? (void *)ours[which] : NULL;
}

/* Whether they are wanted, the pool says, which is looked for before any link
 * is led. */
__attribute__((constructor(102))) static void begin(int argc, char **argv,
						    char **envp)
{
	static const char *const names[] = {
#define X(name, look) #name,
		WAITS_LIST(X)
#undef X
	};

	(void)argc;
	(void)argv;
	if (!link_is_late())
		process_ready_early(envp);
	stand_in_add_names(names, WAITS, choose, &mapped_view.waits);
}
