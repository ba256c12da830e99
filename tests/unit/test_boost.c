/* test_boost.c - a thread of another process has our priority for a moment: not
 * after the end, not for long, and not when who lent it was killed. What is its
 * own stays as it is.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/attach/boost.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PRIORITY = 18, WAIT_MS = 10000, STEP_MS = 1 };

static struct boost lent;

/* The field of its /proc/PID/stat. */
static int field(pid_t pid, int n)
{
	char path[64], text[1024] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *const f = fopen(path, "r");

	if (!f || !fgets(text, sizeof(text), f))
		return 0;
	fclose(f);
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < n; i++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : 0;
}

/* Between two of the short waits that it is made of, it is off for a moment. */
static bool becomes(pid_t pid, bool boosted)
{
	const int times = boosted ? 1 : 20;
	int so = 0;

	for (int ms = 0; so < times && ms < WAIT_MS; ms += STEP_MS) {
		so = (field(pid, PRIORITY) < 0) == boosted ? so + 1 : 0;
		poll(NULL, 0, STEP_MS);
	}
	return so == times;
}

static void take_priority(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
		test_skip("no right to a real-time priority");
}

/* A process that sleeps. */
static pid_t sleeper(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void test_boost_lends_our_priority_until_its_end(void)
{
	const pid_t pid = sleeper();
	const int usual = field(pid, PRIORITY);

	CHECK(usual >= 0);
	boost_begin(&lent, pid); /* we have none yet */
	CHECK_EQ(field(pid, PRIORITY), usual);
	boost_end(&lent);
	take_priority();
	for (int i = 0; i < 3; i++) {
		boost_begin(&lent, pid);
		CHECK(becomes(pid, true));
		CHECK_EQ(sched_getscheduler(pid), SCHED_OTHER);
		boost_end(&lent);
		CHECK_EQ(field(pid, PRIORITY), usual);
	}
	end(pid);
}

void test_boost_ends_by_itself(void)
{
	const pid_t pid = sleeper();

	take_priority();
	boost_begin(&lent, pid);
	CHECK(becomes(pid, true));
	CHECK(becomes(pid, false));
	boost_end(&lent);
	end(pid);
}

void test_boost_ends_with_who_lends_it(void)
{
	const pid_t pid = sleeper();
	const int usual = field(pid, PRIORITY);
	int told[2];
	char byte = 0;

	take_priority();
	REQUIRE(pipe(told) == 0);
	for (int i = 0; i < 20; i++) {
		const pid_t lender = fork();

		if (lender == 0) {
			boost_begin(&lent, pid);
			byte = (char)becomes(pid, true);
			_exit(write(told[1], &byte, 1) == 1 && pause());
		}
		CHECK(read(told[0], &byte, 1) == 1 && byte);
		end(lender);
		CHECK_EQ(field(pid, PRIORITY), usual);
	}
	end(pid);
}

void test_boost_of_a_thread_that_ends(void)
{
	take_priority();
	for (int i = 0; i < 20; i++) {
		const pid_t pid = sleeper();

		boost_begin(&lent, pid);
		end(pid);
		boost_end(&lent);
		boost_begin(&lent, pid);
		boost_end(&lent);
	}
}
