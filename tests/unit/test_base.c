/* test_base.c - the hash map, arenas, growing arrays, and the chain of causes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Instead of libc's: there is memory for so many streams only. */
static int streams_left = 1000;

FILE *open_memstream(char **text, size_t *size)
{
	FILE *(*libc)(char **, size_t *);

	*(void **)&libc = dlsym(RTLD_NEXT, "open_memstream");
	return streams_left-- > 0 ? libc(text, size) : NULL;
}

void test_map_finds_what_was_put(void)
{
	struct map *const m = map_new();

	CHECK_EQ(map_find(m, 0, 0), 0);
	for (uint32_t i = 1; i <= 10000; i++)
		*map_put(m, i % 100, i / 100) = i;
	CHECK_EQ(map_count(m), 10000);
	for (uint32_t i = 1; i <= 10000; i++)
		CHECK_EQ(map_find(m, i % 100, i / 100), i);
	CHECK_EQ(*map_put(m, 5, 0), 5);
	CHECK_EQ(map_find(m, 100, 0), 0);
	map_clear(m);
	CHECK_EQ(map_find(m, 5, 0), 0);
	CHECK_EQ(map_count(m), 0);
	map_free(m);
}

void test_map_removes_and_keeps_the_rest(void)
{
	struct map *const m = map_new();

	for (uint64_t round = 0; round < 50; round++) {
		for (uint32_t i = 1; i <= 300; i++)
			*map_put(m, i * (round + 1), i) = i;
		for (uint32_t i = 1; i <= 300; i += 2)
			map_remove(m, i * (round + 1), i);
		map_remove(m, 12345678, 0);
		for (uint32_t i = 1; i <= 300; i++)
			CHECK_EQ(map_find(m, i * (round + 1), i),
				 i % 2 ? 0 : i);
		for (uint32_t i = 2; i <= 300; i += 2)
			map_remove(m, i * (round + 1), i);
		CHECK_EQ(map_count(m), 0);
	}
	map_free(m);
}

void test_mem_arenas_give_zeroed_memory(void)
{
	struct arena *const a = arena_new();
	size_t sizes[] = { 1, 7, 8, 100, 20000, 100000, 3, 70000, 65000 };

	for (size_t round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			char *const p = arena_alloc(a, sizes[i]);

			CHECK_EQ((uintptr_t)p % 8, 0);
			CHECK_EQ(p[0] | p[sizes[i] - 1], 0);
			memset(p, 0xff, sizes[i]);
		}
	CHECK_STR(arena_copy(a, "abcdef", 3), "abc");
	CHECK_STR(arena_copy(a, NULL, 0), "");
	arena_free(a);
	arena_free(NULL);
}

void test_mem_arrays_grow(void)
{
	int *array = NULL;
	size_t room = 0;

	for (size_t i = 0; i < 1000; i++) {
		vec_need(&array, &room, i + 1);
		array[i] = (int)i;
	}
	CHECK(room >= 1000);
	for (size_t i = 0; i < 1000; i++)
		CHECK_EQ(array[i], i);
	mem_free(array);
}

static const char *printed(const char *command)
{
	static char text[4096];
	FILE *const f = fmemopen(text, sizeof(text), "w");

	text[0] = '\0';
	err_print(f, command);
	fclose(f);
	return text;
}

void test_err_prints_the_outermost_cause_first(void)
{
	CHECK_STR(printed("x"), "");
	CHECK_EQ(err_add("no such %s", "file"), -1);
	err_add("cannot open \"t\"");
	CHECK_STR(printed("report"),
		  "weft: report: cannot open \"t\": no such file\n");
	CHECK_STR(printed("report"), "");
	err_add("x");
	err_clear();
	CHECK_STR(printed("report"), "");
}

void test_err_shows_bytes_that_could_harm(void)
{
	err_add("a\x1b[2J\n\x80\xc3\xa9\xc2\x9b\xed\xa0\x80");
	CHECK_STR(printed("x"), "weft: x: a\\x1b[2J\\x0a\\x80\xc3\xa9"
		  "\\xc2\\x9b\\xed\\xa0\\x80\n");
}

void test_err_survives_many_causes(void)
{
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		err_add("%s", text);
	CHECK(strlen(printed("x")) > 1000);
}

void test_mem_stream_gives_what_was_written(void)
{
	struct mem_stream s;
	char *text;

	mem_stream_begin(&s);
	fprintf(s.to, "%d and %s", 12, "more");
	text = mem_stream_end(&s);
	CHECK_STR(text, "12 and more");
	mem_free(text);
	mem_stream_begin(&s);
	text = mem_stream_end(&s);
	CHECK_STR(text, "");
	mem_free(text);
}

/* As for any other want of memory: a message, and the status of it. */
void test_mem_stream_ends_the_program_where_there_is_no_memory(void)
{
	struct mem_stream s;
	char said[200] = "";
	int ends[2], status;
	pid_t child;

	REQUIRE(pipe(ends) == 0);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		streams_left = 0;
		dup2(ends[1], 2);
		mem_stream_begin(&s);
		_exit(0);
	}
	close(ends[1]);
	CHECK(read(ends[0], said, sizeof(said) - 1) > 0);
	close(ends[0]);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 3);
	CHECK(strncmp(said, "weft: out of memory", 19) == 0);
}

static void check_names(const char *names, const char *wanted)
{
	char all[256] = "";

	for (; names; names = text_name_next(names))
		text_addf(all, sizeof(all), "[%.*s]",
			  (int)text_name_size(names), names);
	CHECK_STR(all, wanted);
}

void test_base_finds_each_of_several_names(void)
{
	check_names("f", "[f]");
	check_names("f, g", "[f][g]");
	check_names("f(int, int), a<b, c>::g(d), h, and 12 more",
		    "[f(int, int)][a<b, c>::g(d)][h]");
	check_names("operator,(A, B), operator<(A, B), A::operator()(B, C)",
		    "[operator,(A, B)][operator<(A, B)][A::operator()(B, C)]");
	check_names("f<((A)1>(B)2), c>(), {lambda(int, int)#1}::g()",
		    "[f<((A)1>(B)2), c>()][{lambda(int, int)#1}::g()]");
	check_names("f(int, g", "[f(int, g]");
	check_names("", "[]");
	CHECK(text_name_is_in("f(int, int), g", "g"));
	CHECK(text_name_is_in("f(int, int), g", "f(int, int)"));
	CHECK(!text_name_is_in("f(int, int), g", "int)"));
}
