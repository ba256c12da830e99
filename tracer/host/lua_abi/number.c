/* number.c - which is which of the functions that begin and end on the
 * same lines of a source: told by their order in the text, when the main function
 * runs, which it does before any of them. Compiled once per version of Lua.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/lua_abi/hook.h"
#include "tracer/host/lua/ordinal.h"
#include "tracer/host/lua_abi/tree.h"

#include <errno.h>
#include <sys/mman.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * GOLDEN;
	return a ^ a >> 32;
}

/* Of one that lies at the same address: another's source may lie where its own
 * lay. */
static uint64_t trait(uint64_t at)
{
	const uint64_t source = layout_word(at + PROTO_SOURCE);
	const uint64_t own = mix(layout_word(at + PROTO_LINES), source);
	uint64_t length;

	if (source == 0)
		return own;
	length = layout_length(source);
	return mix(mix(own, length), length < 8 ? 0 :
		   layout_word(source + STRING_TEXT + length - 8));
}

uint32_t lua_hook_ordinal(uint64_t at)
{
	return lua_ordinal_of(at, trait(at));
}

/* ---------------------------------------------------------- counting lines */

struct lines { uint64_t lines, count; };

/* Open addressing; its size is a power of two, twice what comes or more. */
struct tally {
	struct lines few[64], *all;
	uint32_t size;
};

static int tally_begin(struct tally *t, uint32_t most)
{
	const int saved = errno;

	t->all = t->few;
	t->size = sizeof(t->few) / sizeof(t->few[0]);
	if (2 * most <= t->size) {
		memset(t->few, 0, sizeof(t->few));
		return 1;
	}
	while (t->size < 2 * most)
		t->size *= 2;
	t->all = mmap(NULL, t->size * sizeof(*t->all), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	return t->all != MAP_FAILED;
}

static void tally_end(const struct tally *t)
{
	const int saved = errno;

	if (t->all != t->few)
		munmap(t->all, t->size * sizeof(*t->all));
	errno = saved;
}

/* How many had these lines before; lines are never 0. */
static uint32_t tally_next(const struct tally *t, uint64_t lines)
{
	uint32_t i = (uint32_t)(mix(lines, 0) & (t->size - 1));

	while (t->all[i].lines != 0 && t->all[i].lines != lines)
		i = (i + 1) & (t->size - 1);
	t->all[i].lines = lines;
	return (uint32_t)t->all[i].count++;
}

/* ------------------------------------------------------------ main functions */

/* Tells one set of functions from all others, for as long as they live; how
 * many there are, 0: too many. */
static uint64_t outline(uint64_t top, uint64_t text, uint32_t *count)
{
	uint64_t sum = text ^ layout_word(top + PROTO_SOURCE), at;
	struct lua_tree t;

	tree_begin(&t, top);
	while ((at = tree_next(&t)) != 0)
		sum = mix(mix(sum, at), layout_word(at + PROTO_LINES));
	*count = tree_is_cut(&t) ? 0 : t.found;
	return sum;
}

/* Is it as it was set already? Functions that say no lines (stripped ones of
 * LuaJIT) are told apart by nothing. */
static int number_all(uint64_t top, const struct tally *lines)
{
	int as_before = 1;
	struct lua_tree t;
	uint64_t at;

	tree_begin(&t, top);
	while ((at = tree_next(&t)) != 0) {
		const uint64_t its = layout_word(at + PROTO_LINES);

		if (layout_first(its) == 0 ||
		    !lua_ordinal_set(at, trait(at), tally_next(lines, its)))
			continue;
		as_before = 0;
		if (!BROKEN(moved))
			lua_func_changed(layout_word(at + PROTO_SOURCE));
	}
	return as_before;
}

/* Seldom the first time: a call of a main function that was numbered, and lies
 * where it lay, costs one look at its functions. */
void lua_hook_number_main(uint64_t at, uint64_t text)
{
	const uint64_t news = lua_ordinal_news();
	struct tally lines;
	uint32_t count;
	uint64_t sum;

	sum = outline(at, text, &count);
	if (BROKEN(order) || count == 0 || lua_ordinal_is_set(at, sum, news) ||
	    !tally_begin(&lines, count))
		return;
	if (number_all(at, &lines))
		lua_ordinal_are_set(at, sum, news);
	tally_end(&lines);
}

void lua_hook_number(uint64_t L, uint64_t id)
{
	int is_c;
	const uint64_t at = layout_callee(L, id, &is_c);

	if (!is_c && layout_first(layout_word(at + PROTO_LINES)) == 0 &&
	    layout_holds(at) != 0)
		lua_hook_number_main(at, trait(at));
}

/* ------------------------------------------------------------- open calls */

static void number_calls(const struct weft_lua_api *api, lua_State *L)
{
	lua_Debug d;
	uint64_t id;

	if (!API(api, lua_getstack)(L, 0, &d))
		return;
	for (id = layout_id(&d); id != 0; id = lua_hook_above((uint64_t)L, id))
		lua_hook_number((uint64_t)L, id);
}

/* Of coroutines there may be many, on which it must not cost much to begin. */
void lua_hook_number_open(const struct coroutine *co, int own)
{
	const uint32_t times = lua_func_times_unseen();
	struct lua_vm *const vm = co->vm;
	const int unseen = vm->numbered != times;

	if (!vm->peek || (!own && !unseen))
		return;
	vm->numbered = times;
	number_calls(&vm->lib->api, co->L);
	if (unseen && co->L != vm->main)
		number_calls(&vm->lib->api, vm->main);
}
