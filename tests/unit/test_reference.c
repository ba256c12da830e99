/* test_reference.c - the items of a reference, in chunks.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/reference/reference.h"

#include <stdlib.h>
#include <string.h>

/* Chunks with room for so many items each; which items came, in their order: a
 * letter each, M, R, and | where a chunk begins. */
struct chunks { int room, left; char text[64]; };

static bool put(void *ctx, const uint64_t *item, uint32_t words)
{
	struct chunks *const c = ctx;
	const bool is_module = item_type(item[0]) == ITEM_MODULE;

	CHECK_EQ(item_words(item[0]), words);
	if (c->left == 0) {
		c->left = c->room;
		strcat(c->text, "|");
		return false;
	}
	c->left--;
	strcat(c->text, is_module ? "M" : "R");
	return true;
}

/* Samples in two modules, and in the kernel if it is shown. */
static void fill(struct reference *f, bool with_kernel)
{
	memset(f, 0, sizeof(*f));
	f->kind = REFERENCE_OFF;
	f->period = 1000;
	f->place = calloc(1 << 16, sizeof(*f->place));
	f->module = calloc(2, sizeof(*f->module));
	f->module[0].path = strdup("/bin/one");
	f->module[1].path = strdup("/lib/two.so");
	f->modules = 2;
	f->place[0] = (struct reference_place){ 0x20, 2, 5 };
	f->place[1] = (struct reference_place){ 0x10, 1, 3 };
	f->places = 2;
	f->samples = 8;
	if (!with_kernel)
		return;
	f->place[2] = (struct reference_place){ 0, 0, 1 };
	f->places++;
	f->samples++;
}

static void check_items(bool with_kernel, int room, const char *want)
{
	struct chunks c = { .room = room };
	struct reference f;

	fill(&f, with_kernel);
	reference_take(&f, put, &c);
	CHECK_STR(c.text, want);
	CHECK_EQ(f.samples, 0);
	c.text[0] = '\0';
	reference_take(&f, put, &c);
	CHECK_STR(c.text, "");
	free(f.place);
	free(f.module[0].path);
	free(f.module[1].path);
	free(f.module);
}

/* A place's module is in the same chunk, before it, wherever chunks end. */
void test_reference_modules_come_first(void)
{
	check_items(false, 9, "|MRMR");
	check_items(true, 9, "|RMRMR");
	check_items(false, 2, "|MR|MR");
	check_items(true, 2, "|RM|MR|MR");
	check_items(false, 3, "|MRM|MR");
}
