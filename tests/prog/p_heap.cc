/* p_heap.cc - random programs that know what they hold: all ways to take memory,
 * from several stacks, in threads that give back what others took, and in a
 * child. Of each stack it prints
 * "heap PID STACK ALLOCATIONS BYTES BLOCKS-IN-USE BYTES-IN-USE".
 * p_heap SEED [THREADS [STEPS]]
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))

enum { SLOTS = 400, MOST_THREADS = 64 };
enum kind { MALLOC, CALLOC, REALLOC, REALLOCARRAY, POSIX, ALIGNED, MEMALIGN,
	    VALLOC, STRDUP, NEW, NEWS, NOTHROW, OVER, KINDS };
static const char *const names[KINDS] = { "by_malloc", "by_calloc",
	"by_realloc", "by_reallocarray", "by_posix", "by_aligned",
	"by_memalign", "by_valloc", "by_strdup", "by_new", "by_news",
	"by_nothrow", "by_over" };

/* Who took it, by its way and its stack: 0 or 1. */
struct block { void *at; size_t size; int kind, path; };
struct account { std::atomic<long> taken, bytes, blocks, in_use; };

static std::atomic<block *> slot[SLOTS];
static account accounts[KINDS][2];
static volatile size_t huge = (size_t)1 << 61, below = (size_t)3 << 62;
static unsigned seed;
static long steps = 3000;

struct alignas(64) wide { char text[192]; };

RAW static unsigned next(unsigned *r)
{
	*r = *r * 1103515245 + 12345;
	return *r >> 8;
}

/* What is held is described in memory that is no heap. */
static block room[1 << 20];
static std::atomic<size_t> used;

RAW static block *describe(void *at, size_t size, int kind, int path)
{
	block *const b = &room[used++ % (sizeof(room) / sizeof(*room))];
	account *const a = &accounts[kind][path];

	if (!at)
		abort();
	*b = block{ at, size, kind, path };
	a->taken++;
	a->bytes += (long)size;
	a->blocks++;
	a->in_use += (long)size;
	return b;
}

RAW static void forget(const block *b)
{
	account *const a = &accounts[b->kind][b->path];

	a->blocks--;
	a->in_use -= (long)b->size;
}

#define WAY(name, ...) \
	PLAIN static void *name(size_t n, void *old) \
	{ \
		(void)n; \
		(void)old; \
		__VA_ARGS__; \
	}
WAY(by_malloc, return malloc(n))
WAY(by_calloc, return calloc(n, 3))
WAY(by_realloc, return realloc(old, n))
WAY(by_reallocarray, return reallocarray(old, n, 2))
WAY(by_posix, void *p; return posix_memalign(&p, 256, n) == 0 ? p : NULL)
WAY(by_aligned, return aligned_alloc(64, n))
WAY(by_memalign, return memalign(128, n))
WAY(by_valloc, return valloc(n))
WAY(by_strdup, return strdup((const char *)old))
WAY(by_new, return operator new(n))
WAY(by_news, return new char[n])
WAY(by_nothrow, return operator new(n, std::nothrow))
WAY(by_over, return new wide)

static void *(*const ways[KINDS])(size_t, void *) = { by_malloc, by_calloc,
	by_realloc, by_reallocarray, by_posix, by_aligned, by_memalign,
	by_valloc, by_strdup, by_new, by_news, by_nothrow, by_over };

/* What it is that is asked for. */
RAW static size_t size_of(int kind, size_t n)
{
	return kind == CALLOC ? 3 * n : kind == REALLOCARRAY ? 2 * n :
	       kind == STRDUP ? n + 1 : kind == OVER ? sizeof(wide) :
	       kind >= NEW && n == 0 ? 1 : n; /* as libstdc++ asks for it */
}

PLAIN static void *path_a(int kind, size_t n, void *old)
{
	void *const p = ways[kind](n, old);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

PLAIN static void *path_b(int kind, size_t n, void *old)
{
	void *const p = ways[kind](n, old);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

PLAIN static void give(block *b)
{
	forget(b);
	if (b->kind == NEWS)
		delete[] (char *)b->at;
	else if (b->kind == OVER)
		delete (wide *)b->at;
	else if (b->kind == NEW || b->kind == NOTHROW)
		operator delete(b->at);
	else
		free(b->at);
}

/* C's blocks alone may be moved by realloc. */
RAW static bool is_c(const block *b)
{
	return b->kind <= STRDUP;
}

PLAIN static void fail_to_take(block *b)
{
	void *p;

	if (malloc(huge) || malloc(below) || calloc(huge, 16) || reallocarray(NULL, huge, 16) ||
	    posix_memalign(&p, 3, 8) != EINVAL ||
	    operator new(huge, std::nothrow))
		abort();
	if (b && is_c(b) && (realloc(b->at, huge) ||
			     reallocarray(b->at, huge * 4, 2)))
		abort();
	try {
		p = operator new(huge);
		abort();
	} catch (const std::bad_alloc &) {
	}
	free(NULL);
	operator delete(NULL);
}

PLAIN static void step(unsigned *r)
{
	static const char text[] = "a string of some length, of which parts "
				   "are taken by their ends";
	std::atomic<block *> *const s = &slot[next(r) % SLOTS];
	block *const old = s->exchange(NULL), *b;
	const int kind = (int)(next(r) % KINDS), path = (int)(next(r) % 2);
	size_t n = next(r) % 16 == 0 ? next(r) % 300000 : next(r) % 200;
	void *at = NULL;
	bool moves = (kind == REALLOC || kind == REALLOCARRAY) && old &&
		     is_c(old);

	if (next(r) % 50 == 0)
		fail_to_take(old);
	if (kind == STRDUP) {
		n = next(r) % (sizeof(text) - 1);
		at = (void *)(text + sizeof(text) - 1 - n);
	}
	n += moves; /* to move it to size 0 gives it back */
	if (moves) {
		at = old->at;
		forget(old);
	} else if (old) {
		give(old);
	}
	at = path == 0 ? path_a(kind, n, at) : path_b(kind, n, at);
	b = describe(at, size_of(kind, n), kind, path);
	if (next(r) % 64 == 0 && is_c(b)) {
		forget(b);
		if (realloc(b->at, 0))
			abort();
		return;
	}
	b = s->exchange(b);
	if (b)
		give(b);
}

PLAIN static void *run(void *arg)
{
	unsigned r = seed + 7919 * (unsigned)(long)arg;

	for (long i = 0; i < steps; i++)
		step(&r);
	return arg;
}

RAW static void print(void)
{
	for (int k = 0; k < KINDS; k++) {
		for (int p = 0; p < 2; p++) {
			const account *const a = &accounts[k][p];

			printf("heap %d path_%c;%s %ld %ld %ld %ld\n",
			       (int)getpid(), "ab"[p], names[k], (long)a->taken,
			       (long)a->bytes, (long)a->blocks,
			       (long)a->in_use);
		}
	}
	fflush(stdout);
}

/* It has what its parent had, and gives none of that back. */
RAW static void in_child(void)
{
	for (auto &s : slot)
		s = NULL;
	for (auto &k : accounts)
		for (auto &a : k)
			a.taken = a.bytes = a.blocks = a.in_use = 0;
	seed++;
	run((void *)77);
	print();
	_exit(0);
}

int main(int argc, char **argv)
{
	const int threads = argc > 2 ? atoi(argv[2]) : 4;
	pthread_t thread[MOST_THREADS];
	pid_t child;

	seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	steps = argc > 3 ? atol(argv[3]) : steps;
	for (long i = 0; i < threads && i < MOST_THREADS; i++)
		pthread_create(&thread[i], NULL, run, (void *)i);
	for (int i = 0; i < threads && i < MOST_THREADS; i++)
		pthread_join(thread[i], NULL);
	child = fork();
	if (child == 0)
		in_child();
	waitpid(child, NULL, 0);
	print();
	return 0;
}
