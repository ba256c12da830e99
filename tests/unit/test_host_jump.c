/* test_host_jump.c - longjmp and what the shadow stack makes of it, inside this
 * program. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/host_pool.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <limits.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

static struct pool *shared_pool;
static jmp_buf back;

__attribute__((constructor(101))) static void make_pool(void)
{
	shared_pool = host_pool_make(32, 16, 1);
}

__attribute__((noinline)) static void jumper(int depth)
{
	__cyg_profile_func_enter((void *)jumper, __builtin_return_address(0));
	if (depth > 0)
		jumper(depth - 1);
	else if (thread_self)
		longjmp(back, 1);
	__cyg_profile_func_exit((void *)jumper, __builtin_return_address(0));
}

void test_host_longjmp_unwinds_what_it_skips(void)
{
	struct host_pool_tally t = { .chunks = 0 };

	if (setjmp(back) == 0)
		jumper(9);
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(t.calls, 10);
	CHECK_EQ(t.kind[REC_UNWIND], 1);
	CHECK_EQ(t.kind[REC_LEAVE], 0);
}

__attribute__((noinline)) static void plain(void)
{
	__cyg_profile_func_enter((void *)plain, __builtin_return_address(0));
	__cyg_profile_func_exit((void *)plain, __builtin_return_address(0));
}

/* As a call that an exception has ended, of which nothing tells. */
__attribute__((noinline)) static void ends_unseen(void)
{
	volatile char room[100];

	room[0] = 1;
	__cyg_profile_func_enter((void *)ends_unseen,
				 __builtin_return_address(0));
	room[1] = room[0]; /* so that the hook is called from this stack */
}

/* The calls of this program's function are left out. */
static void leave_out(void (*function)(void))
{
	static _Atomic uint64_t table[64];
	const struct module *m;
	uint64_t module;

	CHECK(module_find((uint64_t)function, &m) && m);
	module = m->build_id_size > 0 ?
		 XXH64(m->build_id, m->build_id_size, 0) :
		 XXH64(m->path, strlen(m->path), 0);
	verdict_set(table, 64, verdict_of_native(module, (uint64_t)function -
						 m->bias), VERDICT_SKIP);
	mapped_view.verdict_slots = 64;
	mapped_view.verdicts = table;
	chunk_switch(thread_self, 0);
}

/* From now on nothing is left out. */
static void leave_none_out(void)
{
	mapped_view.verdicts = NULL;
	chunk_switch(thread_self, 0);
}

/* Are these many calls, and ends of this kind, all that step records, called
 * with 0 and so on up to times? */
static void check_records(void (*step)(int), int times, int calls,
			  enum rec_kind kind, int ends)
{
	struct host_pool_tally before = { .chunks = 0 }, t = { .chunks = 0 };

	host_pool_drain(shared_pool, &before, 0);
	for (int i = 0; i < times; i++)
		step(i);
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(t.calls, calls);
	CHECK_EQ(t.kind[kind], ends);
	CHECK_EQ(t.bad, 0);
}

static void end_unseen(int i)
{
	(void)i;
	plain();
	ends_unseen();
	CHECK_EQ(thread_self->top - thread_self->frames, 2);
	plain();
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
}

/* A call that is left out leaves no trace but the end of what it shows to have
 * ended, and that at once. */
void test_host_left_out_calls_show_what_has_ended(void)
{
	plain();
	leave_out(plain);
	check_records(end_unseen, 3, 3, REC_UNWIND, 3);
	leave_none_out();
}

__attribute__((noinline)) static void around(void (*what)(int), int i)
{
	__cyg_profile_func_enter((void *)around, __builtin_return_address(0));
	what(i);
	__cyg_profile_func_exit((void *)around, __builtin_return_address(0));
}

/* Every 200 calls a chunk ends inside one, as it does in a loop whose records
 * fill chunks without a rest. */
static void fill(int i)
{
	if (i == 0)
		leave_out((void (*)(void))around);
	else if (i % 200 == 0)
		chunk_switch(thread_self, 0);
}

static void again(int i)
{
	around(fill, i + 1);
}

static void once_or_twice(int i)
{
	around(i % 3 == 2 ? again : fill, i);
}

/* A call that is open when it is known that its function's are left out is the
 * last one, with those inside it, that is recorded. */
void test_host_calls_are_left_out_once_the_open_one_is_over(void)
{
	check_records(once_or_twice, 1000, 1, REC_LEAVE, 1);
	leave_none_out();
}

__attribute__((noinline)) static void nested(int depth)
{
	__cyg_profile_func_enter((void *)nested, __builtin_return_address(0));
	if (depth > 1)
		nested(depth - 1);
	else
		plain();
	__cyg_profile_func_exit((void *)nested, __builtin_return_address(0));
}

/* Where there is no room for frames, calls that are left out need none: they
 * are not lost, and what returns there are the others. */
void test_host_left_out_calls_are_not_too_deep(void)
{
	struct host_pool_tally t = { .chunks = 0 };
	struct thread_state *s;
	struct frame *limit;

	plain();
	s = thread_self;
	limit = s->frame_limit;
	leave_out(plain);
	host_pool_drain(shared_pool, &t, 0);
	t = (struct host_pool_tally){ .chunks = 0 };
	s->no_room = s->generation;
	s->frame_limit = s->top + 2;
	s->quick = NULL;
	nested(5);
	CHECK_EQ(s->slot->lost[LOST_DEPTH], 3);
	CHECK_EQ(s->too_deep, 0);
	CHECK_EQ(s->top - s->frames, 1);
	s->frame_limit = limit;
	s->no_room = 0;
	chunk_switch(s, 0);
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(t.calls, 2);
	CHECK_EQ(t.kind[REC_UNWIND], 0);
	mapped_view.verdicts = NULL;
	chunk_switch(s, 0);
}

/* Calls that are not recorded cost a look at one word each. */
void test_host_native_calls_off_and_on(void)
{
	struct host_pool_tally t = { .chunks = 0 };

	plain();
	CHECK_EQ(weft_native(0), 1);
	for (int i = 0; i < 3; i++) {
		plain();
		CHECK(thread_native_pool() != &thread_no_pool);
		CHECK(thread_native_pool() != mapped_pool);
	}
	CHECK_EQ(weft_native(1), 0);
	plain();
	CHECK(thread_native_pool() == mapped_pool);
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(t.calls, 2);
}

/* The runtime of a sanitizer is part of the program, and none of it may be
 * jumped out of. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#include "tests/unit/step.h"

/* The next hook changes chunks. Returns whether a handler left it by a jump. */
static bool jumps_out_of_a_change(unsigned long instructions)
{
	plain();
	thread_self->quick = thread_self->limit = thread_self->at;
	if (sigsetjmp(step_back, 1) != 0)
		return true;
	step_begin(instructions);
	plain();
	return false;
}

static int buffers_in_use(void)
{
	int n = 0;

	for (uint32_t b = 0; b < 48; b++)
		n += buffer_state(atomic_load(pool_state(shared_pool, b))) !=
		     BUFFER_FREE;
	return n;
}

/* The call that was left may have been seen or not; the one before it and the
 * one after it are in chunks of their own, and no buffer is forgotten. */
void test_host_a_handler_jumps_out_of_a_change_of_chunks(void)
{
	const unsigned long tries = getenv("DEEP") ? 500 : 100;
	struct host_pool_tally t = { .chunks = 0 };
	unsigned long n = 0, stride;

	CHECK(!jumps_out_of_a_change(ULONG_MAX));
	stride = 1 + (ULONG_MAX - step_left) / tries;
	step_end();
	while (jumps_out_of_a_change(1 + n * stride)) {
		n++;
		plain();
		chunk_switch(thread_self, 0);
		host_pool_drain(shared_pool, &t, 0);
	}
	step_end();
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	printf("%lu jumps, %lu calls\n", n, (unsigned long)t.calls);
	CHECK(n > tries / 2);
	CHECK(t.calls >= 2 * n + 4 && t.calls <= 3 * n + 4);
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(t.ahead, 0);
	CHECK_EQ(buffers_in_use(), 1);
	CHECK_EQ(atomic_load(&thread_self->slot->lost[LOST_FULL]), 0);
}

static unsigned long moments;

static void call_in_a_hook(void)
{
	if (thread_self->busy == 0)
		return;
	moments += thread_self->moving;
	plain();
}

/* A handler's calls look at the innermost frame at each moment of a hook that
 * moves the stack to a larger place. */
void test_host_the_stack_moves_under_a_handler(void)
{
	struct host_pool_tally t = { .chunks = 0 };
	size_t room;
	void *wall;

	plain();
	room = (size_t)(thread_self->frame_limit - thread_self->frames) + 1;
	wall = mmap((char *)thread_self->frames +
		    (room * sizeof(struct frame) + 4095) / 4096 * 4096, 4096,
		    PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_FIXED_NOREPLACE, -1, 0);
	thread_self->quick = NULL;
	thread_self->top += thread_self->frame_limit - thread_self->top - 1;
	memset(thread_self->frames + 1, 0xff, (room - 3) *
	       sizeof(struct frame));
	step_each = call_in_a_hook;
	step_begin(ULONG_MAX);
	plain();
	step_end();
	step_each = NULL;
	CHECK(moments > 0);
	CHECK((size_t)(thread_self->frame_limit - thread_self->frames) > room);
	shadow_forget(thread_self);
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(t.bad, 0);
	if (wall != MAP_FAILED)
		munmap(wall, 4096);
}

/* After so many instructions of a move, those since the new place has all
 * frames if it is late. */
static unsigned long jump_after;
static bool is_late;

static void jump_in_a_move(void)
{
	if (thread_self->moving == 0 || (is_late && !thread_self->moved))
		return;
	if (jump_after-- == 0)
		siglongjmp(step_back, 1);
}

enum { OPEN = 9, STRIDE = 5 };

/* The next hook moves the stack. Returns whether a handler left it by a jump
 * while it did. */
static bool jumps_out_of_a_move(unsigned long instructions)
{
	struct thread_state *const s = thread_self;
	const struct frame f = { .key = (uint64_t)plain, .sp = UINT64_MAX };
	volatile bool jumped = false;

	s->frame_limit = s->frames + OPEN + 1;
	while (s->top < s->frames + OPEN)
		*s->top++ = f;
	s->quick = NULL;
	jump_after = instructions;
	step_each = jump_in_a_move;
	if (sigsetjmp(step_back, 1) == 0) {
		step_begin(ULONG_MAX);
		plain();
	} else {
		jumped = true;
	}
	step_end();
	step_each = NULL;
	return jumped;
}

/* The thread is recorded on: the frames are all there, where they were or at
 * the new place. */
void test_host_a_handler_jumps_out_of_a_move_of_the_stack(void)
{
	struct host_pool_tally t = { .chunks = 0 };
	unsigned long n[2] = { 0, 0 };
	int late;

	plain();
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	t = (struct host_pool_tally){ .chunks = 0 };
	for (late = 0; late < 2; late++) {
		is_late = late;
		while (jumps_out_of_a_move(n[late] * (late ? 1 : STRIDE))) {
			n[late]++;
			if (!CHECK(thread_self))
				return;
			plain();
			CHECK(thread_self->top - thread_self->frames >= OPEN);
			CHECK_EQ(thread_self->top[-1].key, (uint64_t)plain);
			shadow_forget(thread_self);
			chunk_switch(thread_self, 0);
			host_pool_drain(shared_pool, &t, 0);
		}
		shadow_forget(thread_self);
	}
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	printf("%lu jumps, %lu late, %lu calls\n", n[0], n[1],
	       (unsigned long)t.calls);
	CHECK(n[0] > 20 && n[1] > 4);
	CHECK(t.calls >= n[0] + n[1] && t.calls <= 2 * (n[0] + n[1]) + 2);
	CHECK_EQ(t.bad, 0);
}
#endif
