/* fuzz_chunk.c - feeds bytes as chunks to view and replay, or as packed chunks
 * before. Magic, sizes and checksums are made right, so that what lies behind
 * them is reached.
 * make fuzz builds and runs it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/chunk/unpack.h"
#include "analyzer/model/cct.h"
#include "analyzer/tables/flat.h"
#include "analyzer/tables/filter.h"
#include "analyzer/replay/replay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long balance;

static void on_enter(void *ctx, const struct replay_event *e)
{
	(void)ctx;
	balance += e->func > 0;
}

static void on_leave(void *ctx, const struct replay_event *e)
{
	(void)ctx;
	balance -= e->func > 0;
}

static const struct replay_sink sink = { .enter = on_enter,
					 .leave = on_leave };

/* Make a chunk's header fit its bytes where it does not. Gives its words. */
static size_t repair(uint64_t *words, size_t n)
{
	struct chunk_header *const h = (struct chunk_header *)words;
	const uint64_t body = n - CHUNK_HEADER_WORDS;

	h->magic = CHUNK_MAGIC;
	h->version = CHUNK_VERSION;
	if (h->total_words >= CHUNK_HEADER_WORDS && h->total_words <= n)
		n = (size_t)h->total_words;
	h->total_words = n;
	if ((uint64_t)h->records + h->items + h->funcs !=
	    n - CHUNK_HEADER_WORDS) {
		h->records = (uint32_t)(h->records % (body + 1));
		h->items = (uint32_t)(h->items % (body - h->records + 1));
		h->total_words = n = CHUNK_HEADER_WORDS + body;
		h->funcs = (uint32_t)(body - h->records - h->items);
	}
	h->process %= 2;
	h->thread %= 2;
	h->level %= 3;
	h->checksum = decode_checksum(words, n);
	return n;
}

/* What is collected, and which time is asked for, as the last byte says. */
static void want(struct replay *r, const struct chunk *v, uint8_t how)
{
	struct replay_collect w = { .hist = (how & 4) != 0,
				    .vm = (how & 8) != 0,
				    .serial = (how & 16) ? 1 : 0 };
	const ticks span = v->header.tick_end - v->header.tick_begin;

	if (how & 2) {
		w.from = v->header.tick_begin + span / 4;
		w.to = w.from + span / 2 + 1;
	}
	replay_want(r, &w);
}

static void feed(struct replay *r, const uint8_t *data, size_t size)
{
	const uint8_t last = size > 0 ? data[size - 1] : 0;
	int wanted = 0;
	uint64_t *const words = malloc(size + 8);

	while (size >= CHUNK_HEADER_WORDS * 8) {
		size_t n = size / 8 < CHUNK_MAX_WORDS ? size / 8 :
			   CHUNK_MAX_WORDS;
		struct chunk v;

		memcpy(words, data, n * 8);
		n = repair(words, n);
		/* Of its own size, so that a word too far is seen. */
		uint64_t *const exact = malloc(n * 8);

		memcpy(exact, words, n * 8);
		if (decode_chunk(&v, exact, n) == 0) {
			if (!wanted++)
				want(r, &v, last);
			replay_chunk(r, &v);
		}
		err_clear();
		free(exact);
		data += n * 8;
		size -= n * 8;
	}
	free(words);
}

/* Unpack what begins like a packed chunk, all of it, as its head says or nearly
 * so: what is not a number there counts as few words, and the last byte may say
 * that the payload is yet to be coded. Whatever came of it is fed. */
static void feed_packed(struct replay *r, const uint8_t *data, size_t size)
{
	static uint64_t words[CHUNK_MAX_WORDS];
	static unsigned char payload[CHUNK_MAX_WORDS * 8];
	const bool is_coded = (data[size - 1] & 128) == 0;
	struct packed_head head = { .packing = PACKING_NONE };
	uint64_t n;

	if (!packed_read((const char *)data, &head))
		head.packing = (enum packing)(char)data[PACKED_WAY];
	if (!packed_get_hex((const char *)data + 14, 4, &n) ||
	    n < CHUNK_HEADER_WORDS || n > CHUNK_MAX_WORDS)
		n = CHUNK_HEADER_WORDS + data[14];
	head.words = (uint32_t)n;
	size -= PACKED_HEAD;
	if (size > sizeof(payload))
		size = sizeof(payload);
	/* Of its own size, so that a byte too far is seen. */
	char *const packed = malloc(PACKED_ROOM(size));

	memcpy(payload, data + PACKED_HEAD, size);
	head.bytes = (uint32_t)size;
	if (is_coded)
		memcpy(packed + PACKED_HEAD, payload, size);
	else
		head.bytes = (uint32_t)packed_code(packed + PACKED_HEAD,
						   payload, size);
	packed_seal(packed, &head);
	char *const exact = malloc(packed_size(&head));

	memcpy(exact, packed, packed_size(&head));
	memset(words, 0, sizeof(words));
	if (unpack_chunk(words, exact, packed_size(&head), &head) > (int)n)
		abort();
	err_clear();
	free(packed);
	free(exact);
	feed(r, (const uint8_t *)words, n * 8);
}

/* Parts and groups: nothing may come of them that was not there. */
static void look_closer(struct session *s, uint8_t how)
{
	const struct filter part = { .range = (how & 2) != 0,
				     .coroutine = (how & 16) != 0,
				     .skip = how & 32 ? "*1*" : NULL,
				     .focus = how & 64 ? "*2*" : NULL,
				     .under = how & 128 ? "*3*" : NULL };
	const struct filter_sums sums = filter_apply(s, &part, how & 8);

	if (!cct_valid(s->cct) || sums.calls > sums.whole_calls)
		abort();
	for (int by = GROUP_FUNCTION; by <= GROUP_LABEL; by++) {
		struct flat *const r = flat_new(s, &(struct flat_options){
			(enum group_by)by, metric_find(&flat_views[0], "p95"),
			CCT_ALL_THREADS });

		if (r->self + r->root_self != sums.self)
			abort();
		flat_free(r);
	}
}

static void look(struct session *s)
{
	const struct cct_reroot o = { .by_coroutine = 1,
					 .thread = CCT_ALL_THREADS };
	struct cct *const t = cct_reroot(s->cct, &o);

	if (!cct_valid(s->cct) || !cct_valid(t))
		abort();
	flat_free(flat_new(s, &(struct flat_options){
		.sort = metric_find(&flat_views[0], "wall"),
		.thread = CCT_ALL_THREADS }));
	cct_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session *const s = session_new(200);
	const int events = size > 0 && data[size - 1] & 1;
	struct replay *const r = replay_new(s, events ? &sink : NULL, NULL);

	balance = 0;
	if (size > PACKED_HEAD && memcmp(data, PACKED_MAGIC, 6) == 0)
		feed_packed(r, data, size);
	else
		feed(r, data, size);
	replay_finish(r);
	if (balance != 0)
		abort();
	look(s);
	look_closer(s, size > 0 ? data[size - 1] : 0);
	replay_free(r);
	session_free(s);
	return 0;
}
