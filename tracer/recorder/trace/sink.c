/* sink.c - delivers chunks and decides where. LTTng is given up for good at the
 * first sign of trouble. A chunk that was delivered twice is counted once by
 * every reader.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/sink.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/base/rate.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 5000,            /* for the daemon to turn the event on */
	BLOCKED_NS = 950000000,    /* a call that took the full second */
};

/* ---- LTTng-UST, through the provider's shared object ---- */

static int (*provider_is_on)(void);
static void (*provider_fire)(const struct chunk_header *, const char *packed);

/* ISO C forbids to cast the object pointer that dlsym returns. */
static bool find_function(void *object, const char *name, void *function)
{
	void *const symbol = dlsym(object, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

void sink_set_environment(void)
{
	/* The constructor of liblttng-ust reads these. It waits until the
	 * daemon has started the session in this process: the tracepoint is on
	 * a little earlier, and what is fired before is dropped silently. */
	setenv("LTTNG_UST_ALLOW_BLOCKING", "1", 1);
	setenv("LTTNG_UST_REGISTER_TIMEOUT", "5000", 1);
	setenv("LTTNG_UST_WITHOUT_BADDR_STATEDUMP", "1", 1);
}

const char *sink_open_provider(const char *path)
{
	static char why[256];

	void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!object ||
	    !find_function(object, "weft_provider_is_on", &provider_is_on) ||
	    !find_function(object, "weft_provider_fire", &provider_fire)) {
		snprintf(why, sizeof(why), "cannot load LTTng-UST: %s",
			 dlerror());
		provider_is_on = NULL;
		return why;
	}
	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (provider_is_on())
			return NULL;
		poll(NULL, 0, 1);
	}
	return "the LTTng session daemon did not turn recording on within 5 s";
}

static bool is_on(void)
{
	return provider_is_on && provider_is_on();
}

/* Give LTTng one chunk. It may block for a second, and it says nothing when it
 * drops one. NULL, or why the chunk may not have arrived. */
static const char *fire(const uint64_t *chunk, const uint64_t *packed)
{
	static const char *const gone = "the session daemon is gone";

	if (!is_on())
		return gone;
	const uint64_t before = rate_mono();

	provider_fire((const void *)chunk, (const void *)packed);
	if (rate_mono() - before >= BLOCKED_NS)
		return "LTTng did not take a chunk within a second (the "
		       "consumer daemon is dead, or the disk is full)";
	return is_on() ? NULL : gone;
}

/* ---- the sink ---- */

int sink_init(struct sink *s, uint64_t bytes)
{
	memset(s, 0, sizeof(*s));
	s->spill.fd = -1;
	census_begin(&s->census);
	return chunk_queue_init(&s->backlog, bytes);
}

uint64_t *sink_room(struct sink *s)
{
	return s->chunk;
}

/* Only the first failure is reported. */
static void spill(struct sink *s, const uint64_t *words, uint32_t n)
{
	if (spill_write(&s->spill, words, n) == 0) {
		s->spilled = true;
		return;
	}
	if (!s->told)
		message_trouble("cannot write the spill file: %s; chunks are "
				"being lost", strerror(errno));
	s->told = true;
}

void sink_give_up_lttng(struct sink *s, const char *why)
{
	if (!s->lttng)
		return;
	s->lttng = false;
	message_trouble("LTTng is no longer used: %s; recording continues in "
			"spill.weft", why);
	for (uint32_t n; !chunk_queue_is_empty(&s->backlog);
	     chunk_queue_drop(&s->backlog)) {
		const uint64_t *const words = chunk_queue_oldest(&s->backlog,
								 &n);

		spill(s, words, n);
	}
}

void sink_check_lttng(struct sink *s)
{
	if (s->lttng && !is_on())
		sink_give_up_lttng(s, "the session daemon is gone");
}

const uint64_t *sink_reserve(struct sink *s, uint32_t words)
{
	uint64_t *const room = chunk_queue_room(&s->backlog, false);
	const uint32_t n = packer_put(&s->packer, room, s->chunk, words,
				      PACKING_NONE);

	assert(n <= SPILL_RESERVE_WORDS);
	memset(room + n, 0, (SPILL_RESERVE_WORDS - n) * 8);
	return room;
}

void sink_note(struct sink *s, const struct chunk_items *items)
{
	if (!s->flight)
		census_note(&s->census, items);
	if (s->archive)
		archive_note(s->archive, items);
}

void sink_send(struct sink *s, const uint64_t *chunk, uint32_t words)
{
	uint64_t *const packed = chunk_queue_room(&s->backlog, false);
	const uint32_t n = packer_put(&s->packer, packed, chunk, words,
				      packer_way(s->compress));

	if (s->flight) {
		flight_ring_keep(s->flight, (const void *)chunk, n);
		return;
	}
	delivery_note(&s->delivery, (const void *)chunk);
	if (!s->lttng) {
		spill(s, packed, n);
		return;
	}
	chunk_queue_keep(&s->backlog, n);
	const char *const why = fire(chunk, packed);

	if (why)
		sink_give_up_lttng(s, why);
}
