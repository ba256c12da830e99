/* client.c - finds the recordings that are meant, asks them, and prints what
 * they answer, which is not trusted.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/control/client.h"
#include "tracepoints/control.h"
#include "tracer/recorder/base/message.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { GOOD = 0, USAGE = 1, CANNOT = 2 };

static const struct command {
	const char *name, *args, *summary;
} commands[] = {
#define X(name, args, summary) { #name, args, summary },
	CONTROL_COMMANDS(X)
#undef X
};

__attribute__((format(printf, 2, 3)))
static int complain(const char *command, const char *format, ...)
{
	char text[PATH_MAX + 256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message_clean(text);
	fprintf(stderr, "weft: %s: %s\n", command, text);
	return CANNOT;
}

/* ---- what is printed ---- */

static double number(const char *answer, const char *key)
{
	char text[32];

	return strtod(control_value(answer, key, text, sizeof(text)), NULL);
}

static void print_row(const struct control_found *f)
{
	char name[NAME_MAX + 1], state[16], disk[32], program[PATH_MAX];

	snprintf(name, sizeof(name), "%.*s",
		 (int)(strrchr(f->name, '.') - f->name), f->name);
	message_clean(name);
	if (strncmp(f->answer, "ok\n", 3) != 0) {
		printf("%-16s %7d does not answer\n", name,
		       (int)control_pid(f->name));
		return;
	}
	message_clean(strcpy(state, control_value(f->answer, "state", disk,
						  sizeof(state))));
	amount_print(disk, sizeof(disk), number(f->answer, "disk"));
	control_value(f->answer, "program", program, sizeof(program));
	message_clean(program);
	printf("%-16s %7d %-5s %7.0f s %10.0f %5.0f %% %9s %8.0f  %s\n", name,
	       (int)control_pid(f->name), state, number(f->answer, "seconds"),
	       number(f->answer, "rate"), number(f->answer, "pool"), disk,
	       number(f->answer, "lost"), program);
}

/* What it has lines "waits" about. */
static void print_waiting(char *answer)
{
	for (char *line = strtok(answer, "\n"); line;
	     line = strtok(NULL, "\n")) {
		message_clean(line);
		if (strncmp(line, "waits ", 6) == 0)
			printf("%16s %s\n", "", line);
	}
}

static int print_all(void)
{
	size_t count;
	struct control_found *const found = control_find(NULL, &count);

	if (count == 0) {
		puts("no recording of yours runs here");
		free(found);
		return GOOD;
	}
	printf("%-16s %7s %-5s %9s %10s %7s %9s %8s  %s\n", "name", "pid",
	       "state", "time", "records/s", "pool", "disk", "lost", "program");
	for (size_t i = 0; i < count; i++) {
		print_row(&found[i]);
		print_waiting(found[i].answer);
	}
	free(found);
	return GOOD;
}

/* Lines "KEY VALUE". */
static void print_lines(char *answer)
{
	for (char *line = strtok(answer, "\n"); line;
	     line = strtok(NULL, "\n")) {
		const size_t key = strcspn(line, " ");

		message_clean(line);
		printf("%-8.*s%s\n", (int)key, line, line + key);
	}
}

/* ---- the commands ---- */

static bool takes_more(const struct command *c)
{
	return strcmp(c->name, "snapshot") == 0;
}

/* more: what the request takes, or NULL. */
static int ask_recording(const struct command *c, const char *wanted,
			 const char *more)
{
	char request[CONTROL_REQUEST_MAX];
	const struct timeval for_ever = { 0 };
	char answer[CONTROL_ANSWER_MAX], why_not[CONTROL_WHY_MAX];
	struct control_found found;
	const int connection = control_connect(wanted, &found, why_not);

	if (connection < 0)
		return complain(c->name, "%s", why_not);
	/* Its answer ends when the trace is closed, or all is written. */
	if (strcmp(c->name, "finish") == 0 || takes_more(c))
		setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &for_ever,
			   sizeof(for_ever));
	snprintf(request, sizeof(request), "%s%s%s", c->name, more ? " " : "",
		 more ? more : "");
	message_clean(request);
	if (!control_request(connection, request) ||
	    !control_answer(connection, answer))
		return complain(c->name, "the recorder does not answer: %s",
				strerror(errno));
	if (strncmp(answer, "ok\n", 3) != 0) {
		const char *const why = strncmp(answer, "error ", 6) == 0 ?
					answer + 6 : answer;

		return complain(c->name, "%.*s", (int)strcspn(why, "\n"), why);
	}
	print_lines(answer + 3);
	return GOOD;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static void print_help(const struct command *c)
{
	printf("usage: weft %s %s\n\n%c%s.\n\n" CONTROL_OPERANDS "\n",
	       c->name, c->args, toupper(c->summary[0]), c->summary + 1);
}

bool client_knows(const char *name)
{
	return find_command(name) != NULL;
}

int client_run(int argc, char **argv)
{
	const struct command *const c = find_command(argv[0]);
	const char *const wanted = argc > 1 ? argv[1] : NULL;
	const int most = takes_more(c) ? 3 : 2;

	if (argc == 2 && (strcmp(wanted, "--help") == 0 ||
			  strcmp(wanted, "-h") == 0)) {
		print_help(c);
		return GOOD;
	}
	if (argc > most || (wanted && (wanted[0] == '-' || !wanted[0]))) {
		complain(c->name, "\"%s\" is not understood; use: weft %s %s",
			 argv[argc - 1], c->name, c->args);
		return USAGE;
	}
	if (!wanted && strcmp(c->name, "status") == 0)
		return print_all();
	return ask_recording(c, wanted, argc == 3 ? argv[2] : NULL);
}
