/* out_gnuplot.c - gnuplot as a child: no shell, no start-up files.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_gnuplot.h"

#include "analyzer/base/err.h"
#include "analyzer/out/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes of what gnuplot says. */
enum { MESSAGE = 400 };

/* gnuplot: where it reads its script from, and what it complains of. */
struct child { pid_t pid; FILE *script; int messages; };

/* In the child: if gnuplot cannot be run, the parent gets the errno. */
static _Noreturn void become_gnuplot(int script, int output, int messages,
				     int failed)
{
	dup2(script, 0);
	dup2(output, 1);
	dup2(messages, 2);
	signal(SIGPIPE, SIG_DFL);
	execlp("gnuplot", "gnuplot", "-d", (char *)NULL);
	if (write(failed, &errno, sizeof(errno)) < 0)
		_exit(126);
	_exit(127);
}

/* Run gnuplot, with its output going to a descriptor. The pipe `failed` closes
 * when gnuplot starts, so reading nothing from it means success. Buffers are
 * flushed before the fork, or the child would have them, too. 0, or -1 with the
 * cause in the chain. */
static int start(struct child *child, int output)
{
	int script[2], messages[2], failed[2], error = 0;

	if (pipe2(script, O_CLOEXEC) != 0 ||
	    pipe2(messages, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    pipe2(failed, O_CLOEXEC) != 0)
		return err_add("cannot make a pipe to gnuplot: %s",
			       strerror(errno));
	fflush(NULL);
	child->pid = fork();
	if (child->pid == 0)
		become_gnuplot(script[0], output, messages[1], failed[1]);
	close(script[0]);
	close(messages[1]);
	close(failed[1]);
	child->script = fdopen(script[1], "w");
	child->messages = messages[0];
	if (child->pid < 0)
		error = errno;
	else if (read(failed[0], &error, sizeof(error)) == 0)
		error = 0;
	close(failed[0]);
	if (error == 0)
		return 0;
	fclose(child->script);
	close(child->messages);
	if (child->pid > 0)
		waitpid(child->pid, NULL, 0);
	return err_add(error == ENOENT ? "gnuplot is not installed "
		       "(Debian: apt install gnuplot-nox)" :
		       "cannot run gnuplot: %s", strerror(error));
}

/* Wait for gnuplot; -1 with its message if it failed. Any message counts as a
 * failure, even if the status is 0. The pipe does not block, so that gnuplot
 * never waits for a reader: the first bytes of what it says are enough. */
static int end(const struct child *child)
{
	char message[MESSAGE + 1];
	int status = 0, is_lost;
	ssize_t size;

	is_lost = ferror(child->script);
	is_lost |= fclose(child->script) != 0;
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	size = read(child->messages, message, MESSAGE);
	close(child->messages);
	if (status == 0 && !is_lost && size <= 0)
		return 0;
	message[size > 0 ? size : 0] = '\0';
	for (char *at = message; *at != '\0'; at++)
		if (*at == '\n')
			*at = ' ';
	return err_add("gnuplot failed (status %d): %s", status, message);
}

/* An out_file_fn; ctx is the script. gnuplot writes to the file's descriptor
 * itself. SIGPIPE is ignored meanwhile, because a gnuplot that ends early must
 * not end weft. */
static int draw(FILE *to, void *ctx)
{
	void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
	struct child child = { .pid = -1 };
	int status = start(&child, fileno(to));
	struct stat made;

	if (status == 0) {
		fputs(ctx, child.script);
		status = end(&child);
	}
	signal(SIGPIPE, before);
	if (status == 0 && fstat(fileno(to), &made) == 0 &&
	    S_ISREG(made.st_mode) && made.st_size == 0)
		status = err_add("gnuplot drew nothing");
	return status;
}

int out_gnuplot_run(char *script, const char *file)
{
	return out_file_write(file, draw, script);
}
