/* test_vm_memory.c - what Lua states have in use over time; what a damaged
 * trace says of when they were read stays inside it. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/vm_memory.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

/* Readings of one state, in ticks of 1 ns; the session ends at 1000. */
static struct vm_row row_of(const struct vm_reading *readings, size_t n)
{
	struct session *const s = sessions_new(1000, "t");
	struct vm_memory m;
	struct vm_row *rows, row = { .readings = 0 };
	size_t count;

	s->vms = mem_alloc(sizeof(*s->vms));
	s->vms[s->vm_count++] = (struct vm){ .serial = 1 };
	vm_memory_init(&m);
	m.readings = mem_alloc((n + 1) * sizeof(*readings));
	memcpy(m.readings, readings, n * sizeof(*readings));
	m.count = n;
	rows = vm_memory_rows(&m, s, 0, UINT64_MAX, &count);
	if (count == 1)
		row = rows[0];
	mem_free(rows);
	vm_memory_fini(&m);
	session_free(s);
	return row;
}

void test_vm_memory_most_and_jump(void)
{
	const struct vm_row r = row_of((struct vm_reading[]){
		{ .vm = 1, .at = 100, .bytes = 50 },
		{ .vm = 1, .at = 300, .bytes = 70 },
		{ .vm = 1, .at = 500, .bytes = 700 },
		{ .vm = 1, .at = 900, .bytes = 60 } }, 4);

	CHECK(r.readings == 4 && r.bytes == 60 && r.at == 900);
	CHECK(r.most == 700 && r.most_at == 500);
	CHECK(r.jump == 630 && r.jump_at == 500);
	CHECK(r.least[0] == 50 && r.least[1] == 60);
}

/* No state was read after the end. */
void test_vm_memory_tick_beyond_the_end(void)
{
	const struct vm_row r = row_of((struct vm_reading[]){
		{ .vm = 1, .at = 100, .bytes = 50 },
		{ .vm = 1, .at = UINT64_MAX, .bytes = 700 } }, 2);

	CHECK(r.readings == 2 && r.at == 1000);
	CHECK(r.most_at == 1000 && r.jump_at == 1000);
	CHECK_EQ(r.least[1], 700);
}
