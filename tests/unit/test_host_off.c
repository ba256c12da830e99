/* test_host_off.c - native calls of a program that is not recorded: once that
 * is known, a hook looks no further. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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
	const struct pool *const p = thread_native_pool();

	return p != &thread_no_pool && !(p->generation & POOL_ON) &&
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

/* It has cleared its environment, and is asked to join what is not there. */
void test_host_off_a_pool_that_is_not_there_is_refused(void)
{
	struct attach_mailbox *const m = &process_mailbox;
	char **const had = environ;

	strcpy(m->pool, "-1:1:2:/nonexistent");
	m->wish = ATTACH_JOIN;
	environ = NULL;
	errno = 7;
	atomic_store(&m->search, ATTACH_LOOK);
	CHECK(!process_ready());
	CHECK_EQ(errno, 7);
	environ = had;
	CHECK_EQ(atomic_load(&m->state), ATTACH_REFUSED);
	thread_set_native_pool(&thread_no_pool);
	call();
	CHECK(is_off());
}

static void *look(void *ctx)
{
	(void)ctx;
	process_ready();
	return NULL;
}

/* Waits for that signal of the kernel, 10 s at most. */
static bool is_told(const sigset_t *set)
{
	const struct timespec most = { 10, 0 };

	return sigtimedwait(set, NULL, &most) > 0;
}

/* Forks while another thread is in the midst of opening the pool: a lease holds
 * it up there. The child looks for itself. */
void test_host_off_a_child_looks_anew(void)
{
	struct attach_mailbox *const m = &process_mailbox;
	char path[] = "/tmp/weft-lease-XXXXXX";
	const int file = mkstemp(path);
	int status = -1;
	pthread_t thread;
	sigset_t io;

	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	pthread_sigmask(SIG_BLOCK, &io, NULL);
	REQUIRE(file >= 0);
	if (fcntl(file, F_SETLEASE, F_WRLCK) != 0) {
		printf("note: there are no leases in /tmp\n");
		unlink(path);
		return;
	}
	snprintf(m->pool, sizeof(m->pool), "-1:1:2:%s", path);
	m->wish = ATTACH_JOIN;
	atomic_store(&m->search, ATTACH_LOOK);
	REQUIRE(pthread_create(&thread, NULL, look, NULL) == 0);
	CHECK(is_told(&io));
	unlink(path);
	const pid_t pid = fork();

	if (pid == 0)
		_exit(atomic_load(&m->search) != ATTACH_LOOKED);
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	fcntl(file, F_SETLEASE, F_UNLCK);
	close(file);
	pthread_join(thread, NULL);
	CHECK_EQ(atomic_load(&m->search), ATTACH_LOOKED);
}

/* A recorder asks it to join what is not there. */
static void ask(void)
{
	struct attach_mailbox *const m = &process_mailbox;

	strcpy(m->pool, "-1:1:2:/nonexistent");
	m->wish = ATTACH_JOIN;
	atomic_store(&m->state, ATTACH_AWAY);
	atomic_store(&m->search, ATTACH_LOOK);
}

static void *is_cancelled(void *looked)
{
	pthread_cancel(pthread_self());
	process_ready();
	*(bool *)looked = true;
	pthread_testcancel();
	return NULL;
}

/* A thread that is to be cancelled is not while it does what is not its own. */
void test_host_off_a_thread_is_cancelled_after_looking(void)
{
	bool looked = false;
	void *result = NULL;
	pthread_t thread;

	ask();
	REQUIRE(pthread_create(&thread, NULL, is_cancelled, &looked) == 0);
	pthread_join(thread, &result);
	CHECK(looked);
	CHECK(result == PTHREAD_CANCELED);
	CHECK_EQ(atomic_load(&process_mailbox.search), ATTACH_LOOKED);
	CHECK_EQ(atomic_load(&process_mailbox.state), ATTACH_REFUSED);
}

/* The runtime of a sanitizer is part of the program, and none of it may be
 * jumped out of. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
	!defined(__SANITIZE_THREAD__)
#include "tests/unit/step.h"

static bool jumps_out_of_looking(unsigned long instructions)
{
	ask();
	if (sigsetjmp(step_back, 1) != 0)
		return true;
	step_begin(instructions);
	process_ready();
	step_end();
	return false;
}

/* Whoever comes next looks. */
void test_host_off_a_handler_jumps_out_of_looking(void)
{
	unsigned long n = 0;

	while (jumps_out_of_looking(1 + n)) {
		n++;
		ask();
		process_ready();
		if (!CHECK_EQ(atomic_load(&process_mailbox.search),
			      ATTACH_LOOKED) ||
		    !CHECK_EQ(atomic_load(&process_mailbox.state),
			      ATTACH_REFUSED))
			break;
	}
	printf("%lu jumps\n", n);
	CHECK(n > 20);
}
#endif

/* Opening a file is deadly from here on. False: not so on this machine. */
static bool confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { 4, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* What it may be killed for, it does not do for a recorder either. */
void test_host_off_a_confined_program_joins_nothing(void)
{
	struct attach_mailbox *const m = &process_mailbox;
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0) {
		if (!confine())
			_exit(0);
		ask();
		_exit(process_ready() ||
		      atomic_load(&m->state) != ATTACH_REFUSED);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}
