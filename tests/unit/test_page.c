/* test_page.c - the page's data: names that would like to be HTML, trees that
 * are folded, and sessions that are too large for a page. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page.h"
#include "analyzer/tables/fold.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

#include <stdlib.h>

/* ---- names --------------------------------------------------------------- */

static char long_name[100 * 1024];

/* Frees the session. */
static void write_page(FILE *to, struct page p, struct session *s)
{
	struct flat *const flat = flat_new(s, NULL);
	struct callers *const callers = callers_new(s->cct,
						    func_count(s->funcs));

	p.flat = flat;
	p.callers = callers;
	page_write(to, &p);
	fclose(to);
	flat_free(flat);
	callers_free(callers);
	session_free(s);
}

/* The page of a session with these functions; the caller frees it. */
static char *page_of(const char *const *names, size_t count)
{
	struct session *const s = sessions_new(1000000000, names[0]);
	const node_id root = cct_root(s->cct, 0);
	char *text = NULL;
	size_t size;
	FILE *const to = open_memstream(&text, &size);
	const struct page p = { .session = s, .title = names[0],
				.head = names[0] };

	for (size_t i = 0; i < count; i++)
		sessions_calls(s, root, sessions_func(s, 1, i * 16 + 16,
						      names[i]), 1, 10);
	write_page(to, p, s);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part))) {
		text++;
		n++;
	}
	return n;
}

/* Where the data stand in a page, until the element ends. Inlined, gcc 12 takes
 * it for what may dangle. */
__attribute__((noinline)) static char *data_of(const char *page)
{
	const char *const begin = strstr(page, "id=\"data\">");
	const char *const end = begin ? strstr(begin, "</script") : NULL;

	return strndup(begin ? begin : page, end ? (size_t)(end - begin) : 0);
}

void test_page_has_no_html_from_names(void)
{
	static const char *const tame[] = { "a", "b", "c", "d", "e", "f" };
	static const char *const wild[] = {
		"</script><img src=x onerror=alert(1)>",
		"<!--<script>\"\\\x1b[31m\n;", "{{scripts}}{{data}}",
		"\xff\xfe \xe2\x80\xa8 \xe2\x80\xae", "=cmd|' /C'!A0",
		long_name };
	char *pages[2], *data[2];

	memset(long_name, '<', sizeof(long_name) - 1);
	pages[0] = page_of(tame, 6);
	pages[1] = page_of(wild, 6);
	for (int i = 0; i < 2; i++)
		data[i] = data_of(pages[i]);
	CHECK_EQ(count_of(pages[0], "<"), count_of(pages[1], "<"));
	CHECK_EQ(count_of(data[1], "<"), 0);
	CHECK(!strpbrk(data[1], "\x1b\x07"));
	/* The data end in the same way: no text ended early. */
	CHECK_STR(data[1] + strlen(data[1]) - 3, "}}\n");
	CHECK(strstr(data[1], "\"\\u003c/script>\\u003cimg src=x "
		     "onerror=alert(1)>\"") != NULL);
	CHECK(strstr(data[1], "\"\\u003c!--\\u003cscript>\\\"\\\\\\\\x1b[31m"
		     "\\\\x0a;\"") != NULL);
	CHECK(strstr(data[1], "\"\\\\xff\\\\xfe \\\\u2028 \\\\u202e\"") !=
	      NULL);
	for (int i = 0; i < 2; i++) {
		free(pages[i]);
		free(data[i]);
	}
}

/* A lane of a thread; the caller frees its spans. */
static struct track lane_of(uint32_t thread)
{
	struct track k = { .thread = thread, .runs = 1, .active = 100,
			   .from = 0, .to = 100, .count = 1 };

	k.spans = mem_alloc(sizeof(*k.spans));
	k.spans[0] = (struct span){ .end = 100, .kind = SPAN_ACTIVE,
				    .to = TRACK_NONE };
	return k;
}

/* Thread 1 waits from 10 to 60 for what thread 0 has, which has such a name. */
void test_page_tells_who_held_what_without_its_html(void)
{
	struct session *const s = sessions_new(1000000000, "t");
	struct track lanes[2] = { lane_of(0), lane_of(1) };
	const struct chronicle_found found = { .tracks = lanes, .count = 2,
					       .to = 100 };
	const func_id place = sessions_func(s, 1, 16,
					    "</script><img src=x>\x1b[31m");
	struct waits_span span = { .of = { 0, WAIT_MUTEX, 64, place },
		.begin = 10, .end = 60, .thread = 1, .owner = 7 };
	const struct waits waits = { .spans = &span, .span_count = 1 };
	const struct page_locks locks = { .waits = &waits };
	const struct page_memory memory = { 512, (double[]){ 1e30, 2.6 }, 2 };
	char *text = NULL, *data;
	size_t size;

	s->threads = realloc(s->threads, 2 * sizeof(*s->threads));
	s->threads[s->thread_count++] = s->threads[0];
	s->threads[0].tid = 7;
	cct_root(s->cct, 0);
	write_page(open_memstream(&text, &size), (struct page){ .session = s,
		.title = "t", .head = "", .moments = &found, .locks = &locks,
		.memory = &memory }, s);
	data = data_of(text);
	CHECK_EQ(count_of(data, "<"), 0);
	CHECK(strstr(data, "\"holds\":[[2,10,50,1,60,\"mutex "
		     "\\u003c/script>\\u003cimg src=x>\\\\x1b[31m\"]],\n"
		     "\"mean\":512,\n\"memory\":[1000000000000000000,3]}") !=
	      NULL);
	mem_free_all(lanes[0].spans, lanes[1].spans);
	free(text);
	free(data);
}

/* ---- folding ------------------------------------------------------------- */

/* calls, self and suspended of all nodes. */
static void add_up(struct cct *t, uint64_t sums[3])
{
	memset(sums, 0, 3 * sizeof(*sums));
	for (node_id id = 1; id <= cct_count(t); id++) {
		sums[0] += cct_get(t, id)->calls;
		sums[1] += cct_get(t, id)->self;
		sums[2] += cct_get(t, id)->suspended;
	}
}

static struct session *random_session(unsigned seed, size_t nodes)
{
	struct session *const s = sessions_new(1000000000, "t");
	char name[20];

	cct_root(s->cct, 0);
	while (cct_count(s->cct) < nodes) {
		const node_id parent = 1 + (node_id)rand_r(&seed) %
					   (node_id)cct_count(s->cct);

		snprintf(name, sizeof(name), "f%d", rand_r(&seed) % 50);
		sessions_node(s, parent, name,
			      rand_r(&seed) % 10 == 0 ? CCT_BODY : 0, 1,
			      (ticks)rand_r(&seed) % 3, (ticks)rand_r(&seed) %
			      2);
	}
	return s;
}

void test_page_fold_keeps_sums_and_what_is_largest(void)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct session *const s = random_session(seed, 600);
		struct fold *const f = fold_new(s, 100);
		const func_id other = func_special(s->funcs, "(other)");
		uint64_t whole[3], folded[3], stacks = 0, in_other = 0;
		size_t kept = 0;

		add_up(s->cct, whole);
		add_up(f->tree, folded);
		CHECK(memcmp(whole, folded, sizeof(whole)) == 0);
		CHECK(cct_valid(f->tree));
		for (node_id id = 1; id <= cct_count(f->tree); id++) {
			const bool is_other =
				cct_get(f->tree, id)->func == other;

			stacks += f->stacks[id];
			in_other += is_other ? f->stacks[id] : 0;
			kept += !is_other;
			CHECK(is_other || f->stacks[id] == 1);
			CHECK(!is_other || !cct_get(f->tree, id)->child);
		}
		CHECK_EQ(kept, 100);
		CHECK_EQ(stacks, 600);
		CHECK_EQ(in_other, f->folded);
		CHECK_EQ(f->folded, 500);
		fold_free(f);
		session_free(s);
	}
}

/* With fewer stacks than may be kept, the tree is as it was. */
void test_page_fold_leaves_small_trees_alone(void)
{
	struct session *const s = random_session(3, 80);
	struct fold *const f = fold_new(s, 80);

	CHECK_EQ(cct_count(f->tree), 80);
	CHECK_EQ(f->folded, 0);
	fold_free(f);
	session_free(s);
}

/* ---- size ---------------------------------------------------------------- */

/* The number before `text` where that is first; 0 if it is nowhere. Its digits
 * are in groups. */
static size_t number_before(const char *page, const char *text)
{
	const char *const end = strstr(page, text);
	const char *at = end;
	size_t number = 0;

	while (end && at > page && (at[-1] == ',' ||
				    (at[-1] >= '0' && at[-1] <= '9')))
		at--;
	for (; end && at < end; at++)
		number = *at == ',' ? number : number * 10 +
			 (size_t)(*at - '0');
	return number;
}

/* How many numbers, or texts without commas, there are in the array that begins
 * after `begin`. */
static size_t elements(const char *page, const char *begin)
{
	const char *at = strstr(page, begin);
	size_t n = 1;

	for (at += strlen(begin); *at != ']' && *at != '\0'; at++)
		n += *at == ',';
	return n;
}

/* Functions whose names are of so many bytes, stacks and threads. */
static char *large_page(size_t functions, size_t length, size_t stacks,
			uint32_t threads, size_t *size)
{
	struct session *const s = sessions_new(1000000000, "t");
	char *const name = calloc(1, length + 1), *text = NULL;
	FILE *const to = open_memstream(&text, size);
	const struct page p = { .session = s, .title = "t", .head = "" };
	func_id *const ids = calloc(functions, sizeof(*ids));
	unsigned seed = 1;

	s->threads = realloc(s->threads, threads * sizeof(*s->threads));
	for (uint32_t i = 0; i < threads; i++) {
		s->threads[i] = s->threads[0];
		cct_root(s->cct, i);
	}
	s->thread_count = threads;
	memset(name, '<', length);
	for (size_t i = 0; i < functions; i++) {
		snprintf(name, 12, "%u", (unsigned)i);
		name[strlen(name)] = '_';
		ids[i] = sessions_func(s, 1, i * 16 + 16, name);
	}
	for (size_t i = 0; cct_count(s->cct) < stacks; i++)
		sessions_calls(s, 1 + (node_id)rand_r(&seed) %
			       (node_id)cct_count(s->cct), ids[i % functions],
			       1, (ticks)rand_r(&seed) % 100000);
	write_page(to, p, s);
	free(ids);
	free(name);
	return text;
}

/* How many are missing, of so many, as the data say. */
static size_t lacks(const char *data, size_t of, const char *nouns)
{
	char text[60];

	snprintf(text, sizeof(text), " of %zu,000 %s", of / 1000, nouns);
	return number_before(data, text);
}

void test_page_is_never_larger_than_its_limit(void)
{
	static const struct {
		size_t functions, length, stacks;
		uint32_t threads;
		bool lacks_names, lacks_rows;
	} cases[] = {
		{ 50, 100 * 1024, 2000, 2, false, false },
		{ 100000, 300, 110000, 2, true, true },
		{ 10, 10, 220000, 20000, false, false },
		{ 80000, 260, 5002, 2, true, false },
		/* with DEEP=1 */
		{ 600000, 12, 601000, 2, true, true },
		{ 2500000, 12, 5002, 2, true, false },
	};
	const size_t all = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < (getenv("DEEP") ? all : all - 2); i++) {
		size_t size;
		char *const page = large_page(cases[i].functions,
			cases[i].length, cases[i].stacks, cases[i].threads,
			&size);
		char *const data = data_of(page);
		const size_t nodes = cases[i].stacks - cases[i].threads;
		const size_t called = cases[i].functions < nodes ?
				      cases[i].functions : nodes;
		const size_t rows = lacks(data, called, "rows");

		CHECK(size <= PAGE_BYTES);
		CHECK_STR(data + strlen(data) - 3, "}}\n");
		CHECK_EQ(lacks(data, called, "names") > 0,
			 cases[i].lacks_names);
		/* What is said to be missing, and what is there. */
		CHECK_EQ(rows > 0, cases[i].lacks_rows);
		CHECK_EQ(elements(strstr(data, "\"table\":"), "\"func\":[") +
			 rows, called);
		free(data);
		free(page);
	}
}
