/* server.c - takes connections, reads requests and sends answers, all without
 * waiting. Knows no request.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/control/server.h"
#include "tracer/recorder/base/chunk_queue.h"
#include "tracer/recorder/base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WATCH_BYTES = 4 << 20,     /* many chunks */
	LAST_MS = 500,             /* for a watcher that reads no more */
};

/* What waits to be sent. Of each entry's words, the first half of the first is
 * not: a chunk has an odd 32 bits before it. */
struct watcher {
	struct chunk_queue queue;
	size_t sent;               /* bytes of the oldest */
	uint32_t left_out;         /* chunks, since the last that was put in */
};

struct control_client {
	int fd;                    /* negative: nobody */
	bool is_answered;          /* text is the answer, not the request */
	bool stays;                /* until the recording ends */
	struct watcher *watcher;   /* NULL: it watches nothing */
	uint64_t until;            /* ms */
	size_t at, length;         /* of text: sent, and there */
	char text[CONTROL_ANSWER_MAX];
};

void control_say(struct control_text *t, const char *format, ...)
{
	const size_t room = CONTROL_ANSWER_MAX - t->length;
	va_list args;

	va_start(args, format);
	const int n = vsnprintf(t->text + t->length, room, format, args);

	va_end(args);
	if (n > 0 && (size_t)n < room)
		t->length += (size_t)n;
}

/* ---- the socket ---- */

/* The first folder that can be had. Negative: see errno. */
static int open_folder(void)
{
	char path[PATH_MAX];
	int fd = -1;

	for (int i = 0; fd < 0 && control_folder(i, path, sizeof(path)); i++) {
		if (path[0] == '\0')
			continue;
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			continue;
		fd = control_open(path);
	}
	return fd;
}

/* Whoever finds a socket on which nobody listens removes it: it gets its name
 * when somebody does. */
static int listen_as(struct control *c, const char *making)
{
	struct sockaddr_un a;

	unlinkat(c->folder, making, 0);
	if (!control_address(&a, c->folder, making) ||
	    bind(c->listener, (const struct sockaddr *)&a, sizeof(a)) != 0)
		return -1;
	if (listen(c->listener, CONTROL_CLIENTS) == 0 &&
	    renameat(c->folder, making, c->folder, c->name) == 0)
		return 0;
	const int why = errno;

	unlinkat(c->folder, making, 0);
	errno = why;
	return -1;
}

static void ignore(void *ctx, const char *name, int connection)
{
	(void)ctx;
	(void)name;
	if (connection >= 0)
		close(connection);
}

const char *control_init(struct control *c, const char *name, pid_t pid,
			 control_fn *call, void *ctx)
{
	char plain[CONTROL_NAME_MAX], making[sizeof(c->name) + 1];

	*c = (struct control){ .folder = -1, .listener = -1, .call = call,
			       .ctx = ctx };
	message_file_name(plain, sizeof(plain), name);
	snprintf(c->name, sizeof(c->name), "%s.%d", plain, (int)pid);
	snprintf(making, sizeof(making), ".%s", c->name);
	c->client = calloc(CONTROL_CLIENTS, sizeof(*c->client));
	c->folder = open_folder();
	if (!c->client || c->folder < 0)
		return strerror(errno);
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		c->client[i].fd = -1;
	control_each(c->folder, ignore, NULL);
	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
			     SOCK_NONBLOCK, 0);
	if (c->listener >= 0 && listen_as(c, making) == 0)
		return NULL;
	const char *const why = strerror(errno);

	if (c->listener >= 0)
		close(c->listener);
	c->listener = -1;
	return why;
}

/* ---- clients ---- */

static void hang_up(struct control *c, struct control_client *k)
{
	c->watchers -= !!k->watcher;
	if (k->watcher)
		chunk_queue_fini(&k->watcher->queue);
	free(k->watcher);
	k->watcher = NULL;
	close(k->fd);
	k->fd = -1;
}

/* The folder keeps others out; this holds if it did not. */
static bool is_allowed(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void take_connections(struct control *c, uint64_t now)
{
	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		struct control_client *const k = &c->client[i];

		if (k->fd >= 0)
			continue;
		k->fd = accept4(c->listener, NULL, NULL,
				SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (k->fd < 0)
			return;
		k->is_answered = k->stays = false;
		k->at = k->length = 0;
		k->until = now + CONTROL_SECONDS * 1000;
		if (!is_allowed(k->fd))
			hang_up(c, k);
	}
}

/* The request is whole: let it be done. */
static void answer(struct control *c, struct control_client *k, uint64_t now)
{
	char request[CONTROL_REQUEST_MAX];
	struct control_text t = { .text = k->text, .argument = "" };

	memcpy(request, k->text, k->length);
	request[strcspn(request, "\r\n")] = '\0';

	char *const space = strchr(request, ' ');

	if (space) {
		*space = '\0';
		t.argument = space + 1;
	}
	c->call(c->ctx, request, &t);
	k->is_answered = true;
	if (t.watches && (k->watcher = calloc(1, sizeof(*k->watcher)))) {
		/* Without memory, all are left out. */
		chunk_queue_init(&k->watcher->queue, WATCH_BYTES);
		c->watchers++;
	}
	k->stays = t.stays;
	k->length = t.length;
	k->until = now + CONTROL_SECONDS * 1000;
}

/* Returns false if the client is to be given up. */
static bool read_request(struct control *c, struct control_client *k,
			 uint64_t now)
{
	const ssize_t n = recv(k->fd, k->text + k->length,
			       CONTROL_REQUEST_MAX - k->length, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	k->length += (size_t)n;
	if (memchr(k->text, '\n', k->length))
		answer(c, k, now);
	return k->is_answered || k->length < CONTROL_REQUEST_MAX;
}

/* Returns false if the answer is sent, or cannot be. */
static bool send_answer(struct control_client *k)
{
	const ssize_t n = send(k->fd, k->text + k->at, k->length - k->at,
			       MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	k->at += (size_t)n;
	return k->at < k->length || k->stays;
}

/* Whether it still waits for the end of the recording. */
static bool is_there(const struct control_client *k)
{
	char byte;

	return recv(k->fd, &byte, 1, 0) != 0;
}

/* ---- who watches ----
 * A stream socket may take half of a chunk. */

static void offer(struct watcher *w, const uint64_t *chunk, uint32_t words)
{
	uint64_t *const room = chunk_queue_room(&w->queue, true);
	const uint32_t gap[] = { 0, 0, w->left_out, words };
	const uint32_t plain[] = { 0, words };
	const uint32_t heads = w->left_out > 0 ? 2 : 1;

	if (!room) {
		w->left_out++;
		return;
	}
	memcpy(room, heads == 2 ? gap : plain, heads * sizeof(*room));
	memcpy(room + heads, chunk, words * sizeof(*room));
	chunk_queue_keep(&w->queue, heads + words);
	w->left_out = 0;
}

/* Send what its socket takes. Returns false if it is gone. */
static bool send_waiting(struct control_client *k)
{
	struct watcher *const w = k->watcher;
	ssize_t n = 1;

	while (n > 0 && k->at == k->length &&
	       !chunk_queue_is_empty(&w->queue)) {
		uint32_t words;
		const char *const from = (const char *)chunk_queue_oldest(
			&w->queue, &words) + sizeof(uint32_t);
		const size_t bytes = words * sizeof(uint64_t) -
				     sizeof(uint32_t);

		n = send(k->fd, from + w->sent, bytes - w->sent, MSG_NOSIGNAL);
		w->sent += n > 0 ? (size_t)n : 0;
		if (w->sent == bytes) {
			chunk_queue_drop(&w->queue);
			w->sent = 0;
		}
	}
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

/* The end of the stream, for one who goes on reading. */
static void send_last(struct control_client *k)
{
	struct watcher *const w = k->watcher;
	const uint32_t gap[] = { 0, w->left_out };
	struct pollfd p = { k->fd, POLLOUT, 0 };

	while (!chunk_queue_is_empty(&w->queue) && poll(&p, 1, LAST_MS) > 0 &&
	       send_waiting(k))
		;
	if (chunk_queue_is_empty(&w->queue) && poll(&p, 1, LAST_MS) > 0)
		send(k->fd, gap, sizeof(gap), MSG_NOSIGNAL);
}

void control_offer(struct control *c, const uint64_t *chunk, uint32_t words)
{
	for (int i = 0; c->watchers > 0 && i < CONTROL_CLIENTS; i++)
		if (c->client[i].fd >= 0 && c->client[i].watcher)
			offer(c->client[i].watcher, chunk, words);
}

void control_poll(struct control *c, uint64_t now)
{
	if (c->listener < 0)
		return;
	take_connections(c, now);
	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		struct control_client *const k = &c->client[i];

		if (k->fd < 0)
			continue;
		const bool is_done = k->is_answered && k->at == k->length;
		bool stays = is_done ? is_there(k) : now < k->until;

		if (stays && !k->is_answered)
			stays = read_request(c, k, now);
		if (stays && k->is_answered && !is_done)
			stays = send_answer(k);
		if (stays && k->watcher)
			stays = send_waiting(k);
		if (!stays)
			hang_up(c, k);
	}
}

void control_fini(struct control *c)
{
	if (c->listener < 0)
		return;
	unlinkat(c->folder, c->name, 0);
	close(c->listener);
	c->listener = -1;
	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		struct control_client *const k = &c->client[i];

		if (k->fd >= 0 && k->watcher)
			send_last(k);
		if (k->fd >= 0)
			hang_up(c, k);
	}
}
