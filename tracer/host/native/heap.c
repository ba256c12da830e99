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
enum { NONE_MEAN = 1 << 30 };    /* where none is wanted */
static uint64_t recording;       /* in which that is so */

/* Each recording has a higher floor, which what threads have left of an earlier
 * one is below. */
static uint64_t floor_;
enum { LEFT_BITS = 36 };         /* more is never drawn */

/* Of a thread. left: by how much it is above the floor, so many bytes are left
 * until its next sample. Where that is no number of LEFT_BITS, none was drawn
 * yet or it is reached. */
static THREAD_LOCAL struct {
	uint64_t left;
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
	return (mean * log >> 16) * 45426 >> 16; /* ln 2 */
}

/* Would it be reached by a block of that size? A size may be a difference below
 * 0, of a block that nobody gets. */
INLINE bool would_reach(size_t size)
{
	return unlikely((sampling.left - size - floor_) >> LEFT_BITS != 0);
}

/* Counts a block that is about to be taken. */
INLINE bool reaches(size_t size)
{
	sampling.left -= size;
	return would_reach(0);
}

/* Is there a sample in a block of that size, which was counted? What is not had
 * in the end takes its samples with it. */
static bool is_sample(size_t size)
{
	int64_t left = (int64_t)(sampling.left - floor_);

	if (mean == 0) {
		sampling.left = 0;
		return true;
	}
	if (sampling.random == 0)
		sampling.random = ((uint64_t)&sampling ^ clock_now()) * GOLDEN |
				  1;
	if (sampling.recording != recording) {
		sampling.recording = recording;
		left = (int64_t)(draw() - size);
	}
	sampling.left = floor_ + (left >> LEFT_BITS == 0 ? (uint64_t)left :
							   draw());
	return left < 0;
}

/* The noted blocks that are in use, by address. What finds no place is noted
 * all the same, but not what gives it back. filled: how many are in a bucket;
 * where each block is noted, one: it may be any. */
enum { BUCKET_BITS = 14, PLACES = 8 };
static _Atomic uint8_t filled[1 << BUCKET_BITS];
static _Alignas(64) _Atomic uint64_t known[1 << BUCKET_BITS][PLACES];

INLINE uint32_t bucket(const void *p)
{
	return hash_low((uint64_t)p, BUCKET_BITS);
}

/* Surely none of those noted. */
INLINE bool is_unknown(const void *p)
{
	return likely(atomic_load_explicit(&filled[bucket(p)],
					   memory_order_relaxed) == 0);
}

static void remember(const void *p)
{
	const uint32_t b = bucket(p);

	atomic_fetch_add(&filled[b], 1);
	for (int i = 0; i < PLACES; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&known[b][i], &none,
						   (uint64_t)p))
			return;
	}
	atomic_fetch_sub(&filled[b], 1);
}

/* Its place; NULL: it was not noted. */
static _Atomic uint64_t *find(const void *p)
{
	_Atomic uint64_t *const in = known[bucket(p)];

	for (int i = 0; i < PLACES; i++)
		if (atomic_load_explicit(&in[i], memory_order_relaxed) ==
		    (uint64_t)p)
			return &in[i];
	return NULL;
}

INLINE bool is_known(const void *p)
{
	return p && (mean == 0 || find(p));
}

/* Was it noted? It is so no longer. */
static bool forget(const void *p)
{
	_Atomic uint64_t *const at = mean == 0 || !p ? NULL : find(p);

	if (!at)
		return mean == 0 && p;
	atomic_store(at, 0);
	atomic_fetch_sub(&filled[bucket(p)], 1);
	return true;
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
	const void *taken;   /* last of those that were noted */
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

/* The caller's. */
#define SITE __builtin_return_address(0)

/* Is what was counted to be noted? Then sampled Lua says which of its functions
 * ask. Before what Lua has is given back: its own stack may be that. */
static bool begin_take(size_t size, uint64_t sp)
{
	const struct thread_state *const s = thread_self;

	if (!is_sample(size) || !is_on())
		return false;
	if (s && thread_lua_calls(s))
		thread_upcalls.lua_calls(0, sp);
	return true;
}

static void *end_take(void *p, size_t size, const void *site, uint64_t sp)
{
	outer.taken = p;
	if (!p)
		return p;
	if (mean != 0)
		remember(p);
	say(&(struct said){ .what = HEAP_TAKE, .at = p, .size = size },
	    is_inside(sp) ? outer.site : site, sp);
	return p;
}

static void gives(const void *p, uint64_t sp)
{
	if (outer.given == p && is_inside(sp))
		outer.given = NULL;
	else if (forget(p) && is_on())
		say(&(struct said){ .what = HEAP_FREE, .at = p }, NULL, sp);
}

/* A block that was noted is at p now, or there is none any more; what is taken
 * may be none of those noted. begin: when it began to be moved. */
static void end_move(const void *old, void *p, size_t size, uint64_t begin,
		     bool is_noted, const void *site, uint64_t sp)
{
	outer.taken = p;
	forget(old);
	if (!is_on())
		return;
	if (is_noted && p && mean != 0)
		remember(p);
	say(&(struct said){ HEAP_MOVE, is_noted ? p : NULL, old, size, begin },
	    is_inside(sp) ? outer.site : site, sp);
}

/* -------------------------------------------------------------- functions
 * Each goes on by a jump, but for the rare block that is noted. */

typedef void *take_fn(size_t, size_t);

static SLOW void *take_noted(int which, size_t a, size_t b, size_t size,
			     const void *site, uint64_t sp)
{
	const bool is_noted = begin_take(size, sp);
	void *const p = ((take_fn *)real[which])(a, b);

	return is_noted ? end_take(p, size, site, sp) : p;
}

/* calloc has none of more bytes than there are. */
INLINE size_t times(size_t n, size_t each)
{
	size_t size;

	return __builtin_mul_overflow(n, each, &size) ? SIZE_MAX : size;
}

#define X(name, size)                                                          \
	static void *our_##name(size_t a, size_t b)                            \
	{                                                                      \
		if (reaches(size))                                             \
			return take_noted(H_##name, a, b, size, SITE, HERE);   \
		return REAL(name, take_fn)(a, b);                              \
	}
X(malloc, a)
X(calloc, times(a, b))
X(aligned_alloc, b)
X(memalign, b)
X(valloc, a)
X(pvalloc, a)
#undef X

static int our_posix_memalign(void **to, size_t by, size_t n)
{
	const bool is_noted = reaches(n) && begin_take(n, HERE);
	const int error = REAL(posix_memalign, int(void **, size_t, size_t))(
		to, by, n);

	if (is_noted && error == 0)
		end_take(*to, n, SITE, HERE);
	return error;
}

/* realloc, or what a library has in its place. */
INLINE void *change(const struct heap_alloc *a, void *old, size_t size,
		    size_t n)
{
	return a ? a->function(a->data, old, size, n) :
	       REAL(realloc, void *(void *, size_t))(old, n);
}

/* A block of size 0 may be none. */
static SLOW void *move_noted(const struct heap_alloc *a, void *old, size_t size,
			     size_t n, const void *site, uint64_t sp)
{
	const bool is_noted = would_reach(0) && begin_take(n, sp);
	const uint64_t begin = is_known(old) ? clock_now() : 0;
	void *const p = change(a, old, size, n);

	if (begin != 0 && (p || n == 0))
		end_move(old, p, n, begin, is_noted, site, sp);
	else if (is_noted && begin == 0)
		end_take(p, n, site, sp);
	return p;
}

static void *our_realloc(void *old, size_t n)
{
	if (reaches(n) || !is_unknown(old))
		return move_noted(NULL, old, 0, n, SITE, HERE);
	return change(NULL, old, 0, n);
}

typedef void *reallocarray_fn(void *, size_t, size_t);

/* All do the same by their realloc, unless the size is none. */
static void *our_reallocarray(void *old, size_t n, size_t each)
{
	size_t size;

	if (__builtin_mul_overflow(n, each, &size))
		return REAL(reallocarray, reallocarray_fn)(old, n, each);
	if (reaches(size) || !is_unknown(old))
		return move_noted(NULL, old, 0, size, SITE, HERE);
	return change(NULL, old, 0, size);
}

typedef void *new_fn(size_t, long, long);
typedef void delete_fn(void *, long, long);

/* C++'s operators may call malloc and free, or one another: what was counted or
 * noted by one of these is so no more. The outermost says who asks. */
static NOINLINE void *new_noted(int which, size_t n, long b, long c,
				const void *site, uint64_t sp)
{
	const bool begun = begin_outer(site, sp);
	const uint64_t left = sampling.left;
	void *const p = ((new_fn *)real[which])(n, b, c);

	if (outer.taken != p && (mean == 0 || sampling.left == left) &&
	    reaches(n) && begin_take(n, sp))
		end_take(p, n, site, sp);
	end_outer(begun);
	return p;
}

static SLOW void delete_noted(int which, void *p, long b, long c, uint64_t sp)
{
	const bool begun = begin_outer(NULL, sp);

	gives(p, sp);
	outer.given = p;
	((delete_fn *)real[which])(p, b, c);
	outer.given = NULL;
	end_outer(begun);
}

/* Those that surely call malloc need nothing here, but where a block is noted:
 * who asks for it. They ask for MARGIN more at most. */
static bool calls_malloc[HEAPS];
enum { MARGIN = 4096 };

#define X(name)                                                                \
	static void *our_##name(size_t n, long b, long c)                      \
	{                                                                      \
		if (would_reach(n + MARGIN) || !calls_malloc[H_##name])        \
			return new_noted(H_##name, n, b, c, SITE, HERE);       \
		return REAL(name, new_fn)(n, b, c);                            \
	}
HEAP_NEWS(X)
#undef X

#define X(name)                                                                \
	static void our_##name(void *p, long b, long c)                        \
	{                                                                      \
		if (is_unknown(p))                                             \
			REAL(name, delete_fn)(p, b, c);                        \
		else                                                           \
			delete_noted(H_##name, p, b, c, HERE);                 \
	}
X(free)
HEAP_DELETES(X)
#undef X

static SLOW void *alloc_noted(const struct heap_alloc *a, void *p, size_t size,
			      size_t wanted, const void *site, uint64_t sp)
{
	if (wanted != 0)
		return move_noted(a, p, size, wanted, site, sp);
	gives(p, sp);
	return change(a, p, size, 0);
}

void *heap_alloc_call(void *data, void *p, size_t size, size_t wanted)
{
	const struct heap_alloc *const a = data;

	if (reaches(wanted) || !is_unknown(p))
		return alloc_noted(a, p, size, wanted, SITE, HERE);
	return a->function(a->data, p, size, wanted);
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
	       mapped_view.heap != 0 ? mapped_view.heap : NONE_MEAN;
	floor_ += UINT64_C(1) << LEFT_BITS;
	forget_all();
}

/* Ours goes on to one function: another library's (RTLD_DEEPBIND) is left
 * alone, and so is the program's own. */
static bool is_led(int which, void *original)
{
	const struct link_map *const at = dynamic_module_at(original);

	if (!at || at->l_name[0] == '\0')
		return false;
	begin_recording();
	if (!real[which])
		real[which] = (any_fn *)(uintptr_t)original;
	return (void *)(uintptr_t)real[which] == original;
}

/* Do libstdc++'s operators, here, call malloc and free through links that are
 * led? Others may have a pool of their own. */
static bool is_standard(const struct link_map *at)
{
	return strstr(at->l_name, "/libstdc++.so") &&
	       dynamic_module_at(link_found_by(at, "_Znwm")) == at &&
	       dynamic_module_at(link_found_by(at, "_ZdlPv")) == at &&
	       is_led(H_malloc, link_found_by(at, "malloc")) &&
	       is_led(H_free, link_found_by(at, "free"));
}

static void *choose(unsigned which, void *original)
{
	const bool is_first = !real[which];
	const struct link_map *const at = dynamic_module_at(original);

	if (!is_led((int)which, original) ||
	    (which == H_reallocarray &&
	     !is_led(H_realloc, link_found_by(at, "realloc"))))
		return NULL;
	if (is_first && which > H_pvalloc)
		calls_malloc[which] = is_standard(at);
	return which >= H__ZdlPv && calls_malloc[which] ? NULL : ours[which];
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
