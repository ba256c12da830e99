/* client.c - finds the recordings that are meant, asks them, and prints what
 * they answer, which is not trusted.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/control/client.h"
#include "tracepoints/control.h"
#include "tracer/recorder/base/message.h"

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

/* A recording that runs, and what it said of itself; "": it does not answer. */
struct found {
	char name[NAME_MAX + 1];
	int folder;                /* the i-th of control_folder */
	char answer[CONTROL_ANSWER_MAX];
};

struct search {
	const char *wanted;        /* as for control_means */
	int folder;
	struct found *found;
	size_t count;
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

/* ---- which recordings ---- */

/* For control_each: ask the recording for its status. */
static void look_at(void *ctx, const char *name, int connection)
{
	struct search *const s = ctx;
	struct found *const more = control_may_mean(s->wanted, name) ?
		realloc(s->found, (s->count + 1) * sizeof(*more)) : NULL;

	if (!more) {
		if (connection >= 0)
			close(connection);
		return;
	}
	struct found *const f = &more[s->count];

	s->found = more;
	f->folder = s->folder;
	snprintf(f->name, sizeof(f->name), "%s", name);
	if (connection >= 0 && !control_request(connection, "status")) {
		close(connection);
		connection = -1;
	}
	if (connection < 0 || !control_answer(connection, f->answer))
		f->answer[0] = '\0';
	s->count += control_means(s->wanted, name, f->answer);
}

static int by_name(const void *a, const void *b)
{
	const struct found *const x = a, *const y = b;

	return strcmp(x->name, y->name);
}

/* Fill in found[], which is the caller's to free. */
static void look_for(struct search *s)
{
	char path[PATH_MAX];

	for (int i = 0; control_folder(i, path, sizeof(path)); i++) {
		const int folder = path[0] ? control_open(path) : -1;

		s->folder = i;
		if (folder < 0)
			continue;
		control_each(folder, look_at, s);
		close(folder);
	}
	if (s->count > 0)
		qsort(s->found, s->count, sizeof(*s->found), by_name);
}

static int connect_to(const struct found *f)
{
	char path[PATH_MAX];

	control_folder(f->folder, path, sizeof(path));
	return control_connect_in(control_open(path), f->name);
}

/* Connect to the one recording that is meant. Negative: the reason was
 * printed. */
static int connect_to_one(const char *command, const char *wanted)
{
	struct search s = { .wanted = wanted };
	int connection = -1;

	if (wanted && strchr(wanted, '/')) {
		connection = control_connect_path(wanted);
		if (connection < 0)
			complain(command, "cannot connect to \"%s\": %s",
				 wanted, strerror(errno));
		return connection;
	}
	look_for(&s);
	if (s.count == 0 && wanted)
		complain(command, "no recording \"%s\" of yours runs here; "
			 "weft status lists those that do", wanted);
	else if (s.count == 0)
		complain(command, "no recording of yours runs here");
	else if (s.count > 1)
		complain(command, "%zu recordings are meant; name one by its "
			 "process id: weft status lists them", s.count);
	else if ((connection = connect_to(&s.found[0])) < 0)
		complain(command, "\"%s\" does not answer: %s",
			 s.found[0].name, strerror(errno));
	free(s.found);
	return connection;
}

/* ---- what is printed ---- */

static double number(const char *answer, const char *key)
{
	char text[32];

	return strtod(control_value(answer, key, text, sizeof(text)), NULL);
}

static void print_row(const struct found *f)
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

/* A table of all. */
static int print_all(void)
{
	struct search s = { .wanted = NULL };

	look_for(&s);
	if (s.count == 0) {
		puts("no recording of yours runs here");
		return GOOD;
	}
	printf("%-16s %7s %-5s %9s %10s %7s %9s %8s  %s\n", "name", "pid",
	       "state", "time", "records/s", "pool", "disk", "lost", "program");
	for (size_t i = 0; i < s.count; i++) {
		print_row(&s.found[i]);
		print_waiting(s.found[i].answer);
	}
	free(s.found);
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
	char answer[CONTROL_ANSWER_MAX];
	const int connection = connect_to_one(c->name, wanted);

	if (connection < 0)
		return CANNOT;
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
	printf("usage: weft %s %s\n\n%s.\n\n" CONTROL_OPERANDS "\n", c->name,
	       c->args, c->summary);
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
