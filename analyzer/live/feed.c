/* feed.c - asks to watch a recording, and cuts what comes into chunks. What
 * chunks mean is not known here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/live/feed.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/chunk/decode.h"
#include "tracepoints/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1 << 20, AT_ONCE = 16 };

int feed_open(struct feed *f, const char *wanted)
{
	char ok[3] = "", why[CONTROL_WHY_MAX];
	struct control_found found;

	memset(f, 0, sizeof(*f));
	f->fd = control_connect(wanted, &found, why);
	if (f->fd < 0)
		return err_add("%s", why);
	control_value(found.answer, "trace", f->trace, sizeof(f->trace));
	memcpy(f->name, found.name, sizeof(f->name));
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
