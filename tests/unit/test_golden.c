/* test_golden.c - the bytes of released formats: what was written once stays
 * readable, and means the same; what was refused stays refused, and why.
 * good/NAME.bin: chunks back to back, in version 2 packed, as in a spill file;
 * NAME.txt: the stacks they must give.
 * bad/NAME.bin: one chunk; NAME.txt: a part of the diagnosis.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/chunk/unpack.h"
#include "analyzer/replay/replay.h"
#include "tests/test.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *n)
{
	FILE *const f = fopen(path, "rb");
	char *const bytes = calloc(1, 1 << 20);

	if (!CHECK(f))
		return bytes;
	*n = fread(bytes, 1, (1 << 20) - 1, f);
	fclose(f);
	return bytes;
}

static char *text_beside(const char *path)
{
	char text[512];
	size_t n;

	snprintf(text, sizeof(text), "%.*s.txt", (int)strlen(path) - 4, path);
	return read_file(text, &n);
}

static void name_of(struct session *s, func_id id, char *out)
{
	const struct func *const f = func_get(s->funcs, id);

	if (f->kind == FUNC_LUA && f->ordinal)
		sprintf(out, "%.100s:%u#%u", f->source, f->line,
			f->ordinal + 1);
	else if (f->kind == FUNC_LUA)
		sprintf(out, "%.100s:%u", f->source, f->line);
	else if (f->kind == FUNC_NATIVE)
		sprintf(out, "%.100s+%#" PRIx64,
			func_elf(s->funcs, f->module)->path, f->offset);
	else if (f->kind == FUNC_CODE)
		sprintf(out, "%#" PRIx64, f->offset);
	else
		sprintf(out, "%.100s", f->name);
}

static void path_of(struct session *s, node_id id, char *out)
{
	const struct cct_node *const n = cct_get(s->cct, id);

	if (!n->parent) {
		sprintf(out, "thread %u", s->threads[n->thread].serial);
		return;
	}
	path_of(s, n->parent, out);
	strcat(out, n->flags & CCT_BODY ? ";~" : ";");
	name_of(s, n->func, out + strlen(out));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Sorted lines, since the order of nodes is not part of the format. */
static char *tree_text(struct session *s)
{
	const size_t n = cct_count(s->cct);
	char (*const line)[1024] = calloc(n + 1, sizeof(*line));
	char *const text = calloc(n + 1, 1024);

	for (node_id id = 1; id <= n; id++) {
		const struct cct_node *const c = cct_get(s->cct, id);

		path_of(s, id, line[id - 1]);
		sprintf(line[id - 1] + strlen(line[id - 1]),
			" calls %" PRIu64 " self %" PRIu64 " suspended %"
			PRIu64 "\n", c->calls, c->self, c->suspended);
	}
	qsort(line, n, sizeof(*line), by_text);
	for (size_t i = 0; i < n; i++)
		strcat(text, line[i]);
	free(line);
	return text;
}

/* View the first chunk of n bytes. Returns the bytes to the next one; 0: it is
 * refused. */
static size_t view_words(struct chunk *v, const char *bytes, size_t n)
{
	const struct chunk_header *const h = (const void *)bytes;
	const size_t size = n >= sizeof(*h) && h->total_words < n / 8 ?
			    (size_t)h->total_words * 8 : n / 8 * 8;

	return decode_chunk(v, (const uint64_t *)bytes, size / 8) == 0 ?
	       size : 0;
}

static size_t view_packed(struct chunk *v, const char *bytes, size_t n)
{
	static uint64_t words[CHUNK_MAX_WORDS];
	struct packed_head head;
	const int got = unpack_chunk(words, bytes, n, &head);

	if (got < 0 || decode_chunk(v, words, (size_t)got) != 0)
		return 0;
	return packed_size(&head) / 8 * 8 + 8;
}

typedef size_t view_fn(struct chunk *v, const char *bytes, size_t n);

static void check_good(const char *path, view_fn view)
{
	size_t n = 0, at = 0;
	char *const bytes = read_file(path, &n);
	char *const want = text_beside(path);
	struct session *const s = session_new(0);
	struct replay *const r = replay_new(s, NULL, NULL);
	char *got;

	while (at < n) {
		struct chunk v;
		const size_t size = view(&v, bytes + at, n - at);

		if (!CHECK(size > 0 && size <= n - at)) {
			err_print(stdout, path);
			break;
		}
		replay_chunk(r, &v);
		at += size;
	}
	replay_finish(r);
	got = tree_text(s);
	if (!CHECK_STR(got, want))
		printf("in %s\n", path);
	CHECK_EQ(s->unnested, 0);
	free(got);
	free(want);
	free(bytes);
	replay_free(r);
	session_free(s);
}

static void check_bad(const char *path, view_fn view)
{
	char text[1024] = "";
	size_t n = 0;
	char *const bytes = read_file(path, &n);
	char *const want = text_beside(path);
	FILE *const f = fmemopen(text, sizeof(text), "w");
	struct chunk v;

	want[strcspn(want, "\n")] = '\0';
	CHECK_EQ(view(&v, bytes, n), 0);
	err_print(f, "golden");
	fclose(f);
	if (!CHECK(*want && strstr(text, want)))
		printf("%s: got %swanted %s\n", path, text, want);
	free(bytes);
	free(want);
}

static void each(const char *pattern, void check(const char *, view_fn),
		 view_fn view, size_t least)
{
	glob_t g;

	REQUIRE(glob(pattern, 0, NULL, &g) == 0);
	CHECK(g.gl_pathc >= least);
	for (size_t i = 0; i < g.gl_pathc; i++)
		check(g.gl_pathv[i], view);
	globfree(&g);
}

void test_golden_v1_good(void)
{
	each("tests/golden/v1/good/*.bin", check_good, view_words, 3);
}

void test_golden_v1_bad(void)
{
	each("tests/golden/v1/bad/*.bin", check_bad, view_words, 8);
}

void test_golden_v2_good(void)
{
	each("tests/golden/v2/good/*.bin", check_good, view_packed, 6);
}

void test_golden_v2_bad(void)
{
	each("tests/golden/v2/bad/*.bin", check_bad, view_packed, 20);
}
