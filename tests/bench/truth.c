/* truth.c - functions that know how long they take.
 * "truth [ROUNDS [SEED [FILE]]]": callers with work of their own call leaves
 * of about 12, 32, 104, 308 and 1,024 ns (other lengths with a seed), whose
 * steps wait for each other (chain) or may overlap (wide). Each function has a
 * twin without hooks, made of the same lines. The twins are timed in long
 * loops, in turn with the recorded calls, so that a machine that changes its
 * speed changes it for both. Prints "true SELF CALLS NAME": self in ns, of all
 * its calls together. Runs with one FILE do the same work, whatever the
 * machine's speed is: the first one writes there what it chose.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((noinline))
#define OUTSIDE __attribute__((no_instrument_function))
#define INTO OUTSIDE static inline __attribute__((always_inline))

static volatile uint64_t sink = 3;

/* The same code at every level of the compiler, so that lengths are the same,
 * too. */
#ifdef __x86_64__
#define STEPS(n, step, ...) \
	__asm__ volatile("1:" step "dec %0\n\tjnz 1b" \
			 : "+r"(n), __VA_ARGS__ : : "cc")
#define TIMES(x) "imul " x "," x "\n\t"
#else
#define STEPS(n, step, ...) \
	do { __asm__ volatile("" : "+r"(n), __VA_ARGS__); step } while (--n > 0)
#define TIMES(x)
#endif

/* Each step needs the result of the one before, and the first one what was
 * calculated before the call. */
INTO void chain(long n)
{
	uint64_t x = sink;

	if (n > 0)
		STEPS(n, TIMES("%1"), "+r"(x));
	sink = x;
}

/* Nothing waits for anything. */
INTO void wide(long n)
{
	uint64_t a = 3, b = 5, c = 7, d = 9;

	if (n > 0)
		STEPS(n, TIMES("%1") TIMES("%2") TIMES("%3") TIMES("%4"),
		      "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	sink = a ^ b ^ c ^ d;
}

/* own, leaf: steps. */
#define PAIR(attributes, work, stem) \
	void stem##_leaf(long leaf); \
	void stem##_caller(long calls, long own, long leaf); \
	attributes PLAIN void stem##_leaf(long leaf) \
	{ \
		work(leaf); \
	} \
	attributes PLAIN void stem##_caller(long calls, long own, long leaf) \
	{ \
		for (long i = 0; i < calls; i++) { \
			work(own); \
			stem##_leaf(leaf); \
		} \
	}
#define PAIRS(work, stem) \
	PAIR(, work, stem) \
	PAIR(OUTSIDE, work, twin_##stem)
#define FIVE(X, work) \
	X(work, work##_1) X(work, work##_2) X(work, work##_3) \
	X(work, work##_4) X(work, work##_5)
FIVE(PAIRS, chain)
FIVE(PAIRS, wide)

enum { SIZES = 5, ROUND_NS = 10000000 };

static struct pair {
	const char *name;
	void (*run)(long calls, long own, long leaf);
	void (*twin)(long calls, long own, long leaf);
	long calls, own, leaf;   /* a round */
	double own_ns, leaf_ns;  /* all rounds: the caller's self, the leaf's */
} pairs[] = {
#define ROW(work, stem) { .name = #stem, .run = stem##_caller, \
			  .twin = twin_##stem##_caller },
	FIVE(ROW, chain) FIVE(ROW, wide)
};
enum { PAIRS_MADE = sizeof(pairs) / sizeof(pairs[0]) };

/* Time on the CPU, in ns. */
OUTSIDE static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

OUTSIDE static double time_of(const struct pair *p, long own, long leaf)
{
	const double start = now();

	p->twin(p->calls, own, leaf);
	return now() - start;
}

/* From 0 up to 1, the same ones for a seed on every machine. */
OUTSIDE static double draw(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (double)(*seed >> 33) / 0x1p31;
}

/* From 8 to 2,048 ns, short ones as often as long ones. */
OUTSIDE static double length(uint64_t *seed)
{
	double ns = 8;

	for (double octaves = draw(seed) * 8; octaves > 0; octaves -= 1)
		ns *= octaves >= 1 ? 2 : 1 + octaves;
	return ns;
}

/* Steps and calls of a pair, from what a million steps take here. */
OUTSIDE static void choose(struct pair *p, size_t i, uint64_t *seed)
{
	static const double usual[SIZES] = { 12, 32, 104, 308, 1024 };
	const double leaf = *seed ? length(seed) : usual[i % SIZES];
	const double own = *seed ? length(seed) : leaf;
	double step;

	p->calls = 1;
	(void)time_of(p, 1000000, 0);
	step = time_of(p, 1000000, 0) / 1e6;
	p->leaf = (long)(leaf / step) + 1;
	p->own = (long)(own / step) + 1;
	p->calls = (long)(ROUND_NS / (leaf + own)) + 1;
}

/* Take the work of the run before. False: there was none. */
OUTSIDE static int read_plan(const char *path)
{
	FILE *const f = path ? fopen(path, "r") : NULL;
	size_t n = 0;

	while (f && n < PAIRS_MADE &&
	       fscanf(f, "%ld %ld %ld", &pairs[n].calls, &pairs[n].own,
		      &pairs[n].leaf) == 3)
		n++;
	if (f)
		fclose(f);
	return n == PAIRS_MADE;
}

OUTSIDE static void write_plan(const char *path)
{
	FILE *const f = path ? fopen(path, "w") : NULL;

	for (size_t i = 0; f && i < PAIRS_MADE; i++)
		fprintf(f, "%ld %ld %ld\n", pairs[i].calls, pairs[i].own,
			pairs[i].leaf);
	if (f)
		fclose(f);
}

OUTSIDE static void choose_all(uint64_t seed, const char *plan)
{
	if (read_plan(plan))
		return;
	for (size_t i = 0; i < PAIRS_MADE; i++)
		choose(&pairs[i], i, &seed);
	write_plan(plan);
}

/* The call itself and the loop are half the caller's and half the leaf's. So is
 * what the two save by overlapping. */
OUTSIDE static void measure(struct pair *p)
{
	const double both = time_of(p, p->own, p->leaf);
	const double own = time_of(p, p->own, 0);
	const double leaf = time_of(p, 0, p->leaf);

	p->own_ns += (both + own - leaf) / 2;
	p->leaf_ns += (both + leaf - own) / 2;
}

OUTSIDE int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 10;

	choose_all(argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
		   argc > 3 ? argv[3] : NULL);
	for (long k = 0; k < rounds; k++)
		for (size_t i = 0; i < PAIRS_MADE; i++) {
			struct pair *const p = &pairs[i];

			measure(p);
			p->run(p->calls, p->own, p->leaf);
		}
	for (size_t i = 0; i < PAIRS_MADE; i++) {
		const struct pair *const p = &pairs[i];

		printf("true %.0f %ld %s_caller\ntrue %.0f %ld %s_leaf\n",
		       p->own_ns, rounds, p->name, p->leaf_ns,
		       rounds * p->calls, p->name);
	}
	return 0;
}
