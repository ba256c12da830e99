/* p_waits.c - threads that wait for objects of each kind, where it is known who
 * holds them. Prints of each object how often it was waited for, and for how
 * long by the program's own clock around each call:
 * "wait NAME ADDRESS COUNT NS".
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))

enum { WAITERS = 8, NAP_US = 20000 };

struct object { const char *name; void *at; atomic_long count, ns; };

static pthread_mutex_t convoy = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t chain[3] = { PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
/* Writers alone wait for them; of the second, readers give way to writers. */
static pthread_rwlock_t journal = PTHREAD_RWLOCK_INITIALIZER, books =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static sem_t ready;
static atomic_int arrived, stage;
static int full;

static struct object of_convoy = { "convoy", &convoy, 0, 0 };
static struct object of_chain[3] = { { "chain0", &chain[0], 0, 0 },
	{ "chain1", &chain[1], 0, 0 }, { "chain2", &chain[2], 0, 0 } };
static struct object of_table = { "table", &table, 0, 0 };
static struct object of_journal = { "journal", &journal, 0, 0 };
static struct object of_books = { "books", &books, 0, 0 };
static struct object of_filled = { "filled", &filled, 0, 0 };
static struct object of_ready = { "ready", &ready, 0, 0 };

static RAW long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

#define TIMED(object, call)                                                    \
	do {                                                                   \
		const long began = now();                                      \
                                                                               \
		call;                                                          \
		(object).ns += now() - began;                                  \
		(object).count++;                                              \
	} while (0)

static RAW void until(atomic_int *what, int value)
{
	while (atomic_load(what) < value)
		usleep(200);
}

/* ---- a convoy ---- */

PLAIN static void hold_convoy(void)
{
	usleep(2000);
	pthread_mutex_unlock(&convoy);
}

static void *in_convoy(void *unused)
{
	arrived++;
	TIMED(of_convoy, pthread_mutex_lock(&convoy));
	hold_convoy();
	return unused;
}

PLAIN static void begin_convoy(void)
{
	until(&arrived, WAITERS);
	usleep(NAP_US);
	pthread_mutex_unlock(&convoy);
}

static void run_convoy(void)
{
	pthread_t t[WAITERS];

	pthread_mutex_lock(&convoy);
	for (int i = 0; i < WAITERS; i++)
		pthread_create(&t[i], NULL, in_convoy, NULL);
	begin_convoy();
	for (int i = 0; i < WAITERS; i++)
		pthread_join(t[i], NULL);
}

/* ---- a chain: each holds one lock and waits for the next ---- */

PLAIN static void hold_last(void)
{
	until(&stage, 3);
	usleep(NAP_US);
	pthread_mutex_unlock(&chain[2]);
}

PLAIN static void wait_for_next(int i)
{
	pthread_mutex_lock(&chain[i]);
	stage++;
	TIMED(of_chain[i + 1], pthread_mutex_lock(&chain[i + 1]));
	pthread_mutex_unlock(&chain[i + 1]);
	usleep(5000);
	pthread_mutex_unlock(&chain[i]);
}

static void *link_of(void *number)
{
	const int i = (int)(long)number;

	if (i == 2) {
		pthread_mutex_lock(&chain[2]);
		stage++;
		hold_last();
	} else {
		until(&stage, 2 - i);
		wait_for_next(i);
	}
	return NULL;
}

static void run_chain(void)
{
	pthread_t t[3];

	for (long i = 2; i >= 0; i--)
		pthread_create(&t[i], NULL, link_of, (void *)i);
	until(&stage, 3);
	TIMED(of_chain[0], pthread_mutex_lock(&chain[0]));
	pthread_mutex_unlock(&chain[0]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

/* ---- readers against a writer ---- */

static void *read_table(void *unused)
{
	arrived++;
	TIMED(of_table, pthread_rwlock_rdlock(&table));
	usleep(1000);
	pthread_rwlock_unlock(&table);
	return unused;
}

PLAIN static void write_table(void)
{
	until(&arrived, 3);
	usleep(NAP_US);
	pthread_rwlock_unlock(&table);
}

static void run_table(void)
{
	pthread_t t[3];

	arrived = 0;
	pthread_rwlock_wrlock(&table);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, read_table, NULL);
	write_table();
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

/* ---- writers against writers ---- */

PLAIN static void keep_locked(pthread_rwlock_t *what)
{
	usleep(NAP_US);
	pthread_rwlock_unlock(what);
}

static void *write_one(void *of)
{
	struct object *const o = of;

	arrived++;
	TIMED(*o, pthread_rwlock_wrlock(o->at));
	keep_locked(o->at);
	return NULL;
}

static void run_writers(struct object *o)
{
	pthread_t t[3];

	arrived = 0;
	pthread_rwlock_wrlock(o->at);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, write_one, o);
	until(&arrived, 3);
	keep_locked(o->at);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

/* ---- a slow producer ---- */

static void *consume(void *unused)
{
	pthread_mutex_lock(&guard);
	stage++;
	while (!full)
		TIMED(of_filled, pthread_cond_wait(&filled, &guard));
	pthread_mutex_unlock(&guard);
	stage++;
	TIMED(of_ready, sem_wait(&ready));
	return unused;
}

PLAIN static void produce(void)
{
	usleep(NAP_US);
	pthread_mutex_lock(&guard);
	full = 1;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&guard);
}

PLAIN static void post(void)
{
	usleep(NAP_US);
	sem_post(&ready);
}

static void run_producer(void)
{
	pthread_t t;

	stage = 0;
	sem_init(&ready, 0, 0);
	pthread_create(&t, NULL, consume, NULL);
	until(&stage, 1);
	produce();
	until(&stage, 2);
	post();
	pthread_join(t, NULL);
}

/* ---- the end ---- */

static RAW void print(const struct object *o)
{
	printf("wait %s 0x%lx %ld %ld\n", o->name, (unsigned long)o->at,
	       o->count, o->ns);
}

int main(void)
{
	run_convoy();
	run_chain();
	run_table();
	run_writers(&of_journal);
	run_writers(&of_books);
	run_producer();
	print(&of_convoy);
	for (int i = 0; i < 3; i++)
		print(&of_chain[i]);
	print(&of_table);
	print(&of_journal);
	print(&of_books);
	print(&of_filled);
	print(&of_ready);
	return 0;
}
