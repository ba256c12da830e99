/* test_sym_lines.c - source lines of instructions: this very program is the
 * module. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym.h"
#include "tests/test.h"
#include "tests/unit/own_elf.h"

#include <fcntl.h>
#include <libelf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An instruction whose address and number stand in a section of their own. */
#define PLACE(number) \
	__asm__ volatile("1: nop\n\t.pushsection places,\"aw\"\n\t" \
			 ".quad 1b, " #number "\n\t.popsection" : : : "memory")
extern uint64_t __start_places[], __stop_places[];

static inline __attribute__((always_inline)) int innermost(int x)
{
	PLACE(1); return x * 3;
}

static inline __attribute__((always_inline)) int inner(int x)
{
	PLACE(2); return innermost(x) + 1;
}

static __attribute__((noinline)) int outer(int x)
{
	PLACE(3);
	x = inner(x);
	PLACE(4);
	return x;
}

static __attribute__((noinline)) int other(int x)
{
	PLACE(5); return inner(x) - 1;
}

enum { OTHER = __LINE__ - 5, OUTER = OTHER - 8, INNER = OUTER - 5,
       INNERMOST = INNER - 5 };

static int first_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;
}

static uint64_t bias(void)
{
	uint64_t b = 0;

	dl_iterate_phdr(first_object, &b);
	return b;
}

/* This program as a module. */
static struct elf_module self(char *path)
{
	struct elf_module m = { .path = path, .size = 1 << 20 };

	m.build_id_size = (uint8_t)own_build_id(m.build_id);
	return m;
}

/* The lines of all places, by number; those inlined twice are two. */
static size_t all_places(struct sym_line *lines, uint64_t *numbers)
{
	size_t n = 0;

	for (const uint64_t *at = __start_places; at < __stop_places; at += 2) {
		numbers[n] = at[1];
		lines[n++].offset = at[0] - bias();
	}
	return n;
}

/* Check one: `of` is outer. Which copy of the inlined ones it is, is told by
 * whether it is outer's own. */
static void check(const struct sym_line *l, uint64_t number)
{
	static const uint32_t line[] = { 0, INNERMOST + 2, INNER + 2, OUTER + 2,
					 OUTER + 4, OTHER + 2 };
	const bool is_own = number == 3 || number == 4 ||
			    (number != 5 && l->own_line != 0);
	const char *const name = number == 1 ? "innermost" : number == 2 ?
				 "inner" : is_own ? "" : "other";

	CHECK_EQ(l->line, line[number]);
	CHECK(strstr(l->file, "test_sym_lines.c"));
	CHECK_STR(l->name, name);
	CHECK_EQ(l->is_own, is_own);
	CHECK_EQ(l->own_line, !is_own ? 0 : number == 3 ? OUTER + 2 :
		 number == 4 ? OUTER + 4 : OUTER + 3);
}

void test_sym_lines_follows_inlined_code(void)
{
	const struct sym_options options = { NULL, 20, NULL, NULL };
	struct sym_line lines[8] = { 0 }, sorted[8];
	char path[] = "/proc/self/exe", exe[4096] = "";
	struct func of = { .kind = FUNC_NATIVE, .name = "outer",
			   .file_line = OUTER };
	struct arena *const arena = arena_new();
	uint64_t numbers[8];
	size_t n, own = 0;

	REQUIRE(outer(1) + other(1) == 7);
	REQUIRE(readlink(path, exe, sizeof(exe) - 1) > 0);
	const struct elf_module elf = self(exe);

	of.offset = (uint64_t)(uintptr_t)outer - bias();
	n = all_places(lines, numbers);
	CHECK_EQ(n, 7);
	memcpy(sorted, lines, sizeof(sorted));
	/* Asked for no function, none is its own. */
	CHECK(!sym_lines(sorted, n, NULL, false, &elf, arena, &options));
	for (size_t k = 0; k < n; k++)
		CHECK(!sorted[k].is_own && sorted[k].name[0] != '\0');
	of.file = sorted[0].file;
	/* It is found by its entry, and without that by name, file and line. */
	for (int is_here = 0; is_here < 2; is_here++) {
		CHECK(!sym_lines(sorted, n, &of, is_here, &elf, arena,
				 &options));
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n; k++)
				if (lines[i].offset == sorted[k].offset) {
					check(&sorted[k], numbers[i]);
					own += sorted[k].is_own;
				}
	}
	CHECK_EQ(own, 2 * 4);
	arena_free(arena);
}

void test_sym_lines_says_what_is_missing(void)
{
	const struct sym_options options = { NULL, 20, NULL, "" };
	struct sym_line line = { .offset = 0x1000 };
	char path[] = "/nowhere/prog";
	const struct elf_module elf = { .path = path };
	struct arena *const arena = arena_new();

	CHECK_STR(sym_lines(&line, 1, NULL, false, &elf, arena, &options),
		  "its file is not there");
	CHECK_STR(line.name, "");
	CHECK_EQ(line.line, 0);
	arena_free(arena);
}
