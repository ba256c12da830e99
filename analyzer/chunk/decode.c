/* decode.c - the checks that a chunk must pass. A chunk that fails any of them
 * is refused whole: a wrong word casts doubt on all others.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"
#include "analyzer/base/err.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHECKSUM_WORD = CHUNK_HEADER_WORDS - 1, MAX_LEVEL = 2,
       BUILD_ID_MAX = 20 };

/* Below this, sums and differences of ticks fit into 64 bits. */
#define TICK_MAX (UINT64_C(1) << 63)

/* What checking the items has found: sets of item offsets and of module
 * numbers, a bit each. */
struct found {
	uint64_t lua[CHUNK_MAX_WORDS / 64], name[CHUNK_MAX_WORDS / 64];
	uint64_t module[DICT_MAX_MODULES / 64];
	const uint64_t *stack;   /* the ITEM_STACK's head word, or NULL */
	const uint64_t *bodies;  /* where its segments end; NULL: none */
	const uint64_t *samples; /* the ITEM_SAMPLES' head word, or NULL */
	const uint64_t *counted; /* the ITEM_COUNTED's head word, or NULL */
};

/* i must be below the number of bits in the set. */
static bool is_in(const uint64_t *set, uint64_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static void put_in(uint64_t *set, uint64_t i)
{
	set[i / 64] |= UINT64_C(1) << (i % 64);
}

/* ---- header ---- */

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

/* Do the sizes agree with one another and with the words there are? That comes
 * first: all other checks, and the checksum, rely on them. */
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

/* The other fields of the header. Needs checked sizes. */
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

/* ---- items ---- */

/* Check n open-frame words of a stack. A frame is an OPERAND; 0 frames left out
 * would be a frame that stands for nothing. */
static int check_frames(const struct chunk *c, const uint64_t *frame,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t func = rec_func(frame[i]);

		if (rec_kind(frame[i]) != REC_OPERAND)
			return err_add("a stack's frame %zu is no frame", i);
		if (func != REC_FUNC_OMITTED && func >= c->header.funcs)
			return err_add("a stack's function %" PRIu32 " of %"
				       PRIu32, func, c->header.funcs);
		if (func == REC_FUNC_OMITTED && rec_gap(frame[i]) == 0)
			return err_add("a stack leaves out no frames");
	}
	return 0;
}

/* Check the string at *at in an item of n words and step over it. */
static int check_string(const uint64_t *item, size_t n, size_t *at)
{
	uint32_t stored;

	if (n - *at < STRING_HEAD_WORDS)
		return err_add("a string is cut short");
	stored = string_stored(item[*at]);
	if (stored > CHUNK_STRING_MAX || stored > string_length(item[*at]))
		return err_add("a string of %" PRIu64 " bytes stores %" PRIu32,
			       string_length(item[*at]), stored);
	if (n - *at < string_item_words(stored))
		return err_add("a string is cut short");
	*at += string_item_words(stored);
	return 0;
}

/* Check the word of a body that a tail call has replaced. */
static int check_body(const struct chunk *c, const uint64_t *word)
{
	if (rec_func(*word) == REC_FUNC_OMITTED)
		return err_add("a body is left out");
	return check_frames(c, word, 1);
}

/* A word for each segment; the thread's own has no body. */
static int check_bodies(const struct chunk *c, const uint64_t *word,
			size_t segments)
{
	if (word[0] != 0)
		return err_add("a thread has a body");
	for (size_t i = 1; i < segments; i++)
		if (word[i] != 0 && check_body(c, &word[i]) < 0)
			return -1;
	return 0;
}

/* Segment 0 is the thread's own; the others are of coroutines. */
static int check_stack(const struct chunk *c, const uint64_t *item,
		       size_t n, struct found *f)
{
	size_t at = 2;

	if (n < 2 || item[1] == 0)
		return err_add("the stack has no segments");
	for (uint64_t i = 0; i < item[1]; i++) {
		if (n - at < 2 || item[at + 1] > n - at - 2)
			return err_add("the stack is cut short");
		if ((item[at] == 0) != (i == 0))
			return err_add("the stack's segment %" PRIu64
				       " is of coroutine %" PRIu64, i,
				       item[at]);
		if (check_frames(c, item + at + 2, (size_t)item[at + 1]) < 0)
			return -1;
		at += 2 + (size_t)item[at + 1];
	}
	if (n - at < item[1])
		return 0;
	f->bodies = item + at;
	return check_bodies(c, f->bodies, (size_t)item[1]);
}

/* Each number means one module, and it fits into a word of the dictionary. */
static int check_module(const uint64_t *item, struct found *f)
{
	if (item[1] >= DICT_MAX_MODULES)
		return err_add("module number %" PRIu64 " is too high",
			       item[1]);
	if (is_in(f->module, item[1]))
		return err_add("module %" PRIu64 " is defined twice", item[1]);
	if ((item[4] & 255) > BUILD_ID_MAX)
		return err_add("a build-id of %u bytes",
			       (unsigned)(item[4] & 255));
	put_in(f->module, item[1]);
	return 0;
}

/* The pairs may overlap or lie outside the first one: whoever uses them cuts
 * them. */
static int check_offcpu(const uint64_t *item, size_t n)
{
	for (size_t i = 1; i + 1 < n; i += 2)
		if (item[i + 1] < item[i])
			return err_add("an off-CPU time ends before it begins");
		else if (item[i + 1] >= TICK_MAX)
			return err_add("an off-CPU time is beyond 2^63");
	return n % 2 == 1 ? 0 : err_add("an off-CPU time has no end");
}

/* A sample's place is a word of the dictionary's form. */
static bool is_place(uint64_t word, const struct found *f)
{
	return dict_kind(word) == DICT_CODE ||
	       (dict_kind(word) == DICT_NATIVE &&
		is_in(f->module, dict_module(word)));
}

/* Its modules come before it. The sums of a trace stay below 2^63. */
static int check_reference(const uint64_t *item, size_t n,
			   const struct found *f)
{
	if (item[1] < REFERENCE_RUN || item[1] > REFERENCE_ONLY)
		return err_add("a reference of the unknown kind %" PRIu64,
			       item[1]);
	if (n % 2 != 0)
		return err_add("a place of a reference has no count");
	if (item[2] == 0 || item[2] > UINT32_MAX || item[3] > UINT32_MAX)
		return err_add("a reference with samples that cannot be");
	for (size_t i = REFERENCE_HEAD; i < n; i += 2)
		if (!is_place(item[i], f) || item[i + 1] > UINT32_MAX)
			return err_add("place %zu of a reference cannot be",
				       i / 2);
	return 0;
}

/* Called when all modules of the chunk are known. */
static int check_samples(const struct chunk *c, const struct found *f)
{
	struct chunk_samples s;
	uint64_t last = 0;

	if (!decode_samples(c, &s))
		return 0;
	if (s.period == 0 || s.from < c->header.tick_begin || s.to < s.from ||
	    s.to > c->header.tick_end)
		return err_add("samples of a time that cannot be");
	for (size_t i = 0; i < s.n; i++) {
		const uint64_t tick = s.pair[2 * i];

		if (i > 0 ? tick <= last : tick < s.from)
			return err_add("sample %zu comes too early", i);
		if (tick > s.to)
			return err_add("sample %zu comes too late", i);
		if (!is_place(s.pair[2 * i + 1], f))
			return err_add("sample %zu is nowhere", i);
		last = tick;
	}
	return item_words(*c->samples) % 2 == 0 ? 0 :
		err_add("a sample has no place");
}

/* Check node i of the counted calls. That a parent comes before what hangs on
 * it leaves no circles. */
static int check_node(const struct chunk *c, const uint64_t *node, size_t i)
{
	const bool is_call = rec_kind(node[0]) == (enum rec_kind)COUNTED_CALL;

	if (rec_gap(node[0]) >= i)
		return err_add("counted calls %zu are by %" PRIu64, i,
			       rec_gap(node[0]));
	if (rec_kind(node[0]) == 0 ||
	    rec_kind(node[0]) > (enum rec_kind)COUNTED_OMITTED)
		return err_add("counted calls %zu are of kind %d", i,
			       (int)rec_kind(node[0]));
	if (is_call && rec_func(node[0]) >= c->header.funcs)
		return err_add("counted calls %zu are of function %" PRIu32
			       " of %" PRIu32, i, rec_func(node[0]),
			       c->header.funcs);
	if (!is_call && (node[1] == 0 || rec_func(node[0]) != 0))
		return err_add("counted calls %zu stand for nothing", i);
	return 0;
}

/* The sums of a chunk stay below 2^63. */
static int check_counted(const struct chunk *c, const uint64_t *item, size_t n,
			 struct found *f)
{
	uint64_t calls = 0;

	if (f->counted)
		return err_add("calls are counted twice");
	if (n % COUNTED_WORDS != 1)
		return err_add("counted calls are cut short");
	f->counted = item;
	for (size_t i = 1; i < n; i += COUNTED_WORDS) {
		if (check_node(c, item + i, 1 + i / COUNTED_WORDS) < 0)
			return -1;
		if (rec_kind(item[i]) != (enum rec_kind)COUNTED_CALL)
			continue;
		if (item[i + 1] >= TICK_MAX - calls)
			return err_add("counted calls are more than 2^63");
		calls += item[i + 1];
	}
	return 0;
}

/* Fields that all items of a type have: words before the strings, strings. */
static const struct layout { uint8_t words, strings; } layouts[] = {
	[ITEM_MODULE] = { 3 + BUILD_ID_WORDS, 1 },
	[ITEM_LUA] = { 1, 2 },
	[ITEM_NAME] = { 0, 1 },
	[ITEM_HINT] = { 1, 1 },
	[ITEM_LABEL] = { 0, 2 },
	[ITEM_PROCESS] = { 1, 1 },
	[ITEM_VM] = { 3, 0 },
	[ITEM_NOTE] = { 0, 2 },
	[ITEM_UNTOLD_RETURN] = { 1, 0 },
	[ITEM_SAMPLES] = { 3, 0 },
	[ITEM_REFERENCE] = { 3, 0 },
};

/* *end: the word behind the fields of the layout. */
static int check_layout(const uint64_t *item, size_t n, size_t *end)
{
	const size_t type = item_type(*item);
	const struct layout layout = type < sizeof(layouts) / sizeof(*layouts) ?
				     layouts[type] : (struct layout){ 0, 0 };
	size_t at = 1 + (size_t)layout.words;

	if (n < at)
		return err_add("it is cut short");
	for (int i = 0; i < layout.strings; i++)
		if (check_string(item, n, &at) < 0)
			return -1;
	*end = at;
	return 0;
}

static int check_hint(const struct chunk *c, const uint64_t *item)
{
	return item[1] < c->header.funcs ? 0 :
		err_add("a hint for function %" PRIu64, item[1]);
}

/* For what a chunk has once. */
static int keep(const uint64_t **kept, const uint64_t *item, const char *why)
{
	if (*kept)
		return err_add("%s", why);
	*kept = item;
	return 0;
}

/* Check one item, and remember what the dictionary may refer to. */
static int check_item(const struct chunk *c, const uint64_t *item,
		      size_t n, struct found *f)
{
	const uint64_t offset = (uint64_t)(item - c->items);
	size_t end = n;

	if (check_layout(item, n, &end) < 0)
		return -1;
	switch (item_type(*item)) {
	case ITEM_STACK:
		if (f->stack)
			return err_add("there are two stacks");
		f->stack = item;
		return check_stack(c, item, n, f);
	case ITEM_MODULE:
		return check_module(item, f);
	case ITEM_LUA:
		put_in(f->lua, offset);
		return end == n || item[end] <= CHUNK_ORDINAL_MAX ? 0 :
			err_add("an ordinal of %" PRIu64, item[end]);
	case ITEM_NAME:
		return put_in(f->name, offset), 0;
	case ITEM_HINT:
	case ITEM_UNTOLD_RETURN:
		return check_hint(c, item);
	case ITEM_OFFCPU:
		return check_offcpu(item, n);
	case ITEM_SWITCHES:
		return check_offcpu(item, n < 3 ? n : 3);
	case ITEM_SAMPLES:
		return keep(&f->samples, item, "there are two lists of "
			    "samples");
	case ITEM_REFERENCE:
		return check_reference(item, n, f);
	case ITEM_COUNTED:
		return check_counted(c, item, n, f);
	default:
		return 0;
	}
}

/* Items of unknown types are allowed, if their sizes are right: a later format
 * may add some. */
static int check_items(const struct chunk *c, struct found *f)
{
	for (size_t at = 0; at < c->header.items; ) {
		const uint64_t *const item = c->items + at;
		const uint64_t n = item_words(*item);

		if (n == 0 || n > c->header.items - at)
			return err_add("item at word %zu has %" PRIu64
				       " words", at, n);
		if (check_item(c, item, (size_t)n, f) < 0)
			return err_add("item at word %zu, type %d", at,
				       (int)item_type(*item));
		at += (size_t)n;
	}
	return 0;
}

/* ---- records ---- */

/* Add to the ticks that passed; they must stay within the chunk. */
static int pass(const struct chunk *c, uint64_t *passed, uint64_t gap)
{
	const uint64_t span = c->header.tick_end - c->header.tick_begin;

	if (gap > span - *passed)
		return err_add("records run past the chunk's end");
	*passed += gap;
	return 0;
}

/* Operands that must follow a record of each kind, without the words of a
 * RESUME's stack. */
static const uint8_t operands_of[1 << REC_KIND_BITS] = {
#define X(name, number, operands, meaning) [REC_##name] = operands,
	REC_LIST(X)
#undef X
};

size_t decode_record_words(const struct chunk *c, size_t i)
{
	const size_t first = i++;

	while (i < c->header.records && rec_kind(c->records[i]) == REC_OPERAND)
		i++;
	return i - first;
}

/* The stack follows the three operands that each RESUME has, and the body the
 * stack. */
static int check_resume(const struct chunk *c, size_t i, size_t n)
{
	const uint32_t flags = rec_func(c->records[i]);
	const uint64_t frames = rec_value(c->records[i + 3]);

	if (!(flags & RESUME_STACK))
		return frames == 0 ? 0 :
			err_add("record %zu: RESUME counts a stack it has not",
				i);
	if (frames > n - 4)
		return err_add("record %zu: RESUME's stack is cut short", i);
	if (flags & RESUME_BODY) {
		if (frames == n - 4)
			return err_add("record %zu: RESUME has no body", i);
		if (check_body(c, c->records + i + 4 + frames) < 0)
			return -1;
	}
	return check_frames(c, c->records + i + 4, (size_t)frames);
}

/* What a WAIT names: where its object lies, who calls, and where the mutex of a
 * condition lies. */
static int check_wait(const struct chunk *c, size_t i, size_t n)
{
	const bool has_mutex = rec_func(c->records[i]) == WAIT_CONDITION;

	for (size_t k = i + 3; k < i + n && k < i + (has_mutex ? 7 : 5); k++) {
		if (k == i + 5)
			continue;
		const uint64_t index = rec_value(c->records[k]);

		if (index != REC_FUNC_OMITTED && index >= c->header.funcs)
			return err_add("record %zu: WAIT names %" PRIu64
				       " of %" PRIu32, i, index,
				       c->header.funcs);
	}
	return 0;
}

uint64_t decode_heap_node(const struct chunk *c, size_t i, size_t n)
{
	const uint32_t what = rec_func(c->records[i]);

	return n > 6 && (what == HEAP_TAKE || what == HEAP_MOVE) ?
	       rec_value(c->records[i + 6]) : 0;
}

/* The operands of a HEAP, and who it says calls. */
static int check_heap(const struct chunk *c, size_t i, size_t n)
{
	static const size_t least[] = {
		[HEAP_TAKE - HEAP_TAKE] = 3, [HEAP_FREE - HEAP_TAKE] = 1,
		[HEAP_MOVE - HEAP_TAKE] = 5, [HEAP_COLLECTED - HEAP_TAKE] = 1 };
	const uint32_t what = rec_func(c->records[i]);
	uint64_t site;

	if (what < HEAP_TAKE || what > HEAP_COLLECTED)
		return 0;
	if (n - 1 < least[what - HEAP_TAKE])
		return err_add("record %zu: kind %d has %zu operands", i,
			       (int)REC_HEAP, n - 1);
	site = what == HEAP_TAKE || what == HEAP_MOVE ?
	       rec_value(c->records[i + 3]) : REC_FUNC_OMITTED;
	if (site != REC_FUNC_OMITTED && site >= c->header.funcs)
		return err_add("record %zu: HEAP names %" PRIu64 " of %" PRIu32,
			       i, site, c->header.funcs);
	if (decode_heap_node(c, i, n) > c->nodes)
		return err_add("record %zu: HEAP stands on node %" PRIu64
			       " of %zu", i, decode_heap_node(c, i, n),
			       c->nodes);
	return 0;
}

/* Frames follow the four operands that each NOTED has. */
static int check_noted(const struct chunk *c, size_t i, size_t n)
{
	const uint64_t frames = rec_value(c->records[i + 4]);

	if (frames > n - 5 || frames > NOTED_FRAMES)
		return err_add("record %zu: NOTED's frames are cut short", i);
	return check_frames(c, c->records + i + 5, (size_t)frames);
}

/* Is the record's function an index into the dictionary? In other kinds the
 * field holds flags or a reason. */
static bool has_func(enum rec_kind kind)
{
	return kind == REC_ENTER || kind == REC_LEAVE || kind == REC_LEAF ||
	       kind == REC_MARK || kind == REC_LEAVE_OLD;
}

/* Check the record at index i with its operands; *n: its length in words. */
static int check_record(const struct chunk *c, size_t i, size_t *n)
{
	const uint64_t word = c->records[i];
	const enum rec_kind kind = rec_kind(word);

	*n = decode_record_words(c, i);
	if (kind == 0 || kind == REC_OPERAND)
		return err_add("record %zu: kind %d begins no record", i,
			       (int)kind);
	if (*n - 1 < operands_of[kind])
		return err_add("record %zu: kind %d has %zu operands", i,
			       (int)kind, *n - 1);
	if (has_func(kind) && rec_func(word) >= c->header.funcs)
		return err_add("record %zu: function %" PRIu32 " of %" PRIu32,
			       i, rec_func(word), c->header.funcs);
	if (kind == REC_MARK &&
	    dict_kind(c->dict[rec_func(word)]) != DICT_NAME)
		return err_add("record %zu: a mark that is no name", i);
	return kind == REC_RESUME ? check_resume(c, i, *n) :
	       kind == REC_WAIT ? check_wait(c, i, *n) :
	       kind == REC_HEAP ? check_heap(c, i, *n) :
	       kind == REC_NOTED ? check_noted(c, i, *n) : 0;
}

/* Nearly all records are calls without operands: go to the first record from i
 * on that is none, or that is wrong. *ticks: what those before it take, which
 * is less than 2^64. */
static size_t check_calls(const struct chunk *c, size_t i, uint64_t *ticks)
{
	const uint64_t *const records = c->records;
	const size_t n = c->header.records;
	const uint32_t funcs = c->header.funcs;
	uint64_t sum = 0;

	for (; i < n; i++) {
		const uint64_t word = records[i], gap = rec_gap(word);
		const unsigned kind = rec_kind(word);

		if (kind - REC_ENTER > REC_LEAF - REC_ENTER ||
		    rec_func(word) >= funcs)
			break;
		sum += kind != REC_LEAF ? gap : rec_leaf_gap(word) +
					       rec_leaf_duration(word);
	}
	*ticks = sum;
	return i;
}

static int check_records(const struct chunk *c)
{
	uint64_t passed = 0, ticks;

	for (size_t i = 0, n; i < c->header.records; i += n) {
		i = check_calls(c, i, &ticks);
		if (pass(c, &passed, ticks) < 0)
			return -1;
		if (i == c->header.records)
			break;
		n = 1;
		/* An operand after a call: a later format adds it. */
		if (rec_kind(c->records[i]) == REC_OPERAND && i > 0)
			continue;
		if (check_record(c, i, &n) < 0 ||
		    pass(c, &passed, decode_record_ticks(c->records[i])) < 0)
			return -1;
	}
	return 0;
}

/* ---- dictionary ---- */

/* Does every entry refer to a module or item of the chunk? */
static int check_dict(const struct chunk *c, const struct found *f)
{
	for (uint32_t i = 0; i < c->header.funcs; i++) {
		const uint64_t word = c->dict[i];
		const uint64_t at = dict_item(word);
		bool ok = false;

		switch (dict_kind(word)) {
		case DICT_NATIVE:
			ok = is_in(f->module, dict_module(word));
			break;
		case DICT_CODE:
			ok = true;
			break;
		case DICT_LUA:
			ok = at < c->header.items && is_in(f->lua, at);
			break;
		case DICT_NAME:
			ok = at < c->header.items && is_in(f->name, at);
			break;
		}
		if (!ok)
			return err_add("function %" PRIu32 " is not described: "
				       "%016" PRIx64, i, word);
	}
	return 0;
}

static int check_seal(const uint64_t *words, size_t n)
{
	const struct chunk_header *const h = (const void *)words;

	return decode_checksum(words, n) == h->checksum ? 0 :
	       err_add("chunk is damaged: its checksum is wrong");
}

/* Describe the parts, and check all but the checksum; needs right sizes. */
static int check_parts(struct chunk *c, const uint64_t *words, size_t n)
{
	struct found f = { 0 };

	c->words = words;
	c->n = n;
	c->records = words + CHUNK_HEADER_WORDS;
	c->items = c->records + c->header.records;
	c->dict = c->items + c->header.items;
	if (check_header(&c->header) < 0 || check_items(c, &f) < 0)
		return -1;
	c->stack = f.stack;
	c->bodies = f.bodies;
	c->samples = f.samples;
	if (f.counted) {
		c->counted = f.counted + 1;
		c->nodes = item_words(*f.counted) / COUNTED_WORDS;
	}
	if (check_dict(c, &f) < 0 || check_records(c) < 0 ||
	    check_samples(c, &f) < 0)
		return -1;
	assert(c->dict + c->header.funcs == words + n);
	return 0;
}

static int decode(struct chunk *c, const uint64_t *words, size_t n,
		  bool is_sealed)
{
	memset(c, 0, sizeof(*c));
	if (n < CHUNK_HEADER_WORDS || n > CHUNK_MAX_WORDS)
		return err_add("no chunk: %zu words", n);
	memcpy(&c->header, words, sizeof(c->header));
	if (check_sizes(&c->header, n) < 0 ||
	    (!is_sealed && check_seal(words, n) < 0))
		return -1;
	return check_parts(c, words, n);
}

int decode_chunk(struct chunk *c, const uint64_t *words, size_t n)
{
	return decode(c, words, n, false);
}

int decode_sealed(struct chunk *c, const uint64_t *words, size_t n)
{
	return decode(c, words, n, true);
}

bool decode_samples(const struct chunk *c, struct chunk_samples *s)
{
	const uint64_t *const item = c->samples;

	if (!item)
		return false;
	s->period = item[1];
	s->from = item[2];
	s->to = item[3];
	s->pair = item + 4;
	s->n = (size_t)(item_words(*item) - 4) / 2;
	return true;
}

void decode_reference(const struct chunk_item *item, struct chunk_reference *r)
{
	r->kind = (enum reference_kind)item->word[1];
	r->ns = item->word[2];
	r->lost = item->word[3];
	r->pair = item->word + REFERENCE_HEAD;
	r->n = (item->n - REFERENCE_HEAD) / 2;
}
