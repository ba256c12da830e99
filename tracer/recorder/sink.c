/* sink.c - delivers chunks, and decides where. LTTng is given up once and
 * for all at the first sign of trouble; a chunk that went both ways counts
 * once for every reader.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/sink.h"
#include "tracer/recorder/provider.h"
#include "tracer/recorder/message.h"

#include <errno.h>
#include <string.h>

int deliver_init(struct deliver *d, uint64_t ring_bytes)
{
	memset(d, 0, sizeof(*d));
	d->spill.fd = -1;
	d->lttng = ring_bytes > 0;
	return recent_init(&d->recent, ring_bytes);
}

uint64_t *deliver_room(struct deliver *d)
{
	return recent_room(&d->recent);
}

static bool spill_chunk(struct deliver *d, const uint64_t *words, uint32_t n)
{
	if (spill_write(&d->spill, words, n) == 0) {
		d->spilled = true;
		d->spilled_chunks++;
		d->spilled_records +=
			((const struct chunk_header *)words)->records;
		return true;
	}
	if (d->lost_chunks + d->doubtful_chunks == 0)
		say_trouble("cannot write the spill file: %s; chunks are "
			    "being lost", strerror(errno));
	return false;
}

/* For recent_each: go on whatever happens. */
static int spill_recent(void *ctx, const uint64_t *words, uint32_t n)
{
	struct deliver *const d = ctx;

	if (!spill_chunk(d, words, n))
		d->doubtful_chunks++;
	return 0;
}

void deliver_give_up(struct deliver *d, const char *why)
{
	if (!d->lttng)
		return;
	d->lttng = false;
	say_trouble("LTTng is given up: %s; recording goes on to spill.weft",
		    why);
	recent_each(&d->recent, spill_recent, d);
	recent_forget(&d->recent);
}

void deliver_send(struct deliver *d, uint32_t words)
{
	const uint64_t *const chunk = d->recent.words + d->recent.head;
	const char *why = NULL;

	d->chunks++;
	if (d->archive)
		archive_see(d->archive, chunk, words);
	if (!d->lttng) {
		if (!spill_chunk(d, chunk, words)) {
			d->lost_chunks++;
			d->lost_records +=
				((const struct chunk_header *)chunk)->records;
		}
		return;
	}
	recent_keep(&d->recent, words);
	if (provider_fire((const void *)chunk, words, &why) != 0)
		deliver_give_up(d, why);
	else
		d->lttng_bytes += (uint64_t)words * 8;
}
