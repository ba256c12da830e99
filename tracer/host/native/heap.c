/* heap.c - memory that the program takes and gives back (weft record --heap):
 * malloc and its kin, and C++'s operators. Each call that does so, or those of
 * samples, is a record of its thread. Readers pair what is taken with what is
 * given back by address, in the order of time. So that this order is right, a
 * free is noted before it is done, all else after it is.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/native/heap.h"
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/counted.h"
#include "tracer/host/thread/thread.h"

#include <pthread.h>
#include <string.h>

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

/* ---------------------------------------------------------------- samples
 * Of all bytes that are taken, one in so many is a sample on average (Poisson);
 * a block with a sample is noted, and so is what gives it back. */

static uint64_t mean;            /* 0: each block is noted */
static uint64_t recording;       /* in which that is so */

/* Each recording has a higher floor, which what threads have left of an earlier
 * one is below. INT64_MIN: it wants none, but links are led for an earlier. */
static int64_t floor_, last_floor;
#define FLOOR_STEP (INT64_C(1) << 40) /* above what is drawn: 2^38 */

/* Of a thread. left: by how much it is above the floor, so many bytes are left
 * until its next sample. */
static THREAD_LOCAL struct {
	int64_t left;
	uint64_t recording;      /* in which it was drawn */
	uint64_t random;         /* 0: none was drawn yet */
} sampling;

/* -ln of a number between 0 and 1 is how far the next sample is away, in means:
 * its logarithm to 2, by squaring, in parts of 2^16. */
static uint64_t draw(void)
{
	uint64_t x = sampling.random, log = 32 << 16;
	int whole;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	sampling.random = x;
	x = x >> 32 | 1;
	whole = 63 - __builtin_clzll(x);
	log -= (uint64_t)whole << 16;
	x <<= 31 - whole;
	for (uint64_t bit = 1 << 15; bit != 0; bit >>= 1) {
		x = x * x >> 31;
		if (x >> 32 != 0) {
			x >>= 1;
			log -= bit;
		}
	}
	return 1 + ((mean * log >> 16) * 45426 >> 16); /* ln 2 */
}

/* Is there a sample in a block of that size? Asked where left is used up. */
static bool is_sample(size_t size)
{
	int64_t left = sampling.left - floor_;

	if (mean == 0) {
		sampling.left = floor_;
		return true;
	}
	if (sampling.random == 0)
		sampling.random = ((uint64_t)&sampling ^ clock_now()) * GOLDEN |
				  1;
	if (sampling.recording != recording) {
		sampling.recording = recording;
		left = (int64_t)draw() - (int64_t)size;
	}
	sampling.left = floor_ + (left > 0 ? left : (int64_t)draw());
	return left <= 0;
}

/* May a block that is taken now be noted? */
INLINE bool may_note(size_t size)
{
	return sampling.left <= (int64_t)((uint64_t)floor_ + size);
}

/* The noted blocks that are in use, by address. What finds no place is noted
 * all the same, but not what gives it back. filled: how many are in a bucket,
 * and calls of delete that look at it; where each block is noted, one more: it
 * may be any. At MANY it stays: a delete that is left by a jump is never taken
 * off, so that how many there are is not known for ever. */
enum { BUCKET_BITS = 14, PLACES = 8, MANY = UINT8_MAX };
static _Atomic uint8_t filled[1 << BUCKET_BITS];
static _Alignas(64) _Atomic uint64_t known[1 << BUCKET_BITS][PLACES];

static void fill(_Atomic uint8_t *in, int more)
{
	uint8_t n = atomic_load(in);

	while (n < MANY && !atomic_compare_exchange_weak(in, &n,
							 (uint8_t)(n + more)))
		;
}

static void remember(const void *p)
{
	const uint64_t b = hash_place((uint64_t)p, BUCKET_BITS);

	fill(&filled[b], 1);
	for (int i = 0; i < PLACES; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&known[b][i], &none,
						   (uint64_t)p))
			return;
	}
	fill(&filled[b], -1);
}

/* Its place; NULL: it was not noted. */
INLINE _Atomic uint64_t *find(const void *p, uint64_t b)
{
	if (likely(atomic_load_explicit(&filled[b], memory_order_relaxed) == 0))
		return NULL;
	for (int i = 0; i < PLACES; i++)
		if (atomic_load_explicit(&known[b][i], memory_order_relaxed) ==
		    (uint64_t)p)
			return &known[b][i];
	return NULL;
}

INLINE bool is_known(const void *p)
{
	return mean == 0 ||
	       find(p, hash_place((uint64_t)p, BUCKET_BITS)) != NULL;
}

/* Was it noted? It is so no longer. */
INLINE bool forget(const void *p)
{
	const uint64_t b = hash_place((uint64_t)p, BUCKET_BITS);
	_Atomic uint64_t *const at = mean == 0 ? NULL : find(p, b);

	if (!at)
		return mean == 0;
	atomic_store(at, 0);
	fill(&filled[b], -1);
	return true;
}

/* Surely none of those noted. */
INLINE bool is_unknown(const void *p)
{
	return atomic_load_explicit(&filled[hash_place((uint64_t)p,
						       BUCKET_BITS)],
				    memory_order_relaxed) == 0;
}

/* A child of fork has noted none. */
static void forget_all(void)
{
	for (int b = 0; b < 1 << BUCKET_BITS; b++) {
		for (int i = 0; mean != 0 && filled[b] != 0 && i < PLACES; i++)
			known[b][i] = 0;
		filled[b] = mean == 0;
	}
}

/* ---------------------------------------------------------------- records */

/* One function of these may call another one through its link: the outer one
 * says who asks for memory, and is noted once. */
static THREAD_LOCAL struct {
	uint64_t sp;         /* of the outermost; 0: none */
	const void *site;    /* who calls it */
	const void *taken;   /* last */
	const void *given;
	bool told;           /* which Lua functions ask was said */
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
	outer.taken = NULL;
	if (is_inside(sp))
		return false;
	outer.site = site;
	outer.given = NULL;
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
	       mapped_view.heap != 0 &&
	       !(s && s->busy != 0) && !exclude_learns();
}

/* What a record says: as in record.h. */
struct said {
	uint32_t what;
	const void *at, *old;
	size_t size;
	uint64_t begin;      /* of a move: when it began */
};

/* Who takes it: the code, and, where calls have no records, the node of the
 * function. Either may begin a chunk, in which there is room for both. */
static uint32_t name_taker(struct thread_state *s, const void *site,
			   uint64_t *index)
{
	enum { TRIES = 3 };
	uint32_t epoch, node = 0;

	for (int i = 0; i < TRIES; i++) {
		epoch = s->epoch;
		*index = chunk_index(s, (uint64_t)site - 1);
		node = s->counts ? counted_here(s) : 0;
		if (s->epoch == epoch)
			return node;
	}
	*index = REC_FUNC_OMITTED;
	return node;
}

static void put(struct thread_state *s, const struct said *h, const void *site)
{
	uint64_t operands[6] = { (uint64_t)h->at, h->size, 0,
				 (uint64_t)h->old };
	uint64_t now;

	chunk_need(s, 2 + 6);
	if (h->what != HEAP_FREE)
		operands[5] = name_taker(s, site, &operands[2]);
	now = chunk_clock(s);
	if (h->begin != 0 && now > h->begin)
		operands[4] = now - h->begin;
	chunk_put_with(s, rec_put(REC_HEAP, h->what, chunk_gap(s, now)),
		       operands, h->what == HEAP_FREE ? 1 : s->counts ? 6 :
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
	if (thread_upcalls.lua_collected)
		thread_upcalls.lua_collected(s, sp);
	thread_release(s);
}

/* Says which functions of sampled Lua take memory. Before what Lua has is given
 * back: its own stack may be that. */
static SLOW void tell_lua(uint64_t sp)
{
	const struct thread_state *const s = thread_self;

	if (s && thread_lua_calls(s) && is_on())
		thread_upcalls.lua_calls(0, sp);
	outer.told = true;
}

/* The caller's. */
#define SITE __builtin_return_address(0)

static SLOW void note(void *p, size_t size, const void *site, uint64_t sp)
{
	const bool told = outer.told;

	outer.told = false;
	if (!is_sample(size) || !is_on())
		return;
	if (mean != 0)
		remember(p);
	if (!told)
		tell_lua(sp);
	outer.told = false;
	say(&(struct said){ .what = HEAP_TAKE, .at = p, .size = size },
	    is_inside(sp) ? outer.site : site, sp);
}

INLINE void *took(void *p, size_t size, const void *site, uint64_t sp)
{
	if (unlikely(!p))
		return p;
	outer.taken = p;
	sampling.left -= (int64_t)size;
	if (unlikely(sampling.left <= floor_))
		note(p, size, site, sp);
	return p;
}

INLINE void gives(const void *p, uint64_t sp)
{
	if (!p)
		return;
	if (outer.given == p && is_inside(sp)) {
		outer.given = NULL;
		return;
	}
	if (unlikely(forget(p)) && is_on())
		say(&(struct said){ .what = HEAP_FREE, .at = p }, NULL, sp);
}

/* When a block begins to be moved; 0: that is not noted. */
INLINE uint64_t begin_move(const void *old)
{
	return old && is_known(old) ? clock_now() : 0;
}

/* A block that was noted is at p now, or there is none any more; what is taken
 * may be none of those noted. */
static SLOW void note_move(const void *old, void *p, size_t size,
			   uint64_t begin, const void *site, uint64_t sp)
{
	bool is_noted = false;

	outer.told = false;
	forget(old);
	if (p) {
		sampling.left -= (int64_t)size;
		is_noted = sampling.left <= floor_ && is_sample(size);
	}
	if (!is_on())
		return;
	if (is_noted && mean != 0)
		remember(p);
	say(&(struct said){ HEAP_MOVE, is_noted ? p : NULL, old, size, begin },
	    is_inside(sp) ? outer.site : site, sp);
}

/* A block of size 0 may be none. */
INLINE void *moved(const void *old, void *p, size_t size, uint64_t begin,
		   const void *site, uint64_t sp)
{
	if (likely(begin == 0))
		return took(p, size, site, sp);
	if (p || size == 0) {
		outer.taken = p;
		note_move(old, p, size, begin, site, sp);
	}
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

static NOINLINE void *move_noted(void *old, size_t n, const void *site,
				 uint64_t sp)
{
	const uint64_t begin = begin_move(old);

	if (may_note(n))
		tell_lua(sp);
	return moved(old, REAL(realloc, void *(void *, size_t))(old, n), n,
		     begin, site, sp);
}

/* The common case keeps few registers. */
static void *our_realloc(void *old, size_t n)
{
	if (unlikely(old && (is_known(old) || may_note(n))))
		return move_noted(old, n, SITE, HERE);
	return took(REAL(realloc, void *(void *, size_t))(old, n), n, SITE,
		    HERE);
}

/* glibc's calls realloc. */
static void *our_reallocarray(void *old, size_t n, size_t each)
{
	const bool begun = begin_outer(SITE, HERE);
	const uint64_t begin = begin_move(old);
	void *p;

	if (old && may_note(n * each))
		tell_lua(HERE);
	p = REAL(reallocarray, void *(void *, size_t, size_t))(old, n, each);
	if (outer.taken != p)
		moved(old, p, n * each, begin, SITE, HERE);
	end_outer(begun);
	return p;
}

static SLOW void free_noted(void *p, uint64_t sp)
{
	gives(p, sp);
	REAL(free, void(void *))(p);
}

static void our_free(void *p)
{
	if (likely(is_unknown(p)))
		REAL(free, void(void *))(p);
	else
		free_noted(p, HERE);
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

/* Mostly, C++'s call malloc and free, or one another. Those of the standard
 * library that were seen to do so, through their links, need nothing here, but
 * where a block is noted: who asks for it. Others may have a pool of their own.
 */
static bool is_standard[HEAPS];
static _Atomic bool passes[HEAPS];
enum { MARGIN = 4096 };          /* at most so much more do they ask for */

INLINE bool passes_on(int which)
{
	return atomic_load_explicit(&passes[which], memory_order_relaxed);
}

static void learn(int which, bool passed)
{
	if (passed && is_standard[which])
		atomic_store_explicit(&passes[which], true,
				      memory_order_relaxed);
}

typedef void *new_fn(size_t, long, long);
typedef void delete_fn(void *, long, long);

static NOINLINE void *new_noted(int which, size_t n, long b, long c,
				const void *site, uint64_t sp)
{
	const bool begun = begin_outer(site, sp);
	void *const p = ((new_fn *)real[which])(n, b, c);

	if (outer.taken != p)
		took(p, n, site, sp);
	else if (begun)
		learn(which, p);
	end_outer(begun);
	return p;
}

/* The free that is expected looks at what was given. */
static NOINLINE void delete_noted(int which, void *p, long b, long c,
				  uint64_t sp)
{
	_Atomic uint8_t *const in = &filled[hash_place((uint64_t)p,
						       BUCKET_BITS)];
	const bool begun = begin_outer(NULL, sp);

	gives(p, sp);
	outer.given = p;
	fill(in, 1);
	((delete_fn *)real[which])(p, b, c);
	fill(in, -1);
	if (begun)
		learn(which, p && !outer.given);
	end_outer(begun);
}

#define X(name)                                                                \
	static void *our_##name(size_t n, long b, long c)                      \
	{                                                                      \
		if (likely(passes_on(H_##name) && !may_note(n + MARGIN)))      \
			return REAL(name, new_fn)(n, b, c);                    \
		return new_noted(H_##name, n, b, c, SITE, HERE);               \
	}
HEAP_NEWS(X)
#undef X

#define X(name)                                                                \
	static void our_##name(void *p, long b, long c)                        \
	{                                                                      \
		if (likely(passes_on(H_##name)))                               \
			REAL(name, delete_fn)(p, b, c);                        \
		else                                                           \
			delete_noted(H_##name, p, b, c, HERE);                 \
	}
HEAP_DELETES(X)
#undef X

static NOINLINE void *alloc_noted(const struct heap_alloc *a, void *p,
				  size_t size, size_t wanted, const void *site,
				  uint64_t sp)
{
	const bool begun = begin_outer(site, sp);
	const uint64_t move = wanted == 0 ? 0 : begin_move(p);
	void *q;

	if (wanted == 0) {
		gives(p, sp);
		outer.given = p;
	}
	if (p && wanted != 0 && may_note(wanted))
		tell_lua(sp);
	q = a->function(a->data, p, size, wanted);
	if (wanted != 0 && outer.taken != q)
		moved(p, q, wanted, move, site, sp);
	end_outer(begun);
	return q;
}

void *heap_alloc_call(const struct heap_alloc *a, void *p, size_t size,
		      size_t wanted, const void *site, uint64_t sp)
{
	void *q;

	if (unlikely(!is_unknown(p) || may_note(wanted + MARGIN)))
		return alloc_noted(a, p, size, wanted, site, sp);
	outer.taken = NULL; /* by a malloc that this one calls */
	q = a->function(a->data, p, size, wanted);
	if (outer.taken != q)
		sampling.left -= (int64_t)wanted;
	return q;
}

/* -------------------------------------------------------------- the table */

static void *const ours[] = {
#define X(name) (void *)(uintptr_t)our_##name,
	HEAP_LIST(X)
#undef X
};

/* An attached program may have been recorded before, and nothing of it called
 * meanwhile, so that its links were not put back. */
static void begin_recording(void)
{
	if (recording == mapped_view.recording)
		return;
	recording = mapped_view.recording;
	mean = mapped_view.heap == POOL_HEAP_EXACT ? 0 :
	       mapped_view.heap + (mapped_view.heap == 0);
	last_floor += FLOOR_STEP;
	floor_ = mapped_view.heap == 0 ? INT64_MIN : last_floor;
	forget_all();
	for (int i = 0; i < HEAPS; i++)
		atomic_store(&passes[i], false);
}

/* Ours goes on to one function: another library's (RTLD_DEEPBIND) is left
 * alone, and so is the program's own. */
static void *choose(unsigned which, void *original)
{
	const struct link_map *const at = dynamic_module_at(original);

	if (!at || at->l_name[0] == '\0')
		return NULL;
	begin_recording();
	if (!real[which]) {
		real[which] = (any_fn *)(uintptr_t)original;
		is_standard[which] = strstr(at->l_name, "/libstdc++.so") &&
			dynamic_module_at(link_found_by(at, "_Znwm")) == at &&
			dynamic_module_at(link_found_by(at, "_ZdlPv")) == at;
	}
	return (void *)(uintptr_t)real[which] == original ? ours[which] : NULL;
}

/* Whether they are wanted, the pool says, which is looked for before any link
 * is led. */
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
	process_maps = begin_recording;
	if (!link_is_late())
		process_ready_early(envp);
	if (link_is_late() || mapped_view.heap != 0)
		pthread_atfork(NULL, NULL, forget_all);
	stand_in_add_names(names, HEAPS, choose, &mapped_view.heap);
}
