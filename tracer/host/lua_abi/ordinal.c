/* ordinal.c - numbers the functions that begin and end on the same lines of a
 * source by their order in the text. This is done when their main function
 * runs, which it does before any of them. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/lua_abi/abi.h"

/* What tells this prototype from others that lay at its address. Another source
 * may lie where its own lay: the source's length and last bytes are part of
 * it. */
static uint64_t trait(uint64_t at)
{
	const uint64_t source = layout_word(at + PROTO_SOURCE);
	const uint64_t own = lua_ordinal_mix(layout_word(at + PROTO_LINES),
					     source);
	uint64_t length;

	if (source == 0)
		return own;
	length = layout_length(source);
	return lua_ordinal_mix(lua_ordinal_mix(own, length), length < 8 ? 0 :
			       layout_word(source + STRING_TEXT + length - 8));
}

uint32_t ordinal_of(uint64_t at)
{
	return lua_ordinal_of(at, trait(at));
}

/* ------------------------------------------------------- functions of a line
 * In the order of the text first lines never fall. Of the functions that begin
 * on one line, those that are not written in each other also end there: no more
 * last lines differ than functions can be nested. (Where code was made by other
 * means there may be more; their ordinals are then of no use.) */

enum { LASTS = TREE_DEPTH + 1 };

struct same_line {
	struct { uint64_t lines; uint32_t count; } last[LASTS];
	uint32_t n;
};

/* The number of functions before this one that had these lines. */
static uint32_t next_ordinal(struct same_line *l, uint64_t lines)
{
	uint32_t i = 0;

	if (l->n > 0 && layout_first(l->last[0].lines) != layout_first(lines))
		l->n = 0;
	while (i < l->n && l->last[i].lines != lines)
		i++;
	if (i == LASTS)
		return 0;
	if (i == l->n) {
		l->last[l->n].lines = lines;
		l->last[l->n++].count = 0;
	}
	return l->last[i].count++;
}

/* ------------------------------------------------------------ main functions
 *  */

/* A hash that tells this set of functions from all others while they live. 0:
 * there are none, or too many. */
static uint64_t outline(uint64_t top, uint64_t text)
{
	uint64_t sum = text ^ layout_word(top + PROTO_SOURCE), at;
	struct proto_tree t;

	proto_tree_begin(&t, top);
	while ((at = proto_tree_next(&t)) != 0)
		sum = lua_ordinal_mix(lua_ordinal_mix(sum, at),
				      layout_word(at + PROTO_LINES));
	return proto_tree_is_cut(&t) || t.found == 0 ? 0 : sum;
}

/* Returns whether all were numbered so before. Functions without lines
 * (stripped ones of LuaJIT) cannot be told apart. */
static bool number_all(uint64_t top)
{
	struct same_line line = { .n = 0 };
	bool as_before = true;
	struct proto_tree t;
	uint64_t at;

	proto_tree_begin(&t, top);
	while ((at = proto_tree_next(&t)) != 0) {
		const uint64_t its = layout_word(at + PROTO_LINES);

		if (layout_first(its) == 0 ||
		    !lua_ordinal_set(at, trait(at), next_ordinal(&line, its)))
			continue;
		as_before = false;
		if (!BROKEN(moved))
			lua_func_changed(layout_word(at + PROTO_SOURCE));
	}
	return as_before;
}

/* A main function that was numbered, and lies where it lay, costs one look at
 * its functions. */
void ordinal_number_main(uint64_t at, uint64_t text)
{
	const uint64_t news = lua_ordinal_news();
	const uint64_t sum = outline(at, text);

	if (BROKEN(order) || sum == 0 || lua_ordinal_is_set(at, sum, news))
		return;
	if (number_all(at))
		lua_ordinal_are_set(at, sum, news);
}

void ordinal_number_frame(uint64_t L, uint64_t id)
{
	bool is_c;
	const uint64_t at = layout_callee(L, id, &is_c);

	if (!is_c && layout_first(layout_word(at + PROTO_LINES)) == 0 &&
	    layout_children(at) != 0)
		ordinal_number_main(at, trait(at));
}

/* -------------------------------------------------------------- open calls */

static void number_calls(const struct weft_lua_api *api, lua_State *L)
{
	lua_Debug d;
	uint64_t id;

	if (!API(api, lua_getstack)(L, 0, &d))
		return;
	for (id = layout_id(&d); id != 0; id = layout_above((uint64_t)L, id))
		ordinal_number_frame((uint64_t)L, id);
}

/* There may be many coroutines: to begin on one must not cost much. */
void ordinal_number_open(const struct coroutine *co, bool always)
{
	const uint32_t times = lua_func_times_unseen();
	struct lua_vm *const vm = co->vm;
	const bool unseen = vm->numbered != times;

	if (!vm->peek || (!always && !unseen))
		return;
	vm->numbered = times;
	number_calls(&vm->lib->api, co->L);
	if (unseen && co->L != vm->main)
		number_calls(&vm->lib->api, vm->main);
}
