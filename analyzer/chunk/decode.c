/* decode.c - what a chunk must keep to be believed: header, records, dictionary.
 * The items' own rules stand in view_items.c.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"
#include "analyzer/chunk/decode_check.h"
#include "analyzer/base/err.h"

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHECKSUM_WORD = CHUNK_HEADER_WORDS - 1, MAX_LEVEL = 2 };

/* Sums and differences of ticks then fit, and leave room for marks. */
#define TICK_MAX (UINT64_C(1) << 63)

uint64_t decode_checksum(const uint64_t *words, size_t n)
{
	const uint64_t zero = 0;
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, words, CHECKSUM_WORD * sizeof(*words));
	XXH3_64bits_update(&state, &zero, sizeof(zero));
	XXH3_64bits_update(&state, words + CHUNK_HEADER_WORDS,
			   (n - CHUNK_HEADER_WORDS) * sizeof(*words));
	return XXH3_64bits_digest(&state);
}

static int check_sizes(const struct chunk_header *h, size_t n)
{
	const uint64_t sum = (uint64_t)CHUNK_HEADER_WORDS + h->records +
			     h->items + h->funcs;

	if (h->magic != CHUNK_MAGIC)
		return err_add("no chunk: magic is %016" PRIx64, h->magic);
	if (h->version != CHUNK_VERSION)
		return err_add("chunk format version %" PRIu32 " is not known",
			       h->version);
	if (h->total_words != n)
		return err_add("chunk says %" PRIu64 " words and has %zu",
			       h->total_words, n);
	if (sum != n)
		return err_add("chunk's parts add up to %" PRIu64 " words, "
			       "not %zu", sum, n);
	if (h->records > CHUNK_MAX_RECORDS)
		return err_add("chunk has too many records: %" PRIu32,
			       h->records);
	return 0;
}

static int check_header(const struct chunk_header *h)
{
	if (h->level > MAX_LEVEL)
		return err_add("chunk of unknown level %" PRIu32, h->level);
	if (h->tick_end < h->tick_begin)
		return err_add("chunk ends before it begins");
	if (h->tick_end >= TICK_MAX)
		return err_add("chunk's ticks are beyond 2^63");
	if ((h->flags & CHUNK_META) && h->records > 0)
		return err_add("the recorder's own chunk has records");
	return 0;
}

/* Add to the ticks that passed; they must stay within the chunk. */
static int pass(const struct chunk *v, uint64_t *passed, uint64_t gap)
{
	const uint64_t span = v->header.tick_end - v->header.tick_begin;

	if (gap > span - *passed)
		return err_add("records run past the chunk's end");
	*passed += gap;
	return 0;
}

/* Operands that must follow a record of a kind; what a RESUME's stack adds is
 * checked apart. */
static size_t wanted_operands(enum rec_kind kind)
{
	switch (kind) {
#define X(name, number, operands, meaning) case REC_##name: return operands;
	REC_LIST(X)
#undef X
	}
	return 0;
}

size_t decode_record_words(const struct chunk *v, size_t i)
{
	const size_t first = i++;

	while (i < v->header.records && rec_kind(v->records[i]) == REC_OPERAND)
		i++;
	return i - first;
}

static int check_resume(const struct chunk *v, size_t i, size_t n)
{
	const uint64_t frames = rec_value(v->records[i + 3]);

	if (!(rec_func(v->records[i]) & RESUME_STACK))
		return frames == 0 ? 0 :
			err_add("record %zu: RESUME counts a stack it has not",
				i);
	if (frames > n - 4)
		return err_add("record %zu: RESUME's stack is cut short", i);
	return check_frames(v, v->records + i + 4, (size_t)frames);
}

static int has_func(enum rec_kind kind)
{
	return kind == REC_ENTER || kind == REC_LEAVE || kind == REC_LEAF ||
	       kind == REC_MARK || kind == REC_LEAVE_OLD;
}

/* Check the record at index i with its operands; gives its length in words. */
static int check_record(const struct chunk *v, size_t i, size_t *n)
{
	const uint64_t word = v->records[i];
	const enum rec_kind kind = rec_kind(word);

	*n = decode_record_words(v, i);
	if (kind == 0 || kind == REC_OPERAND)
		return err_add("record %zu: kind %d begins no record", i,
			       (int)kind);
	if (*n - 1 < wanted_operands(kind))
		return err_add("record %zu: kind %d has %zu operands", i,
			       (int)kind, *n - 1);
	if (has_func(kind) && rec_func(word) >= v->header.funcs)
		return err_add("record %zu: function %" PRIu32 " of %" PRIu32,
			       i, rec_func(word), v->header.funcs);
	if (kind == REC_MARK &&
	    dict_kind(v->dict[rec_func(word)]) != DICT_NAME)
		return err_add("record %zu: a mark that is no name", i);
	return kind == REC_RESUME ? check_resume(v, i, *n) : 0;
}

/* Ticks a record of a known kind takes; of a kind this reader does not know
 * the layout is not known either, but for the gap, which every kind that is
 * not TIME has. */
uint64_t decode_record_ticks(uint64_t word)
{
	switch (rec_kind(word)) {
	case REC_TIME:
		return rec_value(word);
	case REC_LEAF:
		return rec_leaf_gap(word) + rec_leaf_duration(word);
	default:
		return rec_gap(word);
	}
}

static int check_records(const struct chunk *v)
{
	uint64_t passed = 0;

	for (size_t i = 0, n; i < v->header.records; i += n) {
		const uint64_t word = v->records[i];
		const unsigned kind = rec_kind(word);

		/* Nearly all records are calls without operands. */
		if (kind - REC_ENTER <= REC_LEAF - REC_ENTER &&
		    rec_func(word) < v->header.funcs)
			n = 1;
		else if (rec_kind(word) == REC_OPERAND && i > 0)
			n = 1; /* after a call: from a later format */
		else if (check_record(v, i, &n) < 0)
			return -1;
		if (rec_kind(word) != REC_OPERAND &&
		    pass(v, &passed, decode_record_ticks(word)) < 0)
			return -1;
	}
	return 0;
}

int check_frames(const struct chunk *v, const uint64_t *frame,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t func = rec_func(frame[i]);

		if (rec_kind(frame[i]) != REC_OPERAND)
			return err_add("a stack's frame %zu is no frame", i);
		if (func != REC_FUNC_OMITTED && func >= v->header.funcs)
			return err_add("a stack's function %" PRIu32 " of %"
				       PRIu32, func, v->header.funcs);
		if (func == REC_FUNC_OMITTED && rec_gap(frame[i]) == 0)
			return err_add("a stack leaves out no frames");
	}
	return 0;
}

static int check_dict(const struct chunk *v, const struct decode_marks *m)
{
	for (uint32_t i = 0; i < v->header.funcs; i++) {
		const uint64_t word = v->dict[i];
		const uint64_t at = dict_item(word);
		int ok = 0;

		switch (dict_kind(word)) {
		case DICT_NATIVE:
			ok = is_marked(m->module, dict_module(word));
			break;
		case DICT_CODE:
			ok = 1;
			break;
		case DICT_LUA:
			ok = at < v->header.items && is_marked(m->lua, at);
			break;
		case DICT_NAME:
			ok = at < v->header.items && is_marked(m->name, at);
			break;
		}
		if (!ok)
			return err_add("function %" PRIu32 " is not described: "
				       "%016" PRIx64, i, word);
	}
	return 0;
}

int decode_chunk(struct chunk *v, const uint64_t *words, size_t n)
{
	struct decode_marks marks = { 0 };

	memset(v, 0, sizeof(*v));
	if (n < CHUNK_HEADER_WORDS || n > CHUNK_MAX_WORDS)
		return err_add("no chunk: %zu words", n);
	memcpy(&v->header, words, sizeof(v->header));
	if (check_sizes(&v->header, n) < 0)
		return -1;
	if (decode_checksum(words, n) != v->header.checksum)
		return err_add("chunk is damaged: its checksum is wrong");
	v->words = words;
	v->n = n;
	v->records = words + CHUNK_HEADER_WORDS;
	v->items = v->records + v->header.records;
	v->dict = v->items + v->header.items;
	if (check_header(&v->header) < 0 || check_items(v, &marks) < 0 ||
	    check_dict(v, &marks) < 0 || check_records(v) < 0)
		return -1;
	v->stack = marks.stack;
	return 0;
}
