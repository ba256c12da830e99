/* calibration.c - times calls with and without the hooks of libweft.so. The
 * recorder has no use for the library itself: a child loads it, records into a
 * pool that nobody reads, and ends without any cleaning up.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/calibration.h"
#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/base/rate.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WAIT_MS = 20,              /* that the program's start may be late */
	CHILD_S = 10,              /* then the child ends by itself */
	POOL_BYTES = 4 << 20,      /* more than all calls take */
	ROUNDS = 40,
	CALLS = 256,               /* a round */
	STEPS = 100,               /* of work that waits for itself, a call */
};

/* ---- the child ---- */

typedef void hook_fn(void *fn, void *site);
struct hooks { hook_fn *enter, *leave; };

/* A call as the compiler makes it; NULL: of a program without hooks. */
static __attribute__((noinline))
uint64_t leaf(const struct hooks *h, uint64_t x, unsigned steps)
{
	void *const fn = (void *)(uintptr_t)leaf;

	if (h)
		h->enter(fn, __builtin_return_address(0));
	for (; steps > 0; steps--) {
		x = x * 3 + 1;
		__asm__ volatile("" : "+r"(x));
	}
	if (h)
		h->leave(fn, __builtin_return_address(0));
	return x;
}

/* ns a call. */
static double call_time(const struct hooks *h, unsigned steps)
{
	const uint64_t begin = rate_mono();
	uint64_t x = begin;

	for (int i = 0; i < CALLS; i++) {
		x = leaf(h, x, steps);
		__asm__ volatile("" : "+r"(x));
	}
	return (double)(rate_mono() - begin) / (double)CALLS;
}

/* What the hooks of a call add, ns. Whatever else runs here only makes rounds
 * longer: the shortest ones count. */
static double cost_of(const struct hooks *h, unsigned steps)
{
	double with = INFINITY, without = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		without = fmin(without, call_time(NULL, steps));
		with = fmin(with, call_time(h, steps));
	}
	return fmax(with - without, 0);
}

/* libweft.so looks for the pool when it is loaded. */
static bool load_hooks(struct hooks *h, const struct pool_owner *o,
		       const char *path)
{
	char address[128];
	void *library;

	snprintf(address, sizeof(address), "%d:%ju:%ju:%s", o->fd,
		 (uintmax_t)o->device, (uintmax_t)o->inode, o->path);
	if (setenv(POOL_ENV, address, 1) != 0)
		return false;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	*(void **)&h->enter = dlsym(library, "__cyg_profile_func_enter");
	*(void **)&h->leave = dlsym(library, "__cyg_profile_func_exit");
	return h->enter && h->leave;
}

/* The cost lies between that beside work in which each step waits for the one
 * before, and that in a tight loop. */
static void measure_hooks(int to, const char *path, bool tsc)
{
	const struct pool_wish wish = { .bytes = POOL_BYTES, .native = true,
					.tsc = tsc };
	struct pool_owner owner;
	struct hooks hooks;
	double cost[2];

	if (pool_owner_create(&owner, &wish) != 0)
		return;
	/* At once: we may be killed. libweft.so has the descriptor. */
	pool_owner_remove(&owner);
	pool_owner_populate(&owner);
	if (!load_hooks(&hooks, &owner, path))
		return;
	cost[0] = cost_of(&hooks, STEPS);
	cost[1] = cost_of(&hooks, 1);
	if (write(to, cost, sizeof(cost)) < 0)
		return;
}

/* Nobody is to hear of what fails here. */
static void run_child(int to, const char *path, bool tsc)
{
	const int null = open("/dev/null", O_RDWR);
	sigset_t all;

	for (int fd = 0; fd <= 2; fd++)
		if (null >= 0)
			dup2(null, fd);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(CHILD_S);
	measure_hooks(to, path, tsc);
	_exit(0);
}

/* ---- the recorder ---- */

/* The child has written, or has ended without. */
static void take_cost(struct calibration *c)
{
	double cost[2];
	const bool is_whole = read(c->from, cost, sizeof(cost)) ==
			      (ssize_t)sizeof(cost);

	kill(c->child, SIGKILL);
	waitpid(c->child, NULL, 0);
	close(c->from);
	c->child = 0;
	if (!is_whole)
		return;
	c->cost = (cost[0] + cost[1]) / 2;
	c->error = fabs(cost[0] - cost[1]) / 2;
}

static bool is_there(const struct calibration *c, int ms)
{
	struct pollfd news = { .fd = c->from, .events = POLLIN };

	return c->child > 0 && poll(&news, 1, ms) > 0;
}

void calibration_begin(struct calibration *c, const char *library, bool tsc)
{
	char path[PATH_MAX];
	int ends[2];

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(library, ":"),
		 library);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return;
	c->child = fork();
	if (c->child == 0)
		run_child(ends[1], path, tsc);
	close(ends[1]);
	c->from = ends[0];
	if (c->child < 0) {
		close(ends[0]);
		c->child = 0;
	}
	if (is_there(c, WAIT_MS))
		take_cost(c);
}

bool calibration_poll(struct calibration *c)
{
	if (!is_there(c, 0))
		return false;
	take_cost(c);
	return c->cost > 0;
}

void calibration_end(struct calibration *c)
{
	if (c->child > 0)
		take_cost(c);
}
