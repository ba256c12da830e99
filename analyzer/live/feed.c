/* feed.c - finds the control socket, asks to watch, and cuts what comes into
 * chunks. What chunks mean is not known here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/live/feed.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/chunk/decode.h"
#include "tracepoints/control.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1 << 20, AT_ONCE = 16 };

/* ---- which recording ---- */

struct search {
	const char *wanted;      /* as for control_means */
	int place;               /* of the folder, and in it: */
	char name[NAME_MAX + 1];
	int found_place;
	size_t count;
	char answer[CONTROL_ANSWER_MAX]; /* what it said of itself, or "" */
};

/* Ask a recording for its status, and close the connection. */
static void ask(int connection, char answer[CONTROL_ANSWER_MAX])
{
	answer[0] = '\0';
	if (!control_request(connection, "status"))
		close(connection);
	else if (!control_answer(connection, answer))
		answer[0] = '\0';
}

/* For control_each. */
static void see(void *ctx, const char *name, int connection)
{
	struct search *const s = ctx;
	char answer[CONTROL_ANSWER_MAX];

	if (connection < 0)
		return;
	if (!control_may_mean(s->wanted, name)) {
		close(connection);
		return;
	}
	ask(connection, answer);
	if (!control_means(s->wanted, name, answer))
		return;
	snprintf(s->name, sizeof(s->name), "%s", name);
	memcpy(s->answer, answer, sizeof(s->answer));
	s->found_place = s->place;
	s->count++;
}

static bool is_path(const struct search *s)
{
	return s->wanted && strchr(s->wanted, '/');
}

static int find(struct search *s)
{
	char path[PATH_MAX];

	for (; control_folder(s->place, path, sizeof(path)); s->place++) {
		const int folder = path[0] ? control_open(path) : -1;

		if (folder < 0)
			continue;
		control_each(folder, see, s);
		close(folder);
	}
	if (s->count == 1)
		return 0;
	if (s->count > 1)
		return err_add("%zu recordings are meant; name one by its "
			       "process id: weft status lists them", s->count);
	return s->wanted ?
	       err_add("no recording \"%s\" of yours runs here; weft status "
		       "lists those that do", s->wanted) :
	       err_add("no recording of yours runs here");
}

static int connect_to(const struct search *s)
{
	char path[PATH_MAX];
	int connection;

	if (is_path(s)) {
		connection = control_connect_path(s->wanted);
	} else {
		control_folder(s->found_place, path, sizeof(path));
		connection = control_connect_in(control_open(path), s->name);
	}
	return connection >= 0 ? connection :
	       err_add("\"%s\" does not answer: %s",
		       is_path(s) ? s->wanted : s->name, strerror(errno));
}

/* The one that is meant. 0, or -1 with the cause in the chain. */
static int find_one(struct search *s)
{
	if (!is_path(s))
		return find(s);
	snprintf(s->name, sizeof(s->name), "%s", strrchr(s->wanted, '/') + 1);
	const int connection = connect_to(s);

	if (connection < 0)
		return -1;
	ask(connection, s->answer);
	return 0;
}

int feed_open(struct feed *f, const char *wanted)
{
	struct search s = { .wanted = wanted };
	char ok[3] = "";

	memset(f, 0, sizeof(*f));
	if (find_one(&s) != 0)
		return -1;
	control_value(s.answer, "trace", f->trace, sizeof(f->trace));
	f->fd = connect_to(&s);
	if (f->fd < 0)
		return -1;
	snprintf(f->name, sizeof(f->name), "%s", s.name);
	if (!control_request(f->fd, "watch") ||
	    recv(f->fd, ok, sizeof(ok), MSG_WAITALL) != (ssize_t)sizeof(ok) ||
	    memcmp(ok, "ok\n", sizeof(ok)) != 0) {
		close(f->fd);
		return err_add("\"%s\" cannot be watched: it is of another "
			       "version of weft, or ends just now", f->name);
	}
	f->bytes = mem_alloc(ROOM);
	return 0;
}

void feed_close(struct feed *f)
{
	close(f->fd);
	mem_free(f->bytes);
}

/* ---- chunks ---- */

/* Take what begins at p, of n bytes. Returns how many bytes that was; 0: not
 * all of it is there; -1: it is nothing that a recorder sends. */
static long take(struct feed *f, const unsigned char *p, size_t n,
		 in_chunk_fn fn, void *ctx)
{
	static uint64_t chunk[CHUNK_MAX_WORDS];
	uint32_t head[2] = { 0, 0 };
	struct chunk view;

	if (n < sizeof(head))
		return 0;
	memcpy(head, p, sizeof(head));
	f->is_end = head[0] == 0;
	if (f->is_end) {
		f->missed += head[1];
		return sizeof(head);
	}
	if (head[0] < CHUNK_HEADER_WORDS || head[0] > CHUNK_MAX_WORDS)
		return -1;
	if (n < sizeof(head[0]) + head[0] * (size_t)8)
		return 0;
	memcpy(chunk, p + sizeof(head[0]), head[0] * (size_t)8);
	if (decode_chunk(&view, chunk, head[0]) == 0)
		fn(ctx, &view);
	else
		f->bad++;
	err_clear();
	return (long)sizeof(head[0]) + head[0] * 8L;
}

/* All that is whole; the rest goes to the beginning. */
static bool take_all(struct feed *f, in_chunk_fn fn, void *ctx)
{
	size_t at = 0;
	long n;

	while ((n = take(f, f->bytes + at, f->used - at, fn, ctx)) > 0)
		at += (size_t)n;
	memmove(f->bytes, f->bytes + at, f->used - at);
	f->used -= at;
	f->bad += n < 0;
	return n >= 0;
}

int feed_take(struct feed *f, in_chunk_fn fn, void *ctx)
{
	for (int i = 0; i < AT_ONCE; i++) {
		const ssize_t n = recv(f->fd, f->bytes + f->used,
				       ROOM - f->used, MSG_DONTWAIT);

		if (n == 0)
			return 0;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		f->used += (size_t)n;
		if (!take_all(f, fn, ctx))
			return 0;
	}
	return 1;
}
