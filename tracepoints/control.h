/* control.h - how commands reach a recording that runs: where its socket is,
 * what a request and an answer look like. What requests do is the recorder's.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* A recording listens on a stream socket called NAME.PID: its name, which is
 * the program's unless it was given another, and the process id of the program.
 * It lies in a folder that its user alone can enter (control_folder). The other
 * side must be of that user or root.
 *
 * Request: one line, at most CONTROL_REQUEST_MAX bytes with its newline: a word
 * (status, start, stop, finish ...) and, after a space, what the word takes.
 * Answer: lines, then the end of the stream. The first line is "ok" or "error
 * TEXT". After it, status has lines "KEY VALUE".
 *
 * watch: after "ok\n" come chunks as they pass, until one side hangs up: how
 * many words, as 32 bits, and so many words of a sealed chunk that is not
 * packed. Chunks that the reader was too slow for are left out: 32 zero bits
 * and, as 32 bits, how many. So ends, with 0 if need be, a stream that lacks
 * nothing else. All numbers have this machine's byte order.
 *
 * A socket on which nobody listens belongs to a recorder that is dead: whoever
 * finds it removes it. */
enum {
	CONTROL_REQUEST_MAX = 4096,
	CONTROL_ANSWER_MAX = 16384,
	CONTROL_NAME_MAX = 64,     /* bytes of NAME, the last one 0 */
	CONTROL_CLIENTS = 16,      /* at one time; others are turned away */
	CONTROL_SECONDS = 5,       /* for a request, and for its answer */
};

/* The commands that ask a recording: X(name, operands, half a line about it). A
 * request has the same name. */
#define CONTROL_COMMANDS(X) \
	X(status, "[NAME|PID]", "list the recordings that run, or show one") \
	X(start, "[NAME|PID]", "turn a recording on") \
	X(stop, "[NAME|PID]", "turn a recording off: the program goes on") \
	X(snapshot, "[NAME|PID [REASON]]", \
	  "have a flight recorder write what it has") \
	X(finish, "[NAME|PID]", "end a recording: the program goes on")
/* What the help says of their operands. */
#define CONTROL_OPERANDS \
	"NAME is what weft record --name gave, or the program's name. PID\n" \
	"is the process id of the program or of its weft record. A path\n" \
	"names a socket. Without any of these, your only recording that\n" \
	"runs is meant; weft status lists all of them."

/* The i-th place where the folder of this user's sockets may be, from 0 on: ""
 * if it is none here, or the same as the first. False: there are no more. A
 * recording takes the first that it can make; who looks for one looks in
 * all. */
static inline bool control_folder(int i, char *out, size_t room)
{
	const char *const run = getenv("XDG_RUNTIME_DIR");
	const unsigned uid = (unsigned)geteuid();
	size_t length = run && run[0] == '/' ? strlen(run) : 0;
	char user[32];
	int n = -1;

	while (length > 1 && run[length - 1] == '/')
		length--;
	snprintf(user, sizeof(user), "/run/user/%u", uid);
	if (i == 0 && length > 0)
		n = snprintf(out, room, "%.*s/weft", (int)length, run);
	else if (i == 1 && (length != strlen(user) ||
			    memcmp(run, user, length) != 0))
		n = snprintf(out, room, "%s/weft", user);
	else if (i == 2)
		n = snprintf(out, room, "/tmp/weft-%u", uid);
	if (n < 0 || (size_t)n >= room)
		out[0] = '\0';
	return i <= 2;
}

/* Open that folder, if it is ours alone. Negative: it is not; see errno. */
static inline int control_open(const char *folder)
{
	const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			    O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & 077) == 0)
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

/* The address of a socket in an open folder, however long the folder's path
 * is. False: the name is too long. */
static inline bool control_address(struct sockaddr_un *a, int folder,
				   const char *name)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	const int n = snprintf(a->sun_path, sizeof(a->sun_path),
			       "/proc/self/fd/%d/%s", folder, name);

	return n > 0 && (size_t)n < sizeof(a->sun_path);
}

/* Connect to the socket of that name in an open folder. Waits CONTROL_SECONDS
 * at most, here and at each read and write later. Negative: see errno;
 * ECONNREFUSED: its recorder is dead. */
static inline int control_connect(int folder, const char *name)
{
	const struct timeval limit = { .tv_sec = CONTROL_SECONDS };
	struct sockaddr_un a;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (control_address(&a, folder, name) &&
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	const int why = errno;

	close(fd);
	errno = why;
	return -1;
}

/* The same, and close the folder. It may be negative: errno says why. */
static inline int control_connect_in(int folder, const char *name)
{
	const int fd = folder < 0 ? -1 : control_connect(folder, name);
	const int why = errno;

	if (folder >= 0)
		close(folder);
	errno = why;
	return fd;
}

/* The process id at the end of a socket's name; 0: it is no such name. */
static inline pid_t control_pid(const char *name)
{
	const char *const dot = strrchr(name, '.');
	char *end;
	const long pid = dot ? strtol(dot + 1, &end, 10) : 0;

	return pid > 0 && *end == '\0' ? (pid_t)pid : 0;
}

/* Call back with the name of each recording's socket in an open folder, and a
 * connection to it, which is the callback's to close; or with a negative one
 * and errno, if the recorder does not take it. The sockets of dead recorders
 * are removed. A name that begins with a dot is that of a socket in the
 * making. */
static inline void control_each(int folder,
		void (*call)(void *ctx, const char *name, int connection),
		void *ctx)
{
	const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY |
				O_CLOEXEC);
	DIR *const d = copy < 0 ? NULL : fdopendir(copy);

	if (!d && copy >= 0)
		close(copy);
	for (const struct dirent *e; d && (e = readdir(d)); ) {
		const pid_t pid = control_pid(e->d_name);
		const bool is_made = e->d_name[0] != '.';

		if (pid == 0 || (!is_made && kill(pid, 0) == 0))
			continue;
		const int connection = control_connect(folder, e->d_name);

		if (connection < 0 && errno == ECONNREFUSED)
			unlinkat(folder, e->d_name, 0);
		else if (is_made)
			call(ctx, e->d_name, connection);
		else if (connection >= 0)
			close(connection);
	}
	if (d)
		closedir(d);
}

/* Send a request, without its newline. False: see errno. */
static inline bool control_request(int connection, const char *request)
{
	char line[CONTROL_REQUEST_MAX + 1];
	const int n = snprintf(line, sizeof(line), "%s\n", request);

	if (n <= 0 || n > CONTROL_REQUEST_MAX) {
		errno = EMSGSIZE;
		return false;
	}
	return send(connection, line, (size_t)n, MSG_NOSIGNAL) == n;
}

/* Receive a whole answer and close the connection. answer has room for
 * CONTROL_ANSWER_MAX bytes and ends with a 0. False: see errno. */
static inline bool control_answer(int connection, char *answer)
{
	size_t at = 0;
	ssize_t n = 1;

	while (n > 0 && at < CONTROL_ANSWER_MAX - 1) {
		n = recv(connection, answer + at, CONTROL_ANSWER_MAX - 1 - at,
			 0);
		at += n > 0 ? (size_t)n : 0;
	}
	const int why = n < 0 ? errno : ECONNRESET;

	answer[at] = '\0';
	close(connection);
	errno = why;
	return n == 0 && at > 0;
}

/* The value of a line "KEY VALUE" of an answer, cut to room. "" if there is no
 * such line. Returns out. */
static inline const char *control_value(const char *answer, const char *key,
					char *out, size_t room)
{
	const size_t length = strlen(key);

	out[0] = '\0';
	for (const char *line = answer; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != ' ')
			continue;
		snprintf(out, room, "%.*s",
			 (int)strcspn(line + length + 1, "\n"),
			 line + length + 1);
		break;
	}
	return out;
}

/* ---- which recording ---- */

/* What a user types for one: all digits: the process id of a program or of its
 * weft record; with a slash: a socket; else: a name. NULL: all. */

static inline bool control_is_number(const char *text)
{
	return text[0] && text[strspn(text, "0123456789")] == '\0';
}

/* Whether a socket of that name may be meant: if not, it need not be asked. */
static inline bool control_may_mean(const char *wanted, const char *name)
{
	const size_t length = (size_t)(strrchr(name, '.') - name);

	return !wanted || control_is_number(wanted) ||
	       strcmp(name, wanted) == 0 ||
	       (strlen(wanted) == length && memcmp(name, wanted, length) == 0);
}

/* Whether one that may be is meant. answer: its status. */
static inline bool control_means(const char *wanted, const char *name,
				 const char *answer)
{
	char pid[16];

	return !wanted || !control_is_number(wanted) ||
	       strcmp(strrchr(name, '.') + 1, wanted) == 0 ||
	       strcmp(control_value(answer, "recorder", pid, sizeof(pid)),
		      wanted) == 0;
}

/* Connect to a socket anywhere: path has a slash. Negative: see errno. */
static inline int control_connect_path(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	char *const slash = strrchr(folder, '/');

	*slash = '\0';
	return control_connect_in(open(slash == folder ? "/" : folder,
				       O_PATH | O_DIRECTORY | O_CLOEXEC),
				  slash + 1);
}
