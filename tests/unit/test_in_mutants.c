/* test_in_mutants.c - a small trace, damaged in many ways: whatever stands in
 * its files whole is read, nothing else is, and what is missing is said.
 * SPDX-License-Identifier: MIT */
#define main write_trace
#include "tests/prog/p_write_trace.c"
#undef main

#include "analyzer/base/err.h"
#include "analyzer/chunk/decode.h"
#include "analyzer/chunk/unpack.h"
#include "analyzer/in/in.h"
#include "tests/test.h"

#include <time.h>

enum { MAX_CHUNKS = 256, MAX_BYTES = 1 << 20, SECONDS = 100 };

/* ---- the trace's files, as they were and as they are now ---- */

static struct { const char *name; size_t size, was_size; int is_gone;
		unsigned char *now, *was; } files[] = {
	{ .name = "ctf/ust/uid/0/64-bit/metadata" },
	{ .name = "ctf/ust/uid/0/64-bit/weft_0" },
	{ .name = "ctf/ust/uid/0/64-bit/weft_1" },
	{ .name = "ctf/ust/uid/0/64-bit/index/weft_0.idx" },
	{ .name = "ctf/ust/uid/0/64-bit/index/weft_1.idx" },
	{ .name = "spill.weft" },
};
enum { METADATA, STREAM, STREAM1, INDEX, INDEX1, SPILL, FILES };

/* bytes: as it lies in a file */
static struct { uint64_t words[CHUNK_MAX_WORDS]; size_t n; int is_whole, given;
		char bytes[PACKED_MAX_WORDS * 8]; size_t size;
		struct chunk_header header; } *chunks_made;
static size_t chunk_count;

static char *path_of(size_t file)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/%s", dir, files[file].name);
	return path;
}

static void load(size_t i)
{
	FILE *const f = fopen(path_of(i), "r");

	files[i].was = calloc(1, MAX_BYTES);
	files[i].now = calloc(1, MAX_BYTES);
	files[i].is_gone = !f;
	if (!f)
		return;
	files[i].was_size = fread(files[i].was, 1, MAX_BYTES, f);
	fclose(f);
}

/* The bytes of the chunk that begins there; 0: none does. */
static size_t find_chunk(uint64_t *words, const unsigned char *p, size_t size)
{
	const uint64_t magic = CHUNK_MAGIC;
	struct packed_head head;

	if (memcmp(p, PACKED_MAGIC, 6) == 0) {
		CHECK(unpack_chunk(words, (const char *)p, size, &head) > 0);
		return packed_size(&head);
	}
	if (memcmp(p, &magic, 8) != 0)
		return 0;
	memcpy(words, p, CHUNK_HEADER_WORDS * 8);
	memcpy(words, p, words[2] * 8);
	return words[2] * 8;
}

static void find_chunks(const unsigned char *bytes, size_t size)
{
	for (size_t at = 0; at + 256 <= size; at++) {
		const size_t c = chunk_count;
		const size_t n = find_chunk(chunks_made[c].words, bytes + at,
					    size - at);

		if (n == 0)
			continue;
		memcpy(&chunks_made[c].header, chunks_made[c].words, 256);
		memcpy(chunks_made[c].bytes, bytes + at, n);
		chunks_made[c].size = n;
		chunks_made[chunk_count++].n =
			chunks_made[c].header.total_words;
		at += n - 1;
	}
}

/* Make a trace; args end with NULL. form: p_write_trace's packed. */
static void make(const char *const *args, unsigned form)
{
	static char folder[] = "/tmp/weft-mutant-XXXXXX";
	char *argv[16] = { folder, mkdtemp(folder) };
	int argc = 2;
	FILE *const out = stdout;

	while (args[argc - 2]) {
		static char text[16][40];

		snprintf(text[argc], sizeof(text[argc]), "%s", args[argc - 2]);
		argv[argc] = text[argc];
		argc++;
	}
	packed = (unsigned)form;
	stdout = fopen("/dev/null", "w");
	write_trace(argc, argv);
	stdout = out;
	chunks_made = calloc(MAX_CHUNKS, sizeof(*chunks_made));
	for (size_t i = 0; i < FILES; i++) {
		load(i);
		if (i == STREAM || i == STREAM1 || i == SPILL)
			find_chunks(files[i].was, files[i].was_size);
	}
}

static void heal(void)
{
	for (size_t i = 0; i < FILES; i++) {
		files[i].size = files[i].was_size;
		files[i].is_gone = files[i].was_size == 0;
		memcpy(files[i].now, files[i].was, MAX_BYTES);
	}
}

static void write_files(void)
{
	for (size_t i = 0; i < FILES; i++) {
		FILE *f;

		unlink(path_of(i));
		if (files[i].is_gone || !(f = fopen(path_of(i), "w")))
			continue;
		fwrite(files[i].now, 1, files[i].size, f);
		fclose(f);
	}
}

/* ---- what must come of it ---- */

static int same_identity(const struct chunk_header *a,
			 const struct chunk_header *b)
{
	return a->process == b->process && a->thread == b->thread &&
	       a->number == b->number;
}

/* Is another chunk of the same identity there, and the better one? */
static int has_better(size_t i)
{
	for (size_t k = 0; k < chunk_count; k++)
		if (k != i && chunks_made[k].is_whole &&
		    chunks_made[k].n > chunks_made[i].n &&
		    same_identity(&chunks_made[k].header,
				  &chunks_made[i].header))
			return 1;
	return 0;
}

static void find_whole(void)
{
	for (size_t i = 0; i < chunk_count; i++) {
		chunks_made[i].given = chunks_made[i].is_whole = 0;
		for (size_t f = 0; f < FILES; f++)
			if (!files[f].is_gone &&
			    memmem(files[f].now, files[f].size,
				   chunks_made[i].bytes, chunks_made[i].size))
				chunks_made[i].is_whole = 1;
	}
}

static uint64_t due[64]; /* number, by thread */
static int is_open[64];  /* the thread's last chunk is not CHUNK_LAST */
static int out_of_order, strangers, gaps, has_end;

static int take(void *ctx, const struct chunk *chunk)
{
	const uint32_t t = chunk->header.thread % 64;
	size_t i = 0;

	(void)ctx;
	while (i < chunk_count &&
	       (chunks_made[i].n != chunk->n ||
		memcmp(chunks_made[i].words, chunk->words, chunk->n * 8) != 0))
		i++;
	if (i == chunk_count)
		strangers++;
	else
		chunks_made[i].given++;
	out_of_order += chunk->header.number < due[t];
	gaps += chunk->header.number > due[t];
	due[t] = chunk->header.number + 1;
	is_open[t] = t && !(chunk->header.flags & CHUNK_LAST);
	has_end |= (chunk->header.flags & CHUNK_META) &&
		   chunk->header.number == 1;
	return 0;
}

static int check(const char *what, long detail)
{
	const time_t began = time(NULL);
	struct in_summary s;
	size_t missing = 0, wrong = 0, whole = 0;
	int rc, open = 0;

	memset(due, 0, sizeof(due));
	memset(is_open, 0, sizeof(is_open));
	out_of_order = strangers = gaps = has_end = 0;
	write_files();
	find_whole();
	rc = in_read(dir, take, NULL, &s);
	err_clear();
	for (size_t i = 0; i < chunk_count; i++) {
		const int wanted = chunks_made[i].is_whole && !has_better(i);

		whole += (size_t)wanted;
		wrong += chunks_made[i].given != wanted;
		missing += !wanted && !has_better(i);
	}
	for (int t = 0; t < 64; t++)
		open += is_open[t];
	/* Of a chunk that is gone, the number is missing, or something was
	 * seen to be wrong, or the recorder's last word is gone with it, or
	 * the thread does not end as threads end: reports then miss records
	 * that the recorder counted. */
	if (CHECK(!wrong) && CHECK(!strangers) && CHECK(!out_of_order) &&
	    CHECK_EQ(rc == 0, whole > 0) &&
	    CHECK(!missing || rc || gaps || !has_end || open ||
		  s.bad || s.trouble[0]) &&
	    CHECK(time(NULL) - began < SECONDS))
		return 1;
	printf("%s %ld: wrong %zu strangers %d order %d rc %d whole %zu "
	       "missing %zu gaps %d bad %llu trouble \"%s\" reader %s\n", what,
	       detail, wrong, strangers, out_of_order, rc, whole, missing, gaps,
	       (unsigned long long)s.bad, s.trouble, s.reader);
	return 0;
}

/* ---- small helpers ---- */

/* Sanitizers look at other damage. */
#ifdef __SANITIZE_ADDRESS__
static uint32_t seed = 54321;
#else
static uint32_t seed = 12345;
#endif

/* A third of them, and all with DEEP=1. */
static int some_of(int n)
{
	return getenv("DEEP") ? n : n / 3;
}

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void flip(size_t file, size_t at)
{
	files[file].now[at] ^= (unsigned char)(1u << any(8));
}

static const char *const small[] = { "threads=3", "chunks=6", "records=150",
				     "cpus=2", "coroutines=1", "partials=4",
				     "rotate=1", "twins=1", NULL };

static void clean_up(void)
{
	char command[4200];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		puts("cannot remove the trace");
}

/* ---- tests ---- */

static void whole_trace_goes_through_babeltrace(unsigned form)
{
	struct in_summary s;

	make(small, form);
	heal();
	CHECK(check("whole", 0));
	CHECK_EQ(in_read(dir, take, NULL, &s), 0);
	CHECK(strncmp(s.reader, "babeltrace2", 11) == 0);
	CHECK(!strstr(s.reader, "carver"));
	CHECK_STR(s.trouble, "");
	CHECK_EQ(s.bad, 0);
	CHECK(s.duplicates > 0); /* the PARTIAL ones */
	clean_up();
}

void test_in_metadata_cut_anywhere(void)
{
	const size_t step = (size_t)61 * 61 / (size_t)some_of(61);

	make(small, 1);
	const size_t all = files[METADATA].was_size;

	for (size_t n = 0; n < all; n += n < 40 ? 1 : step) {
		heal();
		files[METADATA].size = n;
		check("metadata cut at", (long)n);
	}
	heal();
	files[METADATA].is_gone = 1;
	check("no metadata", 0);
	clean_up();
}

void test_in_metadata_flipped(void)
{
	make(small, 1);
	for (int i = 0; i < some_of(150); i++) {
		const size_t at = any((uint32_t)files[METADATA].was_size);

		heal();
		flip(METADATA, at);
		check("metadata flipped at", (long)at);
	}
	clean_up();
}

static void stream_cut(unsigned form)
{
	make(small, form);
	for (int i = 0; i < some_of(120); i++) {
		const size_t all = files[STREAM].was_size;

		heal();
		files[STREAM].size = i % 3 == 0 ? all - (size_t)i / 3 - 1 :
				     any((uint32_t)all);
		files[INDEX].is_gone = i % 2;
		check("stream cut to", (long)files[STREAM].size);
	}
	heal();
	files[STREAM].is_gone = 1;
	check("no stream", 0);
	clean_up();
}

static void stream_flipped(unsigned form)
{
	make(small, form);
	for (int i = 0; i < some_of(200); i++) {
		/* Every other one in a packet's or an event's head. */
		const size_t at = i % 2 ? any(140) :
				  any((uint32_t)files[STREAM].was_size);

		heal();
		flip(STREAM, at);
		if (i % 3 == 0)
			flip(STREAM1, any((uint32_t)files[STREAM1].was_size));
		check("stream flipped at", (long)at);
	}
	clean_up();
}

static void stream_overwritten(unsigned form)
{
	make(small, form);
	for (int i = 0; i < some_of(100); i++) {
		const size_t all = files[STREAM].was_size;
		const size_t at = any((uint32_t)all);
		const size_t n = any((uint32_t)(all - at));
		const size_t from = any((uint32_t)(all - n));

		heal();
		if (i % 2)
			memset(files[STREAM].now + at, 0, n);
		else
			memmove(files[STREAM].now + at,
				files[STREAM].now + from, n);
		check("stream overwritten at", (long)at);
	}
	clean_up();
}

void test_in_index_damaged_or_gone(void)
{
	make(small, 1);
	for (int i = 0; i < some_of(100); i++) {
		const size_t at = any((uint32_t)files[INDEX].was_size);

		heal();
		if (i == 0)
			files[INDEX].is_gone = 1;
		else if (i < 20)
			files[INDEX].size = at;
		else
			flip(INDEX, at);
		check("index damaged at", (long)at);
	}
	clean_up();
}

static void spill_beside_ctf(unsigned form)
{
	static const char *const spilled[] = {
		"threads=3", "chunks=9", "records=150", "coroutines=1",
		"partials=4", "spill_from=5", "rotate=1", "twins=1", NULL };

	make(spilled, form);
	heal();
	check("spill whole", 0);
	for (int i = 0; i < some_of(120); i++) {
		const size_t at = any((uint32_t)files[SPILL].was_size);

		heal();
		if (i % 2)
			files[SPILL].size = at;
		else
			flip(SPILL, at);
		check("spill damaged at", (long)at);
	}
	heal();
	files[METADATA].size = 0;
	check("spill, and no metadata", 0);
	clean_up();
}

void test_in_gap_does_not_stall(void)
{
	static const char *const late[] = {
		"threads=2", "chunks=40", "records=150", "first_number=7",
		NULL };

	make(late, 2);
	heal();
	check("numbers from 7 on", 0);
	clean_up();
}

/* Each in version 1 of the format and packed. */
#define IN_FORMS(name)                                                         \
	void test_in_##name##_in_words(void) { name(0); }                      \
	void test_in_##name##_plain(void) { name(1); }                         \
	void test_in_##name##_compressed(void) { name(3); }
IN_FORMS(whole_trace_goes_through_babeltrace)
IN_FORMS(stream_cut)
IN_FORMS(stream_flipped)
IN_FORMS(stream_overwritten)
IN_FORMS(spill_beside_ctf)
