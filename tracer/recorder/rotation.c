/* rotation.c - closes a piece of the trace, moves it aside, begins the next one
 * and removes the oldest. A chunk lies whole in one piece; a thread's stream
 * goes on in the next.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/rotation.h"
#include "tracer/recorder/base/grow.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = PACKED_MAX_WORDS * 8 };

static bool has_room(const struct recording *r, uint64_t bytes)
{
	return r->sink.spill.end + bytes <= r->opt.max_size;
}

/* A notes_send_fn. Names that would make the piece too large are left to the
 * next one, or to the end. */
static void send_name(struct recording *r, uint32_t words)
{
	if (has_room(r, CHUNK_BYTES))
		notes_send(r, words);
}

static void piece_name(char out[32], uint32_t n)
{
	snprintf(out, 32, "piece-%06" PRIu32, n);
}

/* Where the file of piece n lies. */
static void piece_path(char out[48], uint32_t n)
{
	char name[32];

	piece_name(name, n);
	snprintf(out, 48, "%s/spill.weft", name);
}

static void remove_folder(struct recording *r, uint32_t n)
{
	const int why = errno;
	char name[32];

	piece_name(name, n);
	unlinkat(r->folder.fd, name, AT_REMOVEDIR);
	errno = why;
}

/* The piece becomes piece n. Negative: see errno. */
static int move_aside(struct recording *r, uint32_t n)
{
	char name[32], path[48];

	piece_name(name, n);
	piece_path(path, n);
	if (mkdirat(r->folder.fd, name, 0700) != 0)
		return -1;
	if (renameat(r->folder.fd, "spill.weft", r->folder.fd, path) == 0)
		return 0;
	remove_folder(r, n);
	return -1;
}

/* Keeps errno. */
static void move_back(struct recording *r, uint32_t n)
{
	const int why = errno;
	char path[48];

	piece_path(path, n);
	if (renameat(r->folder.fd, path, r->folder.fd, "spill.weft") == 0)
		remove_folder(r, n);
	errno = why;
}

/* Keep that many before piece n. */
static void remove_oldest(struct recording *r, uint32_t n, uint32_t most)
{
	struct rotation *const t = &r->rotation;
	char path[48];

	while (n - t->removed > most) {
		t->kept -= t->chunks[t->removed];
		piece_path(path, ++t->removed);
		unlinkat(r->folder.fd, path, 0);
		remove_folder(r, t->removed);
	}
}

/* Its end notes are for who reads it alone: those of the whole trace, in the
 * last piece, are better than PARTIAL ones. */
static int close_piece(struct recording *r)
{
	summary_copy_counts(r);
	r->rotation.is_closing = true;
	const uint32_t words = notes_end(r, CHUNK_PARTIAL | CHUNK_FLIGHT);

	r->rotation.is_closing = false;

	return spill_close(&r->sink.spill, sink_reserve(&r->sink, words));
}

/* Its place is the newest's. Negative: see errno. */
static int open_piece(struct recording *r, struct spill *next)
{
	const uint32_t words = notes_no_end(r);

	return spill_open(next, r->folder.fd, sink_reserve(&r->sink, words));
}

/* Threads that began by now go on in the next piece, and do not begin there. */
static void begin_piece(struct recording *r, const struct spill *next)
{
	r->sink.spill = *next;
	r->drain.late_below = atomic_load(&r->owner.pool->next_thread);
	notes_send(r, notes_start(r));
}

/* Keep that many of those that are closed, this one included. Negative: the
 * next one cannot be begun, and this one is as it was; see errno. */
static int rotate(struct recording *r, uint32_t most)
{
	struct rotation *const t = &r->rotation;
	const uint32_t n = t->closed + 1;
	struct spill next;

	notes_send_names(r, send_name);
	delivery_check(&r->sink.delivery, r->folder.absolute);
	if (!grow(&t->chunks, &t->room, n, sizeof(*t->chunks)) ||
	    move_aside(r, n) != 0)
		return -1;
	if (r->opt.max_files > 0)
		remove_oldest(r, n, most);
	if (open_piece(r, &next) != 0) {
		move_back(r, n);
		return -1;
	}
	if (close_piece(r) != 0)
		message_trouble("a piece of the trace could not be closed: "
				"%s", strerror(errno));
	delivery_forget(&r->sink.delivery);
	t->chunks[t->closed++] = r->sink.spill.chunks + 1; /* end notes */
	t->kept += t->chunks[n - 1];
	begin_piece(r, &next);
	return 0;
}

void rotation_poll(struct recording *r)
{
	struct spill *const s = &r->sink.spill;

	if (r->opt.max_size == 0 || s->fd < 0 || s->is_full ||
	    has_room(r, 2 * CHUNK_BYTES + r->opt.max_size / 16) ||
	    rotate(r, r->opt.max_files - 1) == 0)
		return;
	message_trouble("cannot begin a new piece of the trace: %s; chunks are "
			"being lost from now on", strerror(errno));
	s->is_full = r->sink.told = true;
}

void rotation_end(struct recording *r)
{
	const struct spill *const s = &r->sink.spill;

	/* The notes have room in what this one leaves of its size. If it cannot
	 * be moved, they go into it. */
	if (r->rotation.closed > 0 && s->fd >= 0 && !s->is_full)
		rotate(r, r->opt.max_files);
}
