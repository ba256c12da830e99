/* heap.c - memory that the program takes and gives back (weft record --heap):
 * malloc and its kin, and C++'s operators. Each call that does so is a record
 * of its thread. Blocks are not known here: readers pair what is taken with
 * what is given back by address, in the order of time. So that this order is
 * right, a free is noted before it is done, all else after it is.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"

/* C++'s operators as the linker knows them: what is passed behind the first
 * argument (size, alignment, nothrow) is passed on. */
#define HEAP_NEWS(X)                                                           \
	X(_Znwm) X(_Znam) X(_ZnwmRKSt9nothrow_t) X(_ZnamRKSt9nothrow_t)        \
	X(_ZnwmSt11align_val_t) X(_ZnamSt11align_val_t)                        \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                  \
	X(_ZnamSt11align_val_tRKSt9nothrow_t)
#define HEAP_DELETES(X)                                                        \
	X(_ZdlPv) X(_ZdaPv) X(_ZdlPvm) X(_ZdaPvm) X(_ZdlPvRKSt9nothrow_t)      \
	X(_ZdaPvRKSt9nothrow_t) X(_ZdlPvSt11align_val_t)                       \
	X(_ZdaPvSt11align_val_t) X(_ZdlPvmSt11align_val_t)                     \
	X(_ZdaPvmSt11align_val_t) X(_ZdlPvSt11align_val_tRKSt9nothrow_t)       \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t)
#define HEAP_LIST(X)                                                           \
	X(malloc) X(calloc) X(realloc) X(reallocarray) X(free)                 \
	X(posix_memalign) X(aligned_alloc) X(memalign) X(valloc) X(pvalloc)    \
	HEAP_NEWS(X) HEAP_DELETES(X)

enum {
#define X(name) H_##name,
	HEAP_LIST(X)
#undef X
	HEAPS
};

/* What ours go on to. */
typedef void any_fn(void);
static any_fn *real[HEAPS];
#define REAL(name, type) ((__typeof__(type) *)real[H_##name])

/* ---------------------------------------------------------------- records */

/* One function of these may call another one through its link: the outer one
 * says who asks for memory, and is noted once. */
static THREAD_LOCAL struct {
	uint64_t sp;         /* of the outermost; 0: none */
	const void *site;    /* who calls it */
	const void *taken;   /* noted in it */
	const void *given;
} outer;

/* An exception or a jump out of it leaves it as it was: it is below us then. */
enum { NEAR = 1024 };

INLINE bool is_inside(uint64_t sp)
{
	return sp < outer.sp && outer.sp - sp < NEAR;
}

/* Returns whether it is to be ended. */
INLINE bool begin_outer(const void *site, uint64_t sp)
{
	if (is_inside(sp))
		return false;
	outer.site = site;
	outer.taken = outer.given = NULL;
	outer.sp = sp;
	return true;
}

INLINE void end_outer(bool begun)
{
	if (begun)
		outer.sp = 0;
}

/* Not what a hook of ours makes Lua do, nor where recording is off. */
INLINE bool is_on(void)
{
	const struct thread_state *const s = thread_self;

	return (atomic_load_explicit(&mapped_pool->generation,
				     memory_order_relaxed) & POOL_ON) &&
	       !(s && s->busy != 0) && !exclude_learns();
}

/* What a record says: as in record.h. */
struct said {
	uint32_t what;
	const void *at, *old;
	size_t size;
	uint64_t begin;      /* of a move: when it began */
};

static void put(struct thread_state *s, const struct said *h, const void *site)
{
	uint64_t operands[] = { (uint64_t)h->at, h->size, 0, (uint64_t)h->old,
				0 };
	uint64_t now;

	chunk_need(s, 2 + 5);
	if (h->what != HEAP_FREE)
		operands[2] = chunk_index(s, (uint64_t)site - 1);
	now = chunk_clock(s);
	operands[4] = now > h->begin ? now - h->begin : 0;
	chunk_put_with(s, rec_put(REC_HEAP, h->what, chunk_gap(s, now)),
		       operands, h->what == HEAP_FREE ? 1 :
		       h->what == HEAP_TAKE ? 3 : 5);
}

static SLOW void say(const struct said *h, const void *site, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);

	if (!s) {
		thread_count_missed();
		return;
	}
	put(s, h, site);
	thread_release(s);
}

/* The caller's. */
#define SITE __builtin_return_address(0)

INLINE void *took(void *p, size_t size, const void *site, uint64_t sp)
{
	const bool inside = is_inside(sp);

	if (!p || (inside && outer.taken == p) || !is_on())
		return p;
	say(&(struct said){ .what = HEAP_TAKE, .at = p, .size = size },
	    inside ? outer.site : site, sp);
	if (inside)
		outer.taken = p;
	return p;
}

INLINE void gives(const void *p, uint64_t sp)
{
	const bool inside = is_inside(sp);

	if (!p || (inside && outer.given == p) || !is_on())
		return;
	say(&(struct said){ .what = HEAP_FREE, .at = p }, NULL, sp);
	if (inside)
		outer.given = p;
}

/* A block of size 0 may be none. */
INLINE void *moved(void *old, void *p, size_t size, uint64_t begin,
		   const void *site, uint64_t sp)
{
	const bool inside = is_inside(sp);

	if (!old)
		return took(p, size, site, sp);
	if ((!p && size != 0) || (inside && outer.taken == p) || !is_on())
		return p;
	say(&(struct said){ HEAP_MOVE, p, old, size, begin },
	    inside ? outer.site : site, sp);
	if (inside)
		outer.taken = p;
	return p;
}

/* -------------------------------------------------------------- functions */

static void *our_malloc(size_t n)
{
	return took(REAL(malloc, void *(size_t))(n), n, SITE, HERE);
}

static void *our_calloc(size_t n, size_t each)
{
	return took(REAL(calloc, void *(size_t, size_t))(n, each), n * each,
		    SITE, HERE);
}

static void *our_realloc(void *old, size_t n)
{
	const uint64_t begin = clock_now();

	return moved(old, REAL(realloc, void *(void *, size_t))(old, n), n,
		     begin, SITE, HERE);
}

/* glibc's calls realloc. */
static void *our_reallocarray(void *old, size_t n, size_t each)
{
	const bool begun = begin_outer(SITE, HERE);
	const uint64_t begin = clock_now();
	void *const p = REAL(reallocarray, void *(void *, size_t, size_t))(
		old, n, each);

	if (outer.taken != p)
		moved(old, p, n * each, begin, SITE, HERE);
	end_outer(begun);
	return p;
}

static void our_free(void *p)
{
	gives(p, HERE);
	REAL(free, void(void *))(p);
}

static int our_posix_memalign(void **to, size_t by, size_t n)
{
	const int error = REAL(posix_memalign, int(void **, size_t, size_t))(
		to, by, n);

	if (error == 0)
		took(*to, n, SITE, HERE);
	return error;
}

static void *our_aligned_alloc(size_t by, size_t n)
{
	return took(REAL(aligned_alloc, void *(size_t, size_t))(by, n), n,
		    SITE, HERE);
}

static void *our_memalign(size_t by, size_t n)
{
	return took(REAL(memalign, void *(size_t, size_t))(by, n), n, SITE,
		    HERE);
}

static void *our_valloc(size_t n)
{
	return took(REAL(valloc, void *(size_t))(n), n, SITE, HERE);
}

static void *our_pvalloc(size_t n)
{
	return took(REAL(pvalloc, void *(size_t))(n), n, SITE, HERE);
}

/* Mostly, C++'s call malloc and free, or one another. */
#define X(name)                                                                \
	static void *our_##name(size_t n, long b, long c)                      \
	{                                                                      \
		const bool begun = begin_outer(SITE, HERE);                    \
		void *const p = REAL(name, void *(size_t, long, long))(n, b,   \
								       c);     \
                                                                               \
		if (outer.taken != p)                                          \
			took(p, n, SITE, HERE);                                \
		end_outer(begun);                                              \
		return p;                                                      \
	}
HEAP_NEWS(X)
#undef X

#define X(name)                                                                \
	static void our_##name(void *p, long b, long c)                        \
	{                                                                      \
		const bool begun = begin_outer(SITE, HERE);                    \
                                                                               \
		if (outer.given != p)                                          \
			gives(p, HERE);                                        \
		outer.given = p;                                               \
		REAL(name, void(void *, long, long))(p, b, c);                 \
		end_outer(begun);                                              \
	}
HEAP_DELETES(X)
#undef X

/* -------------------------------------------------------------- the table */

static void *const ours[] = {
#define X(name) (void *)(uintptr_t)our_##name,
	HEAP_LIST(X)
#undef X
};

/* Ours goes on to one function: another library's (RTLD_DEEPBIND) is left
 * alone, and so is the program's own. */
static void *choose(unsigned which, void *original)
{
	const struct link_map *const at = dynamic_module_at(original);

	if (!at || at->l_name[0] == '\0')
		return NULL;
	if (!real[which])
		real[which] = (any_fn *)(uintptr_t)original;
	return (void *)(uintptr_t)real[which] == original ? ours[which] : NULL;
}

/* Whether it is wanted, the pool says, which is looked for before any link is
 * led. */
__attribute__((constructor(102))) static void begin(int argc, char **argv,
						    char **envp)
{
	static const char *const names[] = {
#define X(name) #name,
		HEAP_LIST(X)
#undef X
	};

	(void)argc;
	(void)argv;
	if (!link_is_late() && process_ready_early(envp) && mapped_view.heap)
		stand_in_add_names(names, HEAPS, choose);
}
