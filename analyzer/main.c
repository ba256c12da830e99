/* main.c - weft-analyze: finds the command, runs it, and prints why it failed.
 * Knows nothing of what a command does.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/shared/cmd.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A sanitizer's runtime says more about a crash. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* The runtime sees the signals only if no handler takes them. */
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

/* A crash is weft's fault, whatever the trace holds: say so, with an exit
 * status of its own. A process that weft forked to read a hostile file ends by
 * the signal, as its parent expects. */
static pid_t main_process;

/* The handler calls only what is safe in one. The default action, in a forked
 * process, leaves the signal in its wait status. */
static void say_bug(int number)
{
	static const char text[] = "weft: this is a bug in weft: please report "
				   "it, with the trace\n";

	if (getpid() == main_process &&
	    write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
		_exit(CMD_BUG);
	signal(number, SIG_DFL);
	raise(number);
}

/* The signals of a program that is wrong. SIGABRT is that of a failed
 * assertion. */
static void catch_bugs(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
				       SIGABRT };

	main_process = getpid();
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], say_bug);
}

/* What we were started with may say otherwise. */
static void set_signals(void)
{
	if (!is_sanitized)
		catch_bugs();
	/* Where it is ignored, nobody can wait for a child. */
	signal(SIGCHLD, SIG_DFL);
	/* A file that would be too large (ulimit -f) is an error of write. */
	signal(SIGXFSZ, SIG_IGN);
}

/* Where a standard stream is closed, a file that is opened would take its
 * number, and what is meant for the stream would go there. These cannot be read
 * or written either, and are closed for programs that we start. */
static void fill_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_CLOEXEC |
			     (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

/* Is the word one of the two spellings of an option? */
static bool is(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* The chain of causes is printed here and nowhere else, so that a failure is
 * one line however deep it began. Without a command, the help is shown. */
int main(int argc, char **argv)
{
	const char *const name = argc > 1 ? argv[1] : "help";
	const struct cmd *cmd = cmd_find(name);
	enum cmd_exit status;

	fill_streams();
	set_signals();
	/* Only the width of characters depends on the locale: numbers and
	 * sorting are the same everywhere. */
	setlocale(LC_CTYPE, "C.UTF-8");
	if (is(name, "--version", "-V")) {
		puts("weft " WEFT_VERSION);
		return CMD_OK;
	}
	if (is(name, "--help", "-h"))
		cmd = &cmd_help;
	if (!cmd) {
		cmd_none(name);
		err_print(stderr, name);
		return CMD_USAGE;
	}
	/* Without a command, argv[0] is the program's name, which cmd_run
	 * passes over as it does a command's. */
	status = argc > 1 ? cmd_run(cmd, argc - 1, argv + 1) :
		 cmd_run(cmd, argc, argv);
	if (pager_end() != 0 && status == CMD_OK)
		status = CMD_UNREADABLE;
	if (status != CMD_OK)
		err_print(stderr, cmd->name);
	if (status == CMD_USAGE)
		fprintf(stderr, "usage: weft %s [options] %s; "
			"\"weft %s --help\" says more\n", cmd->name, cmd->args,
			cmd->name);
	/* Without a command, the help is shown, but nothing was done. */
	return argc > 1 ? (int)status : CMD_USAGE;
}
