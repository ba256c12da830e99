/* sides.c - which operands are on which side, and that both have times of one
 * kind. SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/sides.h"

#include "analyzer/base/err.h"
#include "analyzer/load/header.h"
#include "analyzer/merge/diff.h"

#include <string.h>

bool sides_are(int count, char **operands)
{
	for (int i = 0; i < count; i++)
		if (strcmp(operands[i], "vs") == 0)
			return true;
	return false;
}

/* Which operands are before and which after: of two, the first is before; else
 * those before the word vs. Returns how many are before, or 0 with the cause in
 * the chain; *after points into operands. */
static int split(int count, char **operands, char ***after, int *after_count)
{
	int at = 0;

	while (at < count && strcmp(operands[at], "vs") != 0)
		at++;
	/* Without the word vs, two operands are clear, more are not. */
	if (at == count && count != 2) {
		err_add(count < 2 ? "two traces or profiles are needed: give "
			"A B, or A... vs B..." : "it is not clear which are "
			"before and which after: put the word vs between "
			"them");
		return 0;
	}
	if (at == count)
		at = 1;
	/* The word vs itself is on neither side. */
	*after = operands + at + (strcmp(operands[at], "vs") == 0);
	*after_count = count - (int)(*after - operands);
	if (at > 0 && *after_count > 0)
		return at;
	err_add("no trace or profile is given %s vs",
		at == 0 ? "before" : "after");
	return 0;
}

/* Net times are compared with net ones that were made in the same way: one
 * session without them makes all of them raw. */
static bool is_mixed(const struct sides *s)
{
	const uint32_t before = s->before.session->net.is_net &
				~(uint32_t)NET_FITTED;
	const uint32_t after = s->after.session->net.is_net &
				~(uint32_t)NET_FITTED;

	return before != after ||
	       (before && (s->before.is_raw || s->after.is_raw));
}

/* Are there calls of Lua functions, or only times, as ticks tell them? */
enum lua { LUA_NONE, LUA_CALLED, LUA_SAMPLED };

static enum lua lua_of(const struct session *s)
{
	enum lua lua = LUA_NONE;

	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const n = cct_get(s->cct, id);

		if (func_get(s->funcs, n->func)->kind != FUNC_LUA)
			continue;
		if (n->calls > 0)
			return LUA_CALLED;
		lua = LUA_SAMPLED;
	}
	return lua;
}

/* All functions of Lua would look new, or gone. */
static enum cmd_exit check_lua(struct sides *s)
{
	const enum lua before = lua_of(s->before.session);
	const enum lua after = lua_of(s->after.session);

	s->is_lua_sampled = before == LUA_SAMPLED || after == LUA_SAMPLED;
	if (before == LUA_NONE || after == LUA_NONE || before == after)
		return CMD_OK;
	err_add("Lua was sampled %s, and its calls were recorded %s: these "
		"cannot be compared; record both with the same --lua",
		before == LUA_SAMPLED ? "before" : "after",
		before == LUA_SAMPLED ? "after" : "before");
	return CMD_UNREADABLE;
}

static enum cmd_exit open_both(struct sides *s, int before, char **operands,
				int after_count, char **after)
{
	static const struct replay_collect want;
	enum cmd_exit status = load_open_merged(&s->before, &want, before,
						operands);

	if (status == CMD_OK)
		status = load_open_merged(&s->after, &want, after_count, after);
	if (status == CMD_OK)
		status = header_need_calls(&s->before);
	if (status == CMD_OK)
		status = header_need_calls(&s->after);
	return status == CMD_OK ? check_lua(s) : status;
}

/* Nothing beyond the tree is collected: a diff takes its figures from the
 * statistics over sessions. */
enum cmd_exit sides_open(struct sides *s, bool wants_net, int count,
			 char **operands)
{
	enum cmd_exit status;
	char **after = NULL;
	int after_count = 0;
	const int before = split(count, operands, &after, &after_count);

	*s = (struct sides){ .is_raw = false };
	if (before == 0)
		return CMD_USAGE;
	if (load_has_reference()) {
		err_add("a reference is of one side: weft export --reference "
			"REF -o SIDE.pb TRACE gives each its own; compare "
			"these");
		return CMD_USAGE;
	}
	load_want_net(wants_net);
	status = open_both(s, before, operands, after_count, after);
	if (status != CMD_OK || !is_mixed(s))
		return status;
	load_close(&s->before);
	load_close(&s->after);
	*s = (struct sides){ .is_raw = true };
	load_want_net(false);
	return open_both(s, before, operands, after_count, after);
}

void sides_close(struct sides *s)
{
	diff_free(s->diff);
	load_close(&s->before);
	load_close(&s->after);
}

const struct func *sides_func(const struct sides *s, func_id before,
			      func_id after)
{
	return after ? func_get(s->after.session->funcs, after) :
	       func_get(s->before.session->funcs, before);
}
