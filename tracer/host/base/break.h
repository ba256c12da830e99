/* break.h - healing rules that a test may switch off, one at a time, to see
 * that something notices. Compiled in with -DWEFT_TEST_BREAKS only.
 * SPDX-License-Identifier: MIT */
#pragma once

/* X(name, meaning): WEFT_TEST_BREAK=name switches the rule off. */
#define BREAK_LIST(X)                                                          \
	X(sp, "native frames below the stack pointer are dead")                \
	X(inlined, "equal stack pointers are told apart by call site and "     \
		"return address")                                              \
	X(split, "a function that gcc split is one call")                      \
	X(exit, "a return ends the calls above its own")                       \
	X(longjmp, "longjmp ends the frames it jumps over")                    \
	X(parent, "a Lua call ends the frames above its caller's")             \
	X(ret, "a Lua return ends the frames above its own")                   \
	X(tail, "a Lua tail call replaces its caller's frame")                 \
	X(pcall, "a protected call that returns ends what it called")          \
	X(absorb, "an instrumented C function called from Lua is one call")    \
	X(again, "a signal handler's call is not taken for the one expected")  \
	X(back, "what a call or a resume returns to has our hook again")       \
	X(yield, "a yield keeps the coroutine's frames")                       \
	X(migrate, "a coroutine brings its stack to another thread")           \
	X(recycle, "a new coroutine at an old address is a new coroutine")     \
	X(busy, "a signal handler's hooks use a state of their own")           \
	X(interrupt, "each run of a handler says what it interrupts")          \
	X(closed, "a handler that runs between two chunks of another belongs " \
		"to the first")                                                \
	X(change, "a change of chunks that a handler jumps out of is finished")\
	X(depth, "calls that are too deep end without a word")                 \
	X(borrowed, "a thread borrows the calls that it works for")            \
	X(cut, "a chunk carries the stack open at its start")                  \
	X(order, "Lua functions on the same lines are told by their order")    \
	X(moved, "Lua functions that lie where others lay are asked for anew")

/* Not rules: without them another way is taken, which must be as right. */
#define BREAK_WAYS(X)                                                          \
	X(layout, "Lua's frames are read by a layout that was checked")        \
	X(room, "the open chunk has a place for each function it names")

enum break_rule {
#define X(name, meaning) BREAK_##name,
	BREAK_LIST(X) BREAK_WAYS(X)
#undef X
	BREAK_NONE,
};

#ifdef WEFT_TEST_BREAKS
extern enum break_rule break_chosen;
#define BROKEN(name) (break_chosen == BREAK_##name)
/* Prolongs a moment in which the rule matters. */
#define BREAK_PAUSE(name)                                                      \
	for (volatile int i = BROKEN(name) ? 30000 : 0; i > 0; i--)
#else
#define BROKEN(name) 0
#define BREAK_PAUSE(name)
#endif
