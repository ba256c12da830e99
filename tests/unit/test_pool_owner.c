/* test_pool_owner.c - the pool's layout and its mutexes; LTTng's rings; sizes
 * on the command line.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/trace/lttng_session.h"
#include "tracer/recorder/options.h"
#ifdef __x86_64__
#include "tests/unit/step.h"
#endif

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void test_pool_owner_layout_is_valid_at_any_size(void)
{
	for (uint64_t bytes = 1 << 20; bytes < UINT64_C(1) << 33;
	     bytes += bytes / 7) {
		struct pool p = { .magic = POOL_MAGIC,
				  .version = POOL_VERSION };

		REQUIRE(pool_owner_layout(&p, bytes, UINT64_MAX) == 0);
		CHECK_EQ(p.small_buffers, p.thread_slots);
		CHECK(pool_valid(&p, p.size));
		CHECK(p.big_buffers >= 2 && p.small_buffers >= 8);
		CHECK(p.process_offset >= sizeof(p));
		CHECK(p.process_offset % 4096 == 0);
		CHECK(p.big_offset % 4096 == 0);
		/* The file may have no byte more than was asked for, or some:
		 * there are fewer small buffers, and nothing else changes. */
		const uint32_t big = p.big_buffers;

		for (uint64_t more = 0; more < 1 << 18; more += 50000) {
			REQUIRE(pool_owner_layout(&p, bytes, bytes + more) ==
				0);
			CHECK(p.size <= bytes + more && pool_valid(&p, p.size));
			CHECK(p.big_buffers == big && p.small_buffers >= 8);
		}
	}
}

void test_pool_owner_layout_of_64_mib(void)
{
	struct pool p = { 0 };

	REQUIRE(pool_owner_layout(&p, 64 << 20, 64 << 20) == 0);
	CHECK(p.small_buffers >= 1024 && p.small_buffers < 1024 + 16);
	CHECK_EQ(p.thread_slots, 8192);
	CHECK_EQ(p.process_slots, 1024);
	CHECK(p.big_buffers > 400);
	REQUIRE(pool_owner_layout(&p, 64 << 20, 1 << 30) == 0);
	CHECK_EQ(p.small_buffers, 8192);
	CHECK(pool_owner_layout(&p, 1000, UINT64_MAX) < 0);
}

#ifdef __x86_64__
/* Somebody else turns recording on after so many instructions. */
static struct pool turned;
static unsigned long until_other;

static void other_turns_on(void)
{
	if (until_other > 0 && --until_other == 0)
		pool_turn_on(&turned, POOL_BY_TITLE);
}

/* Who raises the window after the other has turned recording on makes threads
 * forget the calls that they have opened since. */
void test_pool_window_rises_once_where_two_turn_recording_on(void)
{
	uint32_t n = 0;

	step_each = other_turns_on;
	do {
		turned.generation = POOL_GENERATION_STEP;
		turned.window = n;
		until_other = ++n;
		step_begin(ULONG_MAX);
		pool_turn_on(&turned, POOL_BY_TITLE);
		step_end();
		CHECK_EQ(turned.window, n);
	} while (until_other == 0);
	step_each = NULL;
	CHECK(n > 5);
}
#endif

/* The kernel marks a mutex whose owner dies, however it dies. */
void test_pool_mutex_tells_of_death(void)
{
	pthread_mutex_t *const m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (getenv("EMULATED"))
		test_skip("emulated: no list of locks is left to the kernel");
	REQUIRE(m != MAP_FAILED);
	pool_mutex_renew(m);
	CHECK(!pool_mutex_died(m));
	CHECK(!pool_mutex_held(m));
	const pid_t pid = fork();

	if (pid == 0) {
		pthread_mutex_lock(m);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	CHECK(pool_mutex_died(m));
	CHECK(!pool_mutex_held(m));
	pool_mutex_renew(m);
	CHECK_EQ(pthread_mutex_trylock(m), 0);
	CHECK(pool_mutex_held(m));
	pthread_mutex_unlock(m);
	munmap(m, 4096);
}

/* A pool whose recorder dies: its name. It is a process of its own: its thread
 * holds the pool's lock to its end. */
static void die(char name[64])
{
	const struct pool_wish wish = { .bytes = 1 << 20 };
	struct pool_owner owner;
	int ends[2];

	REQUIRE(pipe(ends) == 0);
	const pid_t pid = fork();

	if (pid == 0)
		_exit(pool_owner_create(&owner, &wish) != 0 ||
		      write(ends[1], owner.path, 64) != 64);
	waitpid(pid, NULL, 0);
	close(ends[1]);
	REQUIRE(read(ends[0], name, 64) == 64);
	close(ends[0]);
}

/* What is left stays for an hour from when it was found. As a user whose pools
 * nobody else makes. */
void test_pool_owner_keeps_what_may_be_recovered(void)
{
	const struct timespec old[2] = { { time(NULL) - 3601, 0 },
					 { time(NULL) - 3601, 0 } };
	char first[64], second[64], third[64];

	if (getuid() != 0 || setresuid(61000 + (uid_t)getpid() % 4000,
				       61000 + (uid_t)getpid() % 4000, 0) != 0)
		return;
	die(first);
	utimensat(0, first, (const struct timespec[2]){ { 1, 0 }, { 1, 0 } },
		  0);
	die(second);
	CHECK(access(first, F_OK) == 0);
	utimensat(0, first, old, 0);
	die(third);
	CHECK(access(first, F_OK) != 0);
	CHECK(access(second, F_OK) == 0);
	unlink(second);
	unlink(third);
	REQUIRE(setresuid(0, 0, 0) == 0);
}

/* Root leaves alone what another user gave the name of a pool of root's. */
void test_pool_owner_leaves_strangers_files(void)
{
	const char *const path = POOL_FOLDER "/weft-0-stranger";
	const struct pool_wish wish = { .bytes = 1 << 20 };
	struct pool_owner mine;
	struct stat st;

	if (getuid() != 0)
		return;
	const int fd = open(path, O_RDWR | O_CREAT, 0600);

	REQUIRE(fd >= 0 && ftruncate(fd, 4096) == 0 &&
		fchown(fd, 61000, 61000) == 0);
	close(fd);
	REQUIRE(pool_owner_create(&mine, &wish) == 0);
	pool_owner_remove(&mine);
	munmap(mine.pool, mine.size);
	close(mine.fd);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	unlink(path);
}

void test_session_plan_fit(void)
{
	struct session_plan p;

	CHECK(session_plan_fit(&p, UINT64_C(20) << 30, 2) > 0);
	CHECK_EQ(p.rings, 16);
	CHECK_EQ(p.ring_bytes, 1 << 20);
	/* Docker's /dev/shm. */
	CHECK(session_plan_fit(&p, 40 << 20, 2) <= 20 << 20);
	CHECK_EQ(p.rings, 8);
	/* Many CPUs: no more memory than with few, but four each. */
	CHECK(session_plan_fit(&p, UINT64_C(20) << 30, 64) > 0);
	CHECK_EQ(p.rings, 4);
	CHECK_EQ(session_plan_fit(&p, 2 << 20, 2), 0);
}

void test_amount_size(void)
{
	uint64_t n = 0;

	CHECK(amount_size("64M", &n));
	CHECK_EQ(n, 64 << 20);
	CHECK(amount_size("1048576", &n));
	CHECK_EQ(n, 1 << 20);
	CHECK(amount_size("2G", &n));
	CHECK_EQ(n, INT64_C(2) << 30);
	CHECK(!amount_size("", &n));
	CHECK(!amount_size("M", &n));
	CHECK(!amount_size("0", &n));
	CHECK(!amount_size("-1", &n));
	CHECK(!amount_size("1MB", &n));
	CHECK(!amount_size("99999999999G", &n));
}
