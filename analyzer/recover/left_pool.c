/* left_pool.c - reads a pool without mapping it: a file may be cut at any time.
 * Any recorded program may have written anything into it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/recover/left_pool.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/chunk/decode.h"
#include "tracepoints/buffer.h"
#include "tracepoints/meta.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding and opening ---- */

bool left_pool_is(const char *path)
{
	const uint64_t magic = POOL_MAGIC;

	return text_file_begins(path, &magic, sizeof(magic));
}

static bool get(const struct left_pool *p, void *to, size_t size, uint64_t at)
{
	return pread(p->fd, to, size, (off_t)at) == (ssize_t)size;
}

/* glibc's mutex begins with its futex; the kernel writes the owner's end into
 * it. */
static bool is_held(const pthread_mutex_t *mutex)
{
	uint32_t word;

	memcpy(&word, mutex, sizeof(word));
	return (word & FUTEX_TID_MASK) != 0 && (word & FUTEX_OWNER_DIED) == 0;
}

/* It has locked the file as long as it lives. A program that has written over
 * the mutex lies about itself alone. */
static bool has_recorder(const struct left_pool *p)
{
	return is_held(&p->head.recorder) &&
	       flock(p->fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static bool get_thread(const struct left_pool *p, uint32_t i,
		       struct pool_thread *t)
{
	return get(p, t, sizeof(*t), p->head.thread_offset + i * sizeof(*t)) &&
	       t->state != SLOT_FREE;
}

static bool has_living(const struct left_pool *p)
{
	struct pool_thread t;

	for (uint32_t i = 0; i < p->head.thread_slots; i++)
		if (get_thread(p, i, &t) && is_held(&t.alive))
			return true;
	return false;
}

/* size: of what may be the pool. */
static int check(struct left_pool *p, uint64_t size, const char *path)
{
	if (size < sizeof(p->head) || !get(p, &p->head, sizeof(p->head), 0) ||
	    !pool_valid(&p->head, size) || p->head.recording == 0)
		return err_add("\"%s\" has no whole pool of this version of "
			       "weft", path);
	p->is_in_use = has_recorder(p);
	if (p->is_in_use)
		return err_add("\"%s\" is in use: weft record still runs, and "
			       "writes the trace itself", path);
	p->is_alive = has_living(p);
	return 0;
}

int left_pool_open(struct left_pool *p, const char *path)
{
	struct stat status;

	memset(p, 0, sizeof(*p));
	p->fd = text_file_open(path, &status);
	if (p->fd < 0)
		return err_add("cannot open the pool \"%s\": %s", path,
			       strerror(errno));
	if (check(p, (uint64_t)status.st_size, path) == 0)
		return 0;
	close(p->fd);
	return -1;
}

void left_pool_close(struct left_pool *p)
{
	close(p->fd);
}

/* ---- what is in it ---- */

void left_pool_lost(const struct left_pool *p, uint64_t lost[LOST_REASONS])
{
	struct pool_thread t;

	memset(lost, 0, LOST_REASONS * sizeof(*lost));
	for (uint32_t i = 0; i < p->head.thread_slots; i++) {
		if (!get_thread(p, i, &t))
			continue;
		for (int k = 0; k < LOST_REASONS; k++)
			lost[k] += t.lost[k];
		lost[LOST_FULL] += t.scrap;
	}
}

/* Where a buffer begins. */
static uint64_t place_of(const struct left_pool *p, uint32_t i)
{
	const uint32_t small = p->head.small_buffers;

	return i < small ?
	       p->head.small_offset + i * UINT64_C(8) * POOL_SMALL_WORDS :
	       p->head.big_offset + (i - small) * UINT64_C(8) * POOL_BIG_WORDS;
}

/* A thread that lives goes on to fill its buffer. A recorder that died while it
 * took a buffer has perhaps not delivered it, and perhaps emptied it. */
static uint32_t flags_of(const struct left_pool *p, uint64_t word)
{
	const uint32_t slot = buffer_slot(word);
	struct pool_thread t;

	if (buffer_state(word) != BUFFER_FILLING)
		return 0;
	return slot < p->head.thread_slots && get_thread(p, slot, &t) &&
	       is_held(&t.alive) ? CHUNK_PARTIAL : CHUNK_TAKEN;
}

static bool is_wanted(const struct left_pool *p, uint32_t i, uint64_t *word)
{
	if (!get(p, word, 8, p->head.state_offset + i * UINT64_C(8)))
		return false;
	return buffer_state(*word) == BUFFER_FILLING ||
	       buffer_state(*word) == BUFFER_FULL ||
	       buffer_state(*word) == BUFFER_TAKEN;
}

/* Read a buffer: the counts first, as its thread may live. Its state must be as
 * it was. False, too, if it has been emptied. */
static bool get_buffer(const struct left_pool *p, uint32_t i, uint64_t word,
		       uint64_t *to, uint32_t words)
{
	struct chunk_header first, *const h = (void *)to;
	uint64_t now;

	if (!get(p, &first, sizeof(first), place_of(p, i)) ||
	    !get(p, to, (size_t)words * 8, place_of(p, i)) ||
	    !is_wanted(p, i, &now) || now != word)
		return false;
	h->records = first.records;
	h->items = first.items;
	h->funcs = first.funcs;
	h->counted = first.counted;
	return h->magic != 0 || buffer_state(word) != BUFFER_TAKEN;
}

/* 1, 0 or -1, as buffer_open, of which it is the rest. */
static int make_chunk(const struct left_pool *p, const struct buffer *b,
		      uint64_t *out, struct chunk *view)
{
	struct chunk_header *const h = (void *)out;
	const int found = buffer_open(out, b);
	uint64_t end, *at;

	if (found <= 0)
		return found;
	h->tick_hz = p->head.tick_hz;
	h->tick_hz_error = p->head.tick_hz_error;
	at = buffer_body(out, b, &end);
	if (end > h->tick_end)
		h->tick_end = end;
	buffer_end(h, b, at);
	chunk_seal(out);
	if (decode_chunk(view, out, h->total_words) == 0)
		return 1;
	err_clear();
	return -1;
}

int left_pool_each(struct left_pool *p, in_chunk_fn fn, void *ctx)
{
	const uint32_t n = p->head.small_buffers + p->head.big_buffers;
	uint64_t *const in = mem_alloc(2 * CHUNK_MAX_WORDS * 8);
	struct chunk view;
	uint64_t word;
	int status = 0;

	for (uint32_t i = 0; i < n && status >= 0; i++) {
		struct buffer b = { in, i < p->head.small_buffers ?
				    POOL_SMALL_WORDS : POOL_BIG_WORDS,
				    p->head.recording, 0 };

		if (!is_wanted(p, i, &word) ||
		    !get_buffer(p, i, word, in, b.words))
			continue;
		b.flags = flags_of(p, word);
		const int found = make_chunk(p, &b, in + CHUNK_MAX_WORDS,
					     &view);

		p->damaged += found < 0;
		if (found > 0)
			status = fn(ctx, &view);
	}
	mem_free(in);
	return status;
}
