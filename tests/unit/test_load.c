/* test_load.c - a trace that grows while it is read, and one whose times are
 * too long to be true.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/load/load.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"

#include <stdio.h>
#include <unistd.h>

/* A trace's folder with a spill file alone. */
static char folder[] = "/tmp/weft-load-XXXXXX", spill[sizeof(folder) + 20];

/* Put a chunk with one call of a function into the file. */
static void add(uint32_t process, uint32_t thread, uint64_t number,
		const char *func, uint64_t tick, uint64_t took)
{
	static struct chunk_build b;
	FILE *const to = fopen(spill, "a");

	cb_begin(&b, process, thread, number, tick);
	cb_leaf(&b, func, 1, 1);
	cb_end(&b, tick + took);
	CHECK_EQ(fwrite(b.words, 8, b.n, to), b.n);
	fclose(to);
}

static void begin(void)
{
	CHECK(mkdtemp(folder));
	snprintf(spill, sizeof(spill), "%s/spill.weft", folder);
}

static void end(void)
{
	unlink(spill);
	rmdir(folder);
	err_clear();
}

static void open_it(struct load *load)
{
	char *operands[] = { folder };

	CHECK_EQ(load_open(load, 1, operands), CMD_OK);
}

/* What is told, as "pid/tid function", by the numbers that the session had
 * first. */
struct told { const struct session *s; size_t funcs; char text[500]; };

static void see(void *ctx, const struct replay_event *e)
{
	struct told *const t = ctx;
	const struct session *const s = t->s;
	const size_t used = strlen(t->text);

	REQUIRE(e->thread < s->thread_count && e->process < s->process_count);
	REQUIRE(e->func <= t->funcs);
	CHECK_EQ(s->threads[e->thread].tid, e->tid);
	CHECK_EQ(s->processes[e->process].pid, e->pid);
	snprintf(t->text + used, sizeof(t->text) - used, "%u/%u %s, ",
		 s->processes[e->process].pid, s->threads[e->thread].tid,
		 strchr(func_get(s->funcs, e->func)->name, '<'));
}

/* What has come since was closed earlier, or lies between what was there. */
void test_load_reads_again_only_what_it_read_first(void)
{
	static const struct replay_sink sink = { .enter = see };
	struct told told = { .text = "" };
	struct load load;

	begin();
	add(1, 1, 0, "f", 1000, 100);
	add(1, 1, 2, "g", 3000, 100);
	add(2, 5, 0, "h", 4000, 100);
	open_it(&load);
	told.s = load.session;
	told.funcs = func_count(load.session->funcs);
	add(3, 1, 0, "early", 10, 10);
	add(1, 9, 0, "new_thread", 500, 100);
	add(1, 1, 1, "between", 2000, 100);
	add(2, 5, 1, "more", 5000, 100);
	CHECK_EQ(load_again(&load, &sink, &told), 0);
	CHECK_STR(told.text, "1001/2001 <f:1>, 1001/2001 <g:1>, "
		  "1002/2005 <h:1>, ");
	load_close(&load);
	end();
}

/* Of 2^62 ticks each, there is room for one; the sum of all is not more than
 * what may be added up twice. */
void test_load_leaves_out_chunks_whose_times_would_wrap(void)
{
	const uint64_t years = UINT64_C(1) << 62;
	struct load load;

	begin();
	add(1, 1, 0, "f", 1000, years);
	add(1, 2, 0, "g", 1000, years);
	add(1, 3, 0, "h", 1000, 1000);
	add(1, 4, 0, "h", 1000, years);
	open_it(&load);
	CHECK_EQ(load.in.bad, 2);
	CHECK_EQ(load.session->calls, 2);
	CHECK_EQ(load.session->thread_count, 2);
	load_close(&load);
	end();
}
