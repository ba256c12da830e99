/* test_pool_owner.c - the pool's layout and its mutexes; LTTng's rings; sizes
 * on the command line.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/trace/lttng_session.h"
#include "tracer/recorder/options.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void test_pool_owner_layout_is_valid_at_any_size(void)
{
	for (uint64_t bytes = 1 << 20; bytes < UINT64_C(1) << 33;
	     bytes += bytes / 7) {
		struct pool p = { .magic = POOL_MAGIC,
				  .version = POOL_VERSION };

		REQUIRE(pool_owner_layout(&p, bytes) == 0);
		CHECK(p.size <= bytes);
		CHECK(pool_valid(&p, p.size));
		CHECK(p.big_buffers >= 2 && p.small_buffers >= 8);
		CHECK(p.process_offset >= sizeof(p));
		CHECK(p.process_offset % 4096 == 0);
		CHECK(p.big_offset % 4096 == 0);
	}
}

void test_pool_owner_layout_of_64_mib(void)
{
	struct pool p = { 0 };

	REQUIRE(pool_owner_layout(&p, 64 << 20) == 0);
	CHECK_EQ(p.small_buffers, 1024);
	CHECK_EQ(p.thread_slots, 8192);
	CHECK_EQ(p.process_slots, 1024);
	CHECK(p.big_buffers > 400);
	CHECK(pool_owner_layout(&p, 1000) < 0);
}

/* The kernel marks a mutex whose owner dies, however it dies. */
void test_pool_mutex_tells_of_death(void)
{
	pthread_mutex_t *const m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);

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

void test_options_size(void)
{
	uint64_t n = 0;

	CHECK(options_size("64M", &n));
	CHECK_EQ(n, 64 << 20);
	CHECK(options_size("1048576", &n));
	CHECK_EQ(n, 1 << 20);
	CHECK(options_size("2G", &n));
	CHECK_EQ(n, INT64_C(2) << 30);
	CHECK(!options_size("", &n));
	CHECK(!options_size("M", &n));
	CHECK(!options_size("0", &n));
	CHECK(!options_size("-1", &n));
	CHECK(!options_size("1MB", &n));
	CHECK(!options_size("99999999999G", &n));
}
