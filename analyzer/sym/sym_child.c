/* sym_child.c - the process that reads ELF files for its parent, and the pipe
 * between them. Whatever happens to the child, what came before is kept. Knows
 * nothing of what the answers mean.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_child.h"

#include "analyzer/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* INBOX: bytes, more than the largest answer, so that there is always room to
 * read on. */
enum { CHILD_MEMORY_MB = 4096, INBOX = 1 << 16 };

/* How the child came to its end. Its exit status counts only if it ENDED by
 * itself. */
enum ending { ENDED, LATE, NONSENSE, TOO_MUCH };

static uint32_t cut(const char *text)
{
	return (uint32_t)strnlen(text, SYM_NAME_BYTES);
}

void sym_child_send(FILE *to, struct sym_answer answer, const char *name,
		    const char *file)
{
	answer.name_size = cut(name);
	answer.file_size = cut(file);
	fwrite(&answer, sizeof(answer), 1, to);
	fwrite(name, 1, answer.name_size, to);
	fwrite(file, 1, answer.file_size, to);
}

/* Limit the child's time and memory; it ends with its parent. The parent's
 * clock ends it first; the limit of CPU time is for a parent that is stopped.
 * Sanitizers reserve more than any limit. */
static void set_limits(unsigned seconds)
{
	const struct rlimit none = { 0, 0 };
	const struct rlimit time = { seconds + 1, seconds + 1 };
	const struct rlimit memory = { (rlim_t)CHILD_MEMORY_MB << 20,
				       (rlim_t)CHILD_MEMORY_MB << 20 };

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &time);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The child's life. Its status says whether all was sent. */
static _Noreturn void be_child(const struct sym_job *job, int pipe)
{
	FILE *const to = fdopen(pipe, "w");

	set_limits(job->seconds);
	/* Messages of libraries about a damaged file help nobody. */
	if (!to || !freopen("/dev/null", "w", stderr))
		_exit(1);
	job->work(job->work_ctx, to);
	_exit(fflush(to) == 0 ? 0 : 1);
}

/* Take the complete answers in the inbox. Returns the bytes used, or -1 if an
 * answer is invalid or the taker wants no more. */
static ssize_t take_answers(const struct sym_job *job, const char *inbox,
			    size_t size)
{
	size_t at = 0;
	struct sym_answer answer;

	while (size - at >= sizeof(answer)) {
		memcpy(&answer, inbox + at, sizeof(answer));
		if (answer.name_size > SYM_NAME_BYTES ||
		    answer.file_size > SYM_NAME_BYTES)
			return -1;
		if (size - at - sizeof(answer) <
		    answer.name_size + answer.file_size)
			break;
		if (job->take(job->take_ctx, &answer,
			      inbox + at + sizeof(answer)) != 0)
			return -1;
		at += sizeof(answer) + answer.name_size + answer.file_size;
	}
	return (ssize_t)at;
}

int64_t sym_child_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Take answers until the child ends or its time is over. An incomplete answer
 * stays at the beginning of the inbox until the rest comes. */
static enum ending receive(const struct sym_job *job, int pipe, char *inbox)
{
	const int64_t deadline = sym_child_now() + (int64_t)job->seconds * 1000;
	size_t held = 0;
	uint64_t all = 0;

	for (;;) {
		struct pollfd poller = { .fd = pipe, .events = POLLIN };
		const int64_t left = deadline - sym_child_now();
		ssize_t size;

		if (left <= 0 ||
		    (poll(&poller, 1, (int)left) < 0 && errno != EINTR))
			return LATE;
		if (poller.revents == 0)
			continue;
		size = read(pipe, inbox + held, INBOX - held);
		if (size <= 0)
			return size == 0 ? ENDED : NONSENSE;
		held += (size_t)size;
		all += (uint64_t)size;
		if (all > job->bytes)
			return TOO_MUCH;
		size = take_answers(job, inbox, held);
		if (size < 0)
			return NONSENSE;
		held -= (size_t)size;
		memmove(inbox, inbox + size, held);
	}
}

/* Wait for the child, and say why it ended early. 0 if it did not. */
static int end_child(pid_t child, enum ending ending, char *why)
{
	static const char *const reasons[] = {
		[LATE] = "naming took too long",
		[NONSENSE] = "naming sent nonsense",
		[TOO_MUCH] = "too much to name",
	};
	int status = 0;

	if (ending != ENDED)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (ending != ENDED)
		snprintf(why, SYM_WHY, "%s", reasons[ending]);
	else if (WIFSIGNALED(status))
		snprintf(why, SYM_WHY, "naming crashed (signal %d)",
			 WTERMSIG(status));
	else if (status != 0)
		snprintf(why, SYM_WHY, "naming failed");
	else
		return 0;
	return -1;
}

int sym_child_run(const struct sym_job *job, char *why)
{
	char *inbox;
	int ends[2], status;
	pid_t child;

	fflush(NULL);
	if (pipe(ends) != 0) {
		snprintf(why, SYM_WHY, "cannot make a pipe for naming");
		return -1;
	}
	child = fork();
	if (child == 0) {
		close(ends[0]);
		be_child(job, ends[1]);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		snprintf(why, SYM_WHY, "no process to be had for naming");
		return -1;
	}
	inbox = mem_alloc(INBOX);
	status = end_child(child, receive(job, ends[0], inbox), why);
	mem_free(inbox);
	close(ends[0]);
	return status;
}
