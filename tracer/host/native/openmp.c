/* openmp.c - regions and tasks of OpenMP: what their threads do stands under
 * the calls in which they were begun. The runtimes (gcc's libgomp, clang's
 * libomp) are given a function of ours in place of the program's, and with its
 * data the calls that are open now; it borrows these on whichever thread it
 * runs.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/link/stand_in.h"
#include "tracer/host/thread/borrowed.h"
#include "tracer/host/thread/thread.h"

#include <stdarg.h>
#include <string.h>

/* Integers and pointers are passed alike, and what is left over is not looked
 * at. */
#define ARGUMENTS long c, long d, long e, long f, long g, long h, long i,      \
	long j, long k
#define PASS c, d, e, f, g, h, i, j, k
typedef void work_fn(void *);
typedef void copy_fn(void *, void *);
typedef long omp_fn(work_fn *, void *, ARGUMENTS);

/* The calls that are open here; 0: none are known. */
static SLOW uint32_t open_calls(uint64_t *key, uint64_t sp)
{
	struct thread_state *const s = thread_acquire_native(sp);
	uint32_t n = 0;

	if (!s)
		return 0;
	if (s->level == 0)
		n = borrowed_keys(s, key, BORROWED_MOST);
	thread_release(s);
	return n;
}

static SLOW struct borrowed begin_work(const uint64_t *key, uint32_t count,
				       uint64_t sp)
{
	struct thread_state *const s = thread_acquire_native(sp);
	struct borrowed b = { 0 };

	if (!s)
		return b;
	if (s->level == 0)
		b = borrowed_begin(s, key, count, sp);
	thread_release(s);
	return b;
}

static SLOW void end_work(const struct borrowed *b, uint64_t sp)
{
	struct thread_state *const s = b->count == 0 ? NULL :
				       thread_acquire_native(sp);

	if (!s)
		return;
	if (s->level == 0)
		borrowed_end(s, b);
	thread_release(s);
}

/* ------------------------------------------------------- libgomp: regions
 * All are begun by a call that ends when all threads have done their part, so
 * the calls stay where they lie. */

struct region {
	uint64_t first; /* of the data: GOMP_parallel_reductions reads it */
	work_fn *work;
	void *data;
	uint32_t count;
	uint64_t key[BORROWED_MOST];
};

static void run_region(void *of)
{
	const struct region *const r = of;
	const struct borrowed b = begin_work(r->key, r->count, HERE);

	r->work(r->data);
	end_work(&b, HERE);
}

/* reduces: its data begins with a pointer. */
static long begin_region(void *real, bool reduces, work_fn *work, void *data,
			 ARGUMENTS)
{
	struct region r;

	r.count = open_calls(r.key, HERE);
	if (r.count == 0)
		return ((omp_fn *)real)(work, data, PASS);
	if (reduces)
		memcpy(&r.first, data, sizeof(r.first));
	r.work = work;
	r.data = data;
	return ((omp_fn *)real)(run_region, &r, PASS);
}

#define REGIONS_LIST(X)                                                        \
	X(GOMP_parallel, false) X(GOMP_parallel_loop_static, false)            \
	X(GOMP_parallel_loop_dynamic, false)                                   \
	X(GOMP_parallel_loop_guided, false)                                    \
	X(GOMP_parallel_loop_runtime, false)                                   \
	X(GOMP_parallel_loop_nonmonotonic_dynamic, false)                      \
	X(GOMP_parallel_loop_nonmonotonic_guided, false)                       \
	X(GOMP_parallel_loop_nonmonotonic_runtime, false)                      \
	X(GOMP_parallel_loop_maybe_nonmonotonic_runtime, false)                \
	X(GOMP_parallel_sections, false) X(GOMP_parallel_reductions, true)     \
	X(GOMP_teams_reg, false)

#define X(name, reduces)                                                       \
	static void *real_##name;                                              \
	static long our_##name(work_fn *work, void *data, ARGUMENTS)           \
	{                                                                      \
		return begin_region(real_##name, reduces, work, data, PASS);   \
	}
REGIONS_LIST(X)
#undef X

/* --------------------------------------------------------- libgomp: tasks
 * A task has a copy of its data, which libgomp makes; ours begins with the
 * calls. */

/* Before a task's own data. */
struct task {
	long range[2]; /* of a taskloop, libgomp writes it here */
	work_fn *work;
	uint64_t own;  /* from here to its own data */
	uint64_t count;
	uint64_t key[];
};

struct made_task {
	work_fn *work;
	copy_fn *copy;
	void *data;
	uint64_t size, own, count;
	uint64_t key[BORROWED_MOST];
};

static void copy_task(void *to, void *from)
{
	const struct made_task *const made = from;
	struct task *const t = to;
	void *const data = (char *)to + made->own;

	t->work = made->work;
	t->own = made->own;
	t->count = made->count;
	memcpy(t->key, made->key, made->count * sizeof(*t->key));
	if (made->copy)
		made->copy(data, made->data);
	else
		memcpy(data, made->data, made->size);
}

static void run_task(void *of)
{
	struct task *const t = of;
	const struct borrowed b = begin_work(t->key, (uint32_t)t->count, HERE);

	t->work((char *)of + t->own);
	end_work(&b, HERE);
}

static void run_loop_task(void *of)
{
	const struct task *const t = of;

	memcpy((char *)of + t->own, t->range, sizeof(t->range));
	run_task(of);
}

/* false: no calls are known. */
static bool make_task(struct made_task *made, work_fn *work, void *data,
		      copy_fn *copy, long size, long align, uint64_t sp)
{
	const uint64_t to = align < 8 ? 8 : (uint64_t)align;

	made->count = open_calls(made->key, sp);
	if (made->count == 0)
		return false;
	made->work = work;
	made->copy = copy;
	made->data = data;
	made->size = (uint64_t)size;
	made->own = (sizeof(struct task) + 8 * made->count + to - 1) & -to;
	return true;
}

/* libgomp's flags (gomp-constants.h) of tasks in whose data it writes or reads
 * something. */
enum { TASK_REDUCTION = 1 << 12, TASK_DETACH = 1 << 13 };

typedef long task_fn(work_fn *, void *, copy_fn *, long, long, ARGUMENTS);

/* A task that is run at once has this stack anyhow. */
static void *real_GOMP_task;
static long our_GOMP_task(work_fn *work, void *data, copy_fn *copy, long size,
			  long align, ARGUMENTS)
{
	task_fn *const real = (task_fn *)real_GOMP_task;
	const bool is_put_off = (c & 0xff) != 0;
	struct made_task made;

	if (!is_put_off || (d & TASK_DETACH) != 0 ||
	    !make_task(&made, work, data, copy, size, align, HERE))
		return real(work, data, copy, size, align, PASS);
	return real(run_task, &made, copy_task, (long)made.own + size,
		    align < 8 ? 8 : align, PASS);
}

static long begin_loop(void *real, work_fn *work, void *data, copy_fn *copy,
		       long size, long align, ARGUMENTS)
{
	struct made_task made;

	if ((c & TASK_REDUCTION) != 0 ||
	    !make_task(&made, work, data, copy, size, align, HERE))
		return ((task_fn *)real)(work, data, copy, size, align, PASS);
	return ((task_fn *)real)(run_loop_task, &made, copy_task,
				 (long)made.own + size, align < 8 ? 8 : align,
				 PASS);
}

#define LOOPS_LIST(X) X(GOMP_taskloop) X(GOMP_taskloop_ull)

#define X(name)                                                                \
	static void *real_##name;                                              \
	static long our_##name(work_fn *work, void *data, copy_fn *copy,       \
			       long size, long align, ARGUMENTS)               \
	{                                                                      \
		return begin_loop(real_##name, work, data, copy, size, align,  \
				  PASS);                                       \
	}
LOOPS_LIST(X)
#undef X

/* --------------------------------------------------------- libomp: regions
 * A region's function is called with so many pointers, whose number the call
 * that begins it says. */

#define MANY4(A, n) A(n), A((n) + 1), A((n) + 2), A((n) + 3)
#define MANY16(A, n) MANY4(A, n), MANY4(A, (n) + 4), MANY4(A, (n) + 8),        \
	MANY4(A, (n) + 12)
enum { FORK_FEW = 16, FORK_MOST = 64 };

#define POINTER(n) void *
typedef void few_fn(int32_t *, int32_t *, MANY16(POINTER, 0));
typedef void many_fn(int32_t *, int32_t *, MANY16(POINTER, 0),
		     MANY16(POINTER, 16), MANY16(POINTER, 32),
		     MANY16(POINTER, 48));
#undef POINTER
typedef void fork_fn(void *, int, void *, ...);

struct fork {
	void *work;
	int argc;
	uint32_t count;
	void *arg[FORK_MOST];
	uint64_t key[BORROWED_MOST];
};

#define ARG(n) f->arg[n]
static void run_fork(int32_t *thread, int32_t *bound, const struct fork *f)
{
	const struct borrowed b = begin_work(f->key, f->count, HERE);

	if (f->argc <= FORK_FEW)
		((few_fn *)f->work)(thread, bound, MANY16(ARG, 0));
	else
		((many_fn *)f->work)(thread, bound, MANY16(ARG, 0),
				     MANY16(ARG, 16), MANY16(ARG, 32),
				     MANY16(ARG, 48));
	end_work(&b, HERE);
}

HIDDEN void *real_fork_call;
HIDDEN void fork_call(void *at, int argc, void *work, ...);
HIDDEN void our_fork_call(void *at, int argc, void *work, ...);

/* With more pointers than FORK_MOST it is left to libomp; see below. */
__attribute__((used)) void fork_call(void *at, int argc, void *work, ...)
{
	struct fork fork, *const f = &fork;
	fork_fn *const real = (fork_fn *)real_fork_call;
	va_list ap;

	f->work = work;
	f->argc = argc;
	memset(f->arg, 0, sizeof(f->arg));
	va_start(ap, work);
	for (int n = 0; n < argc && n < FORK_MOST; n++)
		f->arg[n] = va_arg(ap, void *);
	va_end(ap);
	f->count = open_calls(f->key, HERE);
	if (f->count > 0)
		real(at, 1, (void *)run_fork, f);
	else if (argc <= FORK_FEW)
		real(at, argc, work, MANY16(ARG, 0));
	else
		real(at, argc, work, MANY16(ARG, 0), MANY16(ARG, 16),
		     MANY16(ARG, 32), MANY16(ARG, 48));
}
#undef ARG

ARCH_UP_TO("our_fork_call", "64", "fork_call", "real_fork_call");
_Static_assert(FORK_MOST == 64, "as above");

/* ----------------------------------------------------------- libomp: tasks
 * The memory of a task is what libomp makes of it, then what the task shares.
 * Ours lies between the two, and ends where the latter begins. */

typedef int32_t entry_fn(int32_t, void *);

/* The end of ours; the keys lie before it. */
struct before_shared { uint64_t count; entry_fn *entry; };

static struct before_shared *ours_of(void *const *task)
{
	return (struct before_shared *)task[0] - 1;
}

static int32_t run_entry(int32_t thread, void *task)
{
	const struct before_shared *const o = ours_of(task);
	const struct borrowed b = begin_work((const uint64_t *)o - o->count,
					     (uint32_t)o->count, HERE);
	const int32_t r = o->entry(thread, task);

	end_work(&b, HERE);
	return r;
}

typedef void **alloc_fn(void *, int32_t, int32_t, size_t, size_t, entry_fn *);
static void *real_task_alloc;

static void **our_task_alloc(void *at, int32_t thread, int32_t flags,
			     size_t size, size_t shared, entry_fn *entry)
{
	alloc_fn *const real = (alloc_fn *)real_task_alloc;
	uint64_t key[BORROWED_MOST];
	const uint32_t n = open_calls(key, HERE);
	const size_t ours = sizeof(struct before_shared) + 8 * n;
	struct before_shared *o;
	void **task;

	if (n == 0)
		return real(at, thread, flags, size, shared, entry);
	task = real(at, thread, flags, ((size + 7) & ~(size_t)7) + ours,
		    shared > 0 ? shared : 8, run_entry);
	o = ours_of(task);
	*o = (struct before_shared){ n, entry };
	memcpy((uint64_t *)o - n, key, n * sizeof(*key));
	return task;
}

/* --------------------------------------------------------------- the table */

__attribute__((constructor(102))) static void begin(void)
{
	static const struct stand_in ours[] = {
#define X(name, reduces) { #name, (void *)our_##name, &real_##name },
		REGIONS_LIST(X)
#undef X
#define X(name) { #name, (void *)our_##name, &real_##name },
		X(GOMP_task) LOOPS_LIST(X)
#undef X
		{ "__kmpc_fork_call", (void *)our_fork_call, &real_fork_call },
		{ "__kmpc_omp_task_alloc", (void *)our_task_alloc,
		  &real_task_alloc },
	};

	stand_in_add(ours, sizeof(ours) / sizeof(ours[0]));
}
