/* hook.c - what -finstrument-functions calls. The common case calls nothing, so
 * that no registers need to be saved. Whatever is out of the ordinary makes it
 * give up before it has changed anything; then the uncommon case does it all.
 * native/ records native calls, and stands in for functions of libc. It may use
 * base/, pool/ and thread/, and knows nothing of Lua but which of its code must
 * not be recorded.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/native/exclude.h"
#include "tracer/host/thread/thread.h"

HOOK void __cyg_profile_func_enter(void *fn, void *site);
HOOK void __cyg_profile_func_exit(void *fn, void *site);

/* Is the common case done? The hook is busy while it tries. */
#define TRY(s, sp, common)                                                     \
	({                                                                     \
		bool is_done;                                                  \
                                                                               \
		(s)->busy = (sp);                                              \
		barrier();                                                     \
		is_done = (common);                                            \
		thread_release_hot(s);                                         \
		is_done;                                                       \
	})

/* Is it the call of a function that was inlined into the innermost one, or into
 * what that was inlined into? Those have one stack pointer and one call site,
 * but call the hook from different places: who calls it from the same place
 * again has ended unseen, which the uncommon case finds out. */
INLINE bool is_inlined(const struct thread_state *s, uint64_t site,
		       struct caller from)
{
	const struct frame *f;
	uint64_t ret;

	barrier(); /* else gcc reads early, into registers of others */
	f = s->top - 1;
	if (f->sp != from.sp || f->site != site)
		return false;
	if (unlikely(s->segments > 1)) {
		barrier();
		if (s->segment[s->segments - 1].inferred)
			return false;
	}
	barrier();
	ret = CALLER_RETURN(from);
	do {
		if (f->ret == ret)
			return false;
	} while ((--f)->sp == from.sp);
	return true;
}

/* As long as calls of handlers come in between. */
enum { SAYS_AGAIN = 3 };

/* Sampled Lua may make the call: which of its functions are open? Returns where
 * the record of the call is to be, if that was said; else NULL. */
static SLOW const uint64_t *enter_from_lua(uint64_t fn, uint64_t site,
					   struct caller from,
					   struct thread_state *s)
{
	/* Of what a handler has interrupted. */
	const uint64_t *const before = s->lua_said, *said;

	s->lua_said = NULL;
	if (thread_lua_calls(s) && !exclude_has(fn) && !exclude_learns() &&
	    !chunk_counts(s, fn) && !chunk_skips(s, fn) &&
	    !is_inlined(s, site, from))
		thread_upcalls.lua_calls(fn, from.sp);
	said = s->lua_said;
	s->lua_said = before;
	return said;
}

/* ------------------------------------------------------- the uncommon case */

/* Records an entry whatever the state is. If functions are being learned, the
 * call is one of Lua's own and is not recorded. */
static SLOW void enter(uint64_t fn, uint64_t site, struct caller from)
{
	struct frame f = { .key = fn, .sp = from.sp, .site = site,
			   .ret = CALLER_RETURN(from) };
	struct thread_state *s;

	if (exclude_has(fn))
		return;
	if (exclude_learns()) {
		exclude_add(fn);
		return;
	}
	s = thread_acquire_native(from.sp);
	for (int i = 0; i < SAYS_AGAIN && s && unlikely(s->lua_unsaid); i++) {
		const uint64_t *said;

		thread_release(s);
		said = enter_from_lua(fn, site, from, s);
		s = thread_acquire_native(from.sp);
		if (s)
			s->lua_unsaid = said && said != s->at;
	}
	if (s && unlikely(s->awaits)) {
		dictionary_begins(fn);
		thread_release(s);
		s = thread_acquire_native(from.sp);
	}
	if (!s) {
		thread_count_missed();
		return;
	}
	f.tick = chunk_clock(s);
	if (s->top[-1].sp > from.sp || is_inlined(s, site, from) ||
	    unwind_native_enter(s, &f, f.tick))
		shadow_enter(s, &f, f.tick);
	thread_release(s);
}

/* Was it called before it was known that its calls are not recorded? */
static bool began_recorded(uint64_t fn, uint64_t site)
{
	const struct thread_state *const s = thread_self;

	return s && s->busy == 0 && s->generation != 0 &&
	       s->top[-1].key == fn && s->top[-1].site == site;
}

/* It was not known whether native calls are recorded: the first one may be made
 * by Lua, too. */
static SLOW void enter_unknown(uint64_t fn, uint64_t site, struct caller from)
{
	struct thread_state *const s = thread_acquire_native(from.sp);

	if (s) {
		s->lua_unsaid = s->lua_top != 0;
		thread_release(s);
	}
	enter(fn, site, from);
}

/* Records a return. If it is not that of the innermost frame, unwind finds out
 * what has ended; but one that is left out says nothing: a frame of its
 * function may be another call's. */
static SLOW void leave(uint64_t fn, uint64_t site, uint64_t sp)
{
	struct thread_state *s;
	uint64_t now;

	if (exclude_has(fn) && !began_recorded(fn, site))
		return;
	s = thread_acquire_native(sp);
	if (!s)
		return;
	now = chunk_clock(s);
	if (s->top[-1].key == fn && s->top[-1].site == site &&
	    s->too_deep == 0)
		shadow_leave(s, now);
	else if (!dictionary_may_skip(s, fn))
		unwind_native_exit(s, fn, site, sp, now);
	thread_release(s);
}

/* ---------------------------------------------- what is left out or counted
 * It has no frames. What is left out changes nothing; the hook may have
 * interrupted another one, which leaves the stack as it was. */

INLINE bool counted(uint64_t fn, uint64_t sp)
{
	struct thread_state *const s = thread_hot;

	return TRY(s, sp, counted_awaited(s, fn) || counted_quick(s, fn));
}

/* Says an entry that is left out nothing? Unless the innermost frame may have
 * ended: its stack pointer is not higher, nor is it that of a caller into which
 * this call was inlined. */
INLINE bool entry_says_nothing(const struct thread_state *s, uint64_t site,
			       uint64_t sp)
{
	const struct frame *const f = s->top - 1;

	return likely(f->sp > sp || (f->sp == sp && f->site == site)) &&
	       (likely(s->segments == 1) || shadow_depth(s) != 0);
}

/* --------------------------------------------------------- the common case */

/* The common case of an entry; false: nothing was changed. A frame below whose
 * stack pointer is not higher may have ended unseen: the uncommon case finds
 * out. The frame is complete before top rises, so a signal handler sees either
 * all of it or nothing. What the open chunk has named is looked up while the
 * hook is busy: until then, a handler may open another chunk. */
INLINE bool entered(struct thread_state *s, const struct table_entry *e,
		    uint64_t fn, uint64_t site, struct caller from,
		    bool chosen)
{
	struct frame *const f = s->top;
	uint64_t *const at = s->at;
	uint64_t gap;

	if (unlikely(at >= (chosen ? s->chosen_quick : s->quick)) ||
	    (unlikely(f[-1].sp <= from.sp) && !is_inlined(s, site, from)))
		return false;
	if (unlikely(e->key != fn)) {
		e = chunk_beside(e);
		if (unlikely(e->key != fn))
			return false;
	}
	if (!chunk_quick_gap(s, &gap))
		return false;
	f->key = fn;
	f->sp = from.sp;
	f->site = site;
	f->ret = CALLER_RETURN(from);
	f->tick = s->last;
	*at = gap | e->enter;
	chunk_publish_one(s, at);
	ARCH_RENEW(s->top, f + 1, 1);
	KEEP_ARGUMENTS(fn, site);
	return true;
}

/* The common case of a return; false: nothing was changed. The frame below
 * top, which was s->top, is fn's; a handler may have come since. */
INLINE bool left(struct thread_state *s, struct frame *top, uint64_t fn,
		 uint64_t site, bool chosen)
{
	if (unlikely(s->top != top || top[-1].site != site ||
		     s->at >= (chosen ? s->chosen_quick : s->quick)))
		return false;
	const bool is_done = shadow_quick_leave(s, top - 1, fn, chosen);

	KEEP_ARGUMENTS(fn, site);
	return is_done;
}

/* ------------------------------------------------- where calls are too deep */

/* A call without records, deeper than those that have them; false: nothing was
 * changed. Nobody asks when it began. */
INLINE bool entered_deep(struct thread_state *s, uint64_t fn, uint64_t site,
			 struct caller from)
{
	struct frame *const f = s->top;

	if (unlikely(f >= s->deep_limit) ||
	    (unlikely(f[-1].sp <= from.sp) && !is_inlined(s, site, from)))
		return false;
	*f = (struct frame){ .key = fn, .sp = from.sp, .site = site,
			     .ret = CALLER_RETURN(from),
			     .tick = FRAME_TICK_UNKNOWN(s->last) };
	barrier();
	s->top++;
	return true;
}

/* A return of which there is no record, if its frame is below that limit. */
INLINE bool left_below(struct thread_state *s, const struct frame *limit,
		       uint64_t fn, uint64_t site)
{
	struct frame *const f = s->top - 1;

	if (unlikely(f >= limit || f->key != fn || f->site != site))
		return false;
	s->top = f;
	return true;
}

/* --------------------------------------- where the common case has given up */

/* What has no frame may still be counted here. */
static NOINLINE void enter_or_count(uint64_t fn, uint64_t site,
				    struct caller from)
{
	struct thread_state *const s = thread_hot;

	if (!entry_says_nothing(s, site, from.sp) ||
	    ((!mapped_view.verdicts || s->busy != 0 || !counted(fn, from.sp)) &&
	     !chunk_skips(s, fn)))
		enter(fn, site, from);
}

/* The common case of a call that is only counted, in a function that calls none
 * that return to it. */
static NOINLINE void enter_counted(uint64_t fn, uint64_t site,
				   struct caller from, struct thread_state *s)
{
	if (likely(s->busy == 0) && likely(s->awaited != fn) &&
	    entry_says_nothing(s, site, from.sp) &&
	    TRY(s, from.sp, likely(counted_is_noded(s, s->top - 1)) &&
		       likely(counted_again(s, fn))))
		return;
	enter_or_count(fn, site, from);
}

static NOINLINE void leave_or_count(uint64_t fn, uint64_t site, uint64_t sp)
{
	struct thread_state *const s = thread_hot;
	const struct frame *const f = s->top - 1;

	if ((f->key == fn && f->site == site) ||
	    (!chunk_counts(s, fn) && !chunk_skips(s, fn)))
		leave(fn, site, sp);
}

/* ------------------------------------- where calls are counted, deep or brief
 * Common cases of their own, which the other one never comes to. */

INLINE bool count_entered(struct thread_state *s, uint64_t fn, uint64_t site,
			  struct caller from)
{
	struct frame *const f = s->top;

	if ((unlikely(f[-1].sp <= from.sp) && !is_inlined(s, site, from)) ||
	    unlikely(!counted_call(s, f, fn)))
		return false;
	f->key = fn;
	f->sp = from.sp;
	f->site = site;
	f->ret = CALLER_RETURN(from);
	barrier();
	ARCH_RENEW(s->top, f + 1, 1);
	KEEP_ARGUMENTS(fn, site);
	return true;
}

/* A return says nothing, but for that the innermost frame has ended. */
INLINE bool count_left(struct thread_state *s, uint64_t fn, uint64_t site)
{
	struct frame *const f = s->top - 1;

	if (unlikely(f->key != fn || f->site != site))
		return false;
	ARCH_RENEW(s->top, f, -1);
	KEEP_ARGUMENTS(fn, site);
	return true;
}

/* All calls are counted, but this one is deep or out of the ordinary. */
static NOINLINE void enter_uncounted(uint64_t fn, uint64_t site,
				     struct caller from)
{
	struct thread_state *const s = thread_hot;

	if (s->busy != 0 || !s->chooses ||
	    !TRY(s, from.sp, s->top >= s->deep &&
			     entered_deep(s, fn, site, from)))
		enter(fn, site, from);
}

INLINE void enter_counting(uint64_t fn, uint64_t site, struct caller from,
			   struct thread_state *s)
{
	if (unlikely(s->busy != 0) ||
	    !TRY(s, from.sp, count_entered(s, fn, site, from)))
		enter_uncounted(fn, site, from);
}

INLINE void leave_counting(uint64_t fn, uint64_t site, uint64_t sp,
			   struct thread_state *s)
{
	if (unlikely(s->busy != 0) || !TRY(s, sp, count_left(s, fn, site)))
		leave(fn, site, sp);
}

/* Is the thread in that state, and no hook at work? */
INLINE bool is_ready(const struct thread_state *s, uint32_t generation)
{
	return likely(s->generation == generation) && likely(s->busy == 0);
}

/* Brief calls are counted, or deep ones have no records; or Lua is sampled. */
static NOINLINE void enter_choosing(uint64_t fn, uint64_t site,
				    struct caller from, struct thread_state *s,
				    uint32_t generation)
{
	const uint64_t *said = NULL;

	if (thread_lua_calls(s) && s->generation == generation)
		said = enter_from_lua(fn, site, from, s);
	if (is_ready(s, generation) &&
	    TRY(s, from.sp, likely(!said || said == s->at) &&
		       (unlikely(s->top >= s->deep) ?
			entered_deep(s, fn, site, from) :
			entered(s, chunk_entry(s, fn), fn, site, from, true))))
		return;
	/* A handler's calls may have come after that. */
	if (unlikely(said && said != s->at))
		s->lua_unsaid = true;
	if (s->generation == generation)
		enter_or_count(fn, site, from);
	else
		enter(fn, site, from);
}

/* The common case of a brief call has given up: its caller may have had no
 * node. */
static NOINLINE void leave_settled(uint64_t fn, uint64_t site, uint64_t sp)
{
	struct thread_state *const s = thread_hot;

	if (s->busy != 0 || s->top <= s->frames + 1 ||
	    !TRY(s, sp, s->top[-1].key == fn &&
			counted_settle(s, s->top - 2) &&
			left(s, s->top, fn, site, true)))
		leave_or_count(fn, site, sp);
}

static NOINLINE void leave_choosing(uint64_t fn, uint64_t site, uint64_t sp,
				    struct thread_state *s, uint32_t generation)
{
	if (is_ready(s, generation) &&
	    TRY(s, sp, unlikely(s->top > s->deep) ?
		       left_below(s, s->deep_limit, fn, site) :
		       s->top[-1].key == fn &&
		       left(s, s->top, fn, site, true)))
		return;
	if (s->generation == generation)
		leave_settled(fn, site, sp);
	else
		leave(fn, site, sp);
}

INLINE void enter_apart(uint64_t fn, uint64_t site, struct caller from,
			struct thread_state *s, uint32_t generation)
{
	if (s->counts)
		enter(fn, site, from);
	else
		enter_choosing(fn, site, from, s, generation);
}

INLINE void leave_apart(uint64_t fn, uint64_t site, uint64_t sp,
			struct thread_state *s, uint32_t generation)
{
	if (s->counts)
		leave(fn, site, sp);
	else
		leave_choosing(fn, site, sp, s, generation);
}

/* --------------------------------------------------------------- the hooks */

/* EACH: this thread has a state that is up to date, and each call a record.
 * COUNT: it has, and each call is counted. APART: neither. OFF: nothing is
 * recorded. UNKNOWN: find out. */
enum readiness { EACH, COUNT, APART, OFF, UNKNOWN };

/* Which common case may be tried? Off costs no more than this. s: not if
 * nothing is recorded, or that is not known. */
INLINE enum readiness readiness(struct thread_state **s, uint32_t *generation)
{
	*generation = thread_native_generation();
	if (unlikely(!(*generation & POOL_ON)))
		return likely(*generation != 0) ? OFF : UNKNOWN;
	*s = thread_hot;
	return likely((*s)->each_generation == *generation) ? EACH :
	       likely((*s)->count_generation == *generation) ? COUNT : APART;
}

HOOK void __cyg_profile_func_enter(void *fn, void *site)
{
	struct caller from = CALLER;
	const struct table_entry *e;
	struct thread_state *s;
	uint32_t generation;
	const enum readiness r = readiness(&s, &generation);

	PIN(from.sp);
	if (unlikely(r == COUNT)) {
		enter_counting((uint64_t)fn, (uint64_t)site, from, s);
		return;
	}
	if (unlikely(r == APART)) {
		enter_apart((uint64_t)fn, (uint64_t)site, from, s, generation);
		return;
	}
	if (unlikely(r != EACH)) {
		if (r != OFF)
			enter_unknown((uint64_t)fn, (uint64_t)site, from);
		return;
	}
	e = chunk_entry(s, (uint64_t)fn);
	if (unlikely(e->key != (uint64_t)fn)) {
		barrier(); /* else gcc loads it for both */
		if (e->key == (uint64_t)fn + KEY_SKIPPED &&
		    entry_says_nothing(s, (uint64_t)site, from.sp))
			return;
		if (e->key == ((uint64_t)fn | KEY_COUNTED)) {
			enter_counted((uint64_t)fn, (uint64_t)site, from, s);
			return;
		}
	}
	if (unlikely(s->busy != 0) ||
	    !TRY(s, from.sp, entered(s, e, (uint64_t)fn, (uint64_t)site, from,
				     false)))
		enter_or_count((uint64_t)fn, (uint64_t)site, from);
}

HOOK void __cyg_profile_func_exit(void *fn, void *site)
{
	struct frame *top;
	struct thread_state *s;
	uint32_t generation;
	const enum readiness r = readiness(&s, &generation);
	uint64_t sp = HERE;

	PIN(sp);
	if (unlikely(r == COUNT)) {
		leave_counting((uint64_t)fn, (uint64_t)site, sp, s);
		return;
	}
	if (unlikely(r == APART)) {
		leave_apart((uint64_t)fn, (uint64_t)site, sp, s, generation);
		return;
	}
	if (unlikely(r != EACH)) {
		if (r != OFF)
			leave((uint64_t)fn, (uint64_t)site, sp);
		return;
	}
	top = s->top;
	if (unlikely(top[-1].key != (uint64_t)fn)) {
		const uint64_t key = chunk_entry(s, (uint64_t)fn)->key;

		if (key != (uint64_t)fn + KEY_SKIPPED &&
		    key != ((uint64_t)fn | KEY_COUNTED))
			leave_or_count((uint64_t)fn, (uint64_t)site, sp);
		return;
	}
	if (unlikely(s->busy != 0) ||
	    !TRY(s, sp, left(s, top, (uint64_t)fn, (uint64_t)site, false)))
		leave_or_count((uint64_t)fn, (uint64_t)site, sp);
}

/* Their names mean libc's where a recorder has loaded this library. */
extern HIDDEN __typeof__(__cyg_profile_func_enter) hook_enter
	__attribute__((alias("__cyg_profile_func_enter")));
extern HIDDEN __typeof__(__cyg_profile_func_exit) hook_exit
	__attribute__((alias("__cyg_profile_func_exit")));
