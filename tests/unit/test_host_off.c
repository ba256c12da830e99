/* test_host_off.c - native calls of a program that is not recorded: once that
 * is known, a hook looks no further. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

#include <sys/wait.h>
#include <unistd.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

static void call(void)
{
	__cyg_profile_func_enter((void *)call, __builtin_return_address(0));
	__cyg_profile_func_exit((void *)call, __builtin_return_address(0));
}

/* In the words of the hooks' common case. */
static bool is_off(void)
{
	const struct pool *const p = thread_native_pool;

	return p && !(p->generation & POOL_ON) &&
	       (!thread_self || thread_self->generation != p->generation);
}

/* A child of fork begins anew, and must not take off for up to date. */
static int child_is_off(void)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0) {
		call();
		_exit(is_off() ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

void test_host_off_a_program_that_is_not_recorded(void)
{
	CHECK_EQ(weft_native(0), -1);
	call();
	CHECK(is_off());
	CHECK(child_is_off());
}
