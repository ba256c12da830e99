/* p_cond.c - threads that wait on conditions, and then for the mutex that a
 * wait takes again. Prints of each object how often it was waited for, and for
 * how long by the program's own clock: on a condition from the call until the
 * one that let it go on, for its mutex from then on:
 * "wait NAME ADDRESS COUNT NS READY". That of a mutex that no one holds then is
 * 0. READY: for so long the waiters had no core.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))

enum { WAITERS = 3, NAP_US = 100000 };

/* A mutex and its condition; let: when waiters were let go on. */
struct object {
	const char *name, *condition;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	atomic_long let, waits, before, after, ready, arrived;
	int more;
};

#define OBJECT(name) static struct object name = { #name, #name "_wanted",     \
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,                   \
	0, 0, 0, 0, 0, 0, 0 }

OBJECT(world);
OBJECT(crowd);
OBJECT(timed);
OBJECT(clocked);
OBJECT(late);
OBJECT(quick);
static struct {
	mtx_t lock;
	cnd_t wanted;
	long let, before, after, ready;
	int more;
} c11;
static atomic_int has_world;

static RAW long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static RAW struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* For how long the thread had no core until now. */
static RAW long delay(void)
{
	const int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	char text[100] = "";
	long ran, ready = 0;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%ld %ld", &ran, &ready) < 2)
		ready = 0;
	close(fd);
	return ready;
}

/* A wait that began then, and has returned now. */
static RAW void count(struct object *o, long began, long ready)
{
	o->before += o->let - began;
	o->after += now() - o->let;
	o->waits++;
	o->ready += delay() - ready;
}

static RAW void until(atomic_long *what, long value)
{
	while (atomic_load(what) < value)
		usleep(1000);
	usleep(NAP_US / 10);
}

/* Waiters say that they come while they have the lock, so the one that takes it
 * afterwards knows that they wait. */
static void *wait_for_work(void *object)
{
	struct object *const o = object;
	struct timespec t = in_ms(CLOCK_REALTIME, 20000);
	const long ready = delay();
	long began;

	pthread_mutex_lock(&o->lock);
	o->arrived++;
	began = now();
	while (!o->more) {
		if (o == &timed)
			pthread_cond_timedwait(&o->wanted, &o->lock, &t);
		else if (o == &clocked)
			pthread_cond_clockwait(&o->wanted, &o->lock,
					       CLOCK_REALTIME, &t);
		else
			pthread_cond_wait(&o->wanted, &o->lock);
	}
	count(o, began, ready);
	if (o == &crowd)
		usleep(NAP_US);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* ---- who lets them go on keeps the lock --------------------------------- */

PLAIN static void keep(struct object *o)
{
	pthread_mutex_lock(&o->lock);
	o->more = 1;
	if (o == &crowd)
		pthread_cond_broadcast(&o->wanted);
	else
		pthread_cond_signal(&o->wanted);
	o->let = now();
	usleep(NAP_US);
	pthread_mutex_unlock(&o->lock);
}

static void run_kept(struct object *o, int waiters)
{
	pthread_t t[WAITERS];

	for (int i = 0; i < waiters; i++)
		pthread_create(&t[i], NULL, wait_for_work, o);
	until(&o->arrived, waiters);
	usleep(NAP_US);
	keep(o);
	for (int i = 0; i < waiters; i++)
		pthread_join(t[i], NULL);
}

/* ---- another one has it ------------------------------------------------- */

PLAIN static void save_world(void)
{
	pthread_mutex_lock(&world.lock);
	has_world = 1;
	usleep(2 * NAP_US);
	pthread_mutex_unlock(&world.lock);
}

static void *save(void *unused)
{
	save_world();
	return unused;
}

static void run_world(void)
{
	pthread_t t, saver;

	pthread_create(&t, NULL, wait_for_work, &world);
	until(&world.arrived, 1);
	pthread_create(&saver, NULL, save, NULL);
	while (!has_world)
		usleep(1000);
	usleep(NAP_US);
	world.more = 1;
	pthread_cond_signal(&world.wanted);
	world.let = now();
	pthread_join(t, NULL);
	pthread_join(saver, NULL);
}

/* ---- the time is up, and the lock is held ------------------------------- */

static void *give_up(void *unused)
{
	const long ready = delay();
	struct timespec t;
	long began;

	pthread_mutex_lock(&late.lock);
	t = in_ms(CLOCK_REALTIME, NAP_US / 1000);
	began = now();
	late.let = began + NAP_US * 1000L;
	late.arrived++;
	pthread_cond_timedwait(&late.wanted, &late.lock, &t);
	count(&late, began, ready);
	pthread_mutex_unlock(&late.lock);
	return unused;
}

PLAIN static void be_late(void)
{
	pthread_mutex_lock(&late.lock);
	usleep(2 * NAP_US);
	pthread_mutex_unlock(&late.lock);
}

static void run_late(void)
{
	pthread_t t;

	pthread_create(&t, NULL, give_up, NULL);
	until(&late.arrived, 1);
	be_late();
	pthread_join(t, NULL);
}

/* ---- nobody has it ------------------------------------------------------ */

static void run_quick(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_for_work, &quick);
	until(&quick.arrived, 1);
	usleep(NAP_US);
	pthread_mutex_lock(&quick.lock);
	quick.more = 1;
	pthread_mutex_unlock(&quick.lock);
	quick.let = now();
	pthread_cond_signal(&quick.wanted);
	pthread_join(t, NULL);
	quick.before += quick.after;
	quick.after = 0;
}

/* ---- C11 ---------------------------------------------------------------- */

static int wait_c11(void *unused)
{
	const long ready = delay();
	long began;

	mtx_lock(&c11.lock);
	began = now();
	world.arrived++;
	while (!c11.more)
		cnd_wait(&c11.wanted, &c11.lock);
	c11.before = c11.let - began;
	c11.after = now() - c11.let;
	c11.ready = delay() - ready;
	mtx_unlock(&c11.lock);
	return unused != NULL;
}

PLAIN static void keep_c11(void)
{
	mtx_lock(&c11.lock);
	c11.more = 1;
	cnd_signal(&c11.wanted);
	c11.let = now();
	usleep(NAP_US);
	mtx_unlock(&c11.lock);
}

static void run_c11(void)
{
	thrd_t t;

	mtx_init(&c11.lock, mtx_plain);
	cnd_init(&c11.wanted);
	world.arrived = 0;
	thrd_create(&t, wait_c11, NULL);
	until(&world.arrived, 1);
	usleep(NAP_US);
	keep_c11();
	thrd_join(t, NULL);
}

/* ---- the end ------------------------------------------------------------ */

static RAW void print(const char *name, const void *at, long waits, long ns,
		      long ready)
{
	printf("wait %s 0x%lx %ld %ld %ld\n", name, (unsigned long)at,
	       ns > 0 ? waits : 0, ns, ready);
}

int main(void)
{
	struct object *const all[] = { &world, &crowd, &timed, &clocked, &late,
				       &quick };

	run_world();
	run_kept(&crowd, WAITERS);
	run_kept(&timed, 1);
	run_kept(&clocked, 1);
	run_late();
	run_quick();
	run_c11();
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		print(all[i]->condition, &all[i]->wanted, all[i]->waits,
		      all[i]->before, all[i]->ready);
		print(all[i]->name, &all[i]->lock, all[i]->waits,
		      all[i]->after, all[i]->ready);
	}
	print("c11_wanted", &c11.wanted, 1, c11.before, c11.ready);
	print("c11", &c11.lock, 1, c11.after, c11.ready);
	return 0;
}
