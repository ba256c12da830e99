/* control.c - the sockets of recordings. Whatever lies in their folder, and
 * whatever they answer, is not trusted.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

bool control_folder(int i, char *out, size_t room)
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

int control_open(const char *folder)
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

bool control_address(struct sockaddr_un *a, int folder, const char *name)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	const int n = snprintf(a->sun_path, sizeof(a->sun_path),
			       "/proc/self/fd/%d/%s", folder, name);

	return n > 0 && (size_t)n < sizeof(a->sun_path);
}

static int connect_to(int folder, const char *name)
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

int control_connect_in(int folder, const char *name)
{
	const int fd = folder < 0 ? -1 : connect_to(folder, name);
	const int why = errno;

	if (folder >= 0)
		close(folder);
	errno = why;
	return fd;
}

pid_t control_pid(const char *name)
{
	const char *const dot = strrchr(name, '.');
	char *end;
	const long pid = dot ? strtol(dot + 1, &end, 10) : 0;

	return pid > 0 && *end == '\0' ? (pid_t)pid : 0;
}

void control_each(int folder,
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
		const int connection = connect_to(folder, e->d_name);

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

bool control_request(int connection, const char *request)
{
	char line[CONTROL_REQUEST_MAX + 1];
	const int n = snprintf(line, sizeof(line), "%s\n", request);

	if (n <= 0 || n > CONTROL_REQUEST_MAX) {
		errno = EMSGSIZE;
		return false;
	}
	return send(connection, line, (size_t)n, MSG_NOSIGNAL) == n;
}

bool control_answer(int connection, char *answer)
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

const char *control_value(const char *answer, const char *key, char *out,
			  size_t room)
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

/* Ask for its status, and close the connection, which may be negative. answer
 * is "" if there is none. */
static void ask_status(int connection, char answer[CONTROL_ANSWER_MAX])
{
	answer[0] = '\0';
	if (connection < 0)
		return;
	if (!control_request(connection, "status"))
		close(connection);
	else if (!control_answer(connection, answer))
		answer[0] = '\0';
}

static bool is_number(const char *text)
{
	return text[0] && text[strspn(text, "0123456789")] == '\0';
}

/* Whether a socket of that name may be meant: if not, it need not be asked. */
static bool may_mean(const char *wanted, const char *name)
{
	const size_t length = (size_t)(strrchr(name, '.') - name);

	return !wanted || is_number(wanted) ||
	       strcmp(name, wanted) == 0 ||
	       (strlen(wanted) == length && memcmp(name, wanted, length) == 0);
}

/* Whether one that may be is meant. answer: its status. */
static bool means(const char *wanted, const char *name, const char *answer)
{
	char pid[16];

	return !wanted || !is_number(wanted) ||
	       strcmp(strrchr(name, '.') + 1, wanted) == 0 ||
	       strcmp(control_value(answer, "recorder", pid, sizeof(pid)),
		      wanted) == 0;
}

struct search {
	const char *wanted;
	int folder;
	struct control_found *found;
	size_t count;
};

/* For control_each: ask the recording for its status. */
static void look_at(void *ctx, const char *name, int connection)
{
	struct search *const s = ctx;
	struct control_found *const more = may_mean(s->wanted, name) ?
		realloc(s->found, (s->count + 1) * sizeof(*more)) : NULL;

	if (!more) {
		if (connection >= 0)
			close(connection);
		return;
	}
	struct control_found *const f = &more[s->count];

	s->found = more;
	f->folder = s->folder;
	snprintf(f->name, sizeof(f->name), "%s", name);
	ask_status(connection, f->answer);
	s->count += means(s->wanted, name, f->answer);
}

static int by_name(const void *a, const void *b)
{
	const struct control_found *const x = a, *const y = b;

	return strcmp(x->name, y->name);
}

struct control_found *control_find(const char *wanted, size_t *count)
{
	struct search s = { .wanted = wanted };
	char path[PATH_MAX];

	for (; control_folder(s.folder, path, sizeof(path)); s.folder++) {
		const int folder = path[0] ? control_open(path) : -1;

		if (folder < 0)
			continue;
		control_each(folder, look_at, &s);
		close(folder);
	}
	if (s.count > 0)
		qsort(s.found, s.count, sizeof(*s.found), by_name);
	*count = s.count;
	return s.found;
}

/* Connect to a socket anywhere: path has a slash. */
static int connect_path(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	char *const slash = strrchr(folder, '/');

	*slash = '\0';
	return control_connect_in(open(slash == folder ? "/" : folder,
				       O_PATH | O_DIRECTORY | O_CLOEXEC),
				  slash + 1);
}

static int connect_found(const struct control_found *f)
{
	char path[PATH_MAX];

	control_folder(f->folder, path, sizeof(path));
	return control_connect_in(control_open(path), f->name);
}

/* Of several or none. */
static void say_count(const char *wanted, size_t count,
		      char why[CONTROL_WHY_MAX])
{
	if (count > 1)
		snprintf(why, CONTROL_WHY_MAX, "%zu recordings are meant; name "
			 "one by its process id: weft status lists them",
			 count);
	else if (wanted)
		snprintf(why, CONTROL_WHY_MAX, "no recording \"%s\" of yours "
			 "runs here; weft status lists those that do", wanted);
	else
		snprintf(why, CONTROL_WHY_MAX,
			 "no recording of yours runs here");
}

int control_connect(const char *wanted, struct control_found *found,
		    char why[CONTROL_WHY_MAX])
{
	const bool is_path = wanted && strchr(wanted, '/');
	struct control_found *list = NULL;
	size_t count = 1;
	int connection;

	if (is_path) {
		snprintf(found->name, sizeof(found->name), "%s",
			 strrchr(wanted, '/') + 1);
		ask_status(connect_path(wanted), found->answer);
		connection = connect_path(wanted);
	} else {
		list = control_find(wanted, &count);
		if (count == 1)
			*found = list[0];
		connection = count == 1 ? connect_found(found) : -1;
	}
	if (count != 1)
		say_count(wanted, count, why);
	else if (connection < 0)
		snprintf(why, CONTROL_WHY_MAX, "\"%s\" does not answer: %s",
			 is_path ? wanted : found->name, strerror(errno));
	free(list);
	return connection;
}
