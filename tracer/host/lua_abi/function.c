/* function.c - which function a frame runs. Lua is asked seldom: never while
 * busy, and, the watch apart, never anything that allocates, runs a metamethod
 * or raises an error.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua_func/c_name.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua_func/written.h"
#include "tracer/host/lua_abi/abi.h"
#include "tracer/host/lua_abi/code.h"

/* ------------------------------------------------------------------- ordinals
 * Functions that begin and end on the same lines of a source are numbered by
 * their order in the text when their main function runs, before any of them. */

/* What tells this prototype from others that lay at its address. Another source
 * may lie where its own lay, so its length and last bytes are a part. */
static uint64_t trait(uint64_t at)
{
	const uint64_t source = layout_word(at + PROTO_SOURCE);
	const uint64_t own = hash_mix(layout_word(at + PROTO_LINES),
					     source);
	uint64_t length;

	if (source == 0)
		return own;
	length = layout_length(source);
	return hash_mix(hash_mix(own, length), length < 8 ? 0 :
			       layout_word(layout_bytes(source) + length - 8));
}

/* In the order of the text first lines never fall. Of the functions that begin
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

/* A hash that tells this set of functions from all others while they live. 0:
 * there are none, or too many. */
static uint64_t outline(uint64_t top, uint64_t text)
{
	uint64_t sum = text ^ layout_word(top + PROTO_SOURCE), at;
	struct proto_tree t;

	proto_tree_begin(&t, top);
	while ((at = proto_tree_next(&t)) != 0)
		sum = hash_mix(hash_mix(sum, at),
				      layout_word(at + PROTO_LINES));
	return proto_tree_is_cut(&t) || t.found == 0 ? 0 : sum;
}

/* The code of some library of this version is not as expected. */
static _Atomic bool code_is_wrong;

void function_leave_code(void)
{
	atomic_store(&code_is_wrong, true);
}

static void set_code_name(void *ctx, uint64_t child, const char *name,
			  uint32_t size)
{
	(void)ctx;
	lua_written_set_name(child, trait(child), name, size);
}

/* Returns whether all were numbered so before. */
static bool number_all(uint64_t top)
{
	struct same_line line = { .n = 0 };
	uint32_t left = atomic_load(&code_is_wrong) ? 0 : CODE_LOOKS;
	bool as_before = true;
	struct proto_tree t;
	uint64_t at;

	proto_tree_begin(&t, top);
	code_each(top, &left, set_code_name, NULL);
	while ((at = proto_tree_next(&t)) != 0) {
		const uint64_t its = layout_word(at + PROTO_LINES);

		if (layout_children(at) != 0)
			code_each(at, &left, set_code_name, NULL);
		if (layout_first(its) == 0 ||
		    !lua_written_set_ordinal(at, trait(at),
					     next_ordinal(&line, its)))
			continue;
		as_before = false;
		if (!BROKEN(moved))
			lua_func_changed(layout_word(at + PROTO_SOURCE));
	}
	return as_before;
}

/* A main function that was numbered and has not moved costs one look. */
static void number_main(uint64_t at, uint64_t text)
{
	const uint64_t news = lua_written_news();
	const uint64_t sum = outline(at, text);

	if (BROKEN(order) || sum == 0 || lua_written_is_set(at, sum, news))
		return;
	if (number_all(at))
		lua_written_are_set(at, sum, news);
}

void function_number_frame(uint64_t L, uint64_t id)
{
	bool is_c;
	uint64_t at;

	if (!layout_shows_callee(L, id))
		return;
	at = layout_callee(L, id, &is_c);
	if (!is_c && layout_first(layout_word(at + PROTO_LINES)) == 0 &&
	    layout_children(at) != 0)
		number_main(at, trait(at));
}

static void number_calls(const struct weft_lua_api *api, lua_State *L)
{
	lua_Debug d;
	uint64_t id;

	if (!API(api, lua_getstack)(L, 0, &d))
		return;
	for (id = layout_id(&d); id != 0; id = layout_above((uint64_t)L, id))
		function_number_frame((uint64_t)L, id);
}

/* There may be many coroutines: to begin on one must not cost much. */
void function_number_open(const struct coroutine *co, bool always)
{
	const uint32_t times = lua_func_times_unseen();
	struct lua_vm *const vm = co->vm;
	const bool unseen = vm->numbered != times;

	if (!vm->by_layout || (!always && !unseen))
		return;
	vm->numbered = times;
	number_calls(&vm->lib->api, co->L);
	if (unseen && co->L != vm->main)
		number_calls(&vm->lib->api, vm->main);
}

/* ------------------------------------------------------------------- naming */

enum { ALWAYS_LOOK = 32, LUA_ALWAYS_LOOK = 8 };

static uint64_t object_of(const struct weft_lua_api *api, lua_State *L,
			  uint64_t id)
{
	lua_Debug d = compat_frame(id);
	uint64_t object;

	API(api, lua_getinfo)(L, "f", &d);
	object = (uint64_t)API(api, lua_topointer)(L, -1);
	API(api, lua_settop)(L, -2);
	return object;
}

/* The key of the Lua function on top of the stack; 0: this thread has not
 * called it lately, or it is a main function. */
static uint64_t key_on_top(const struct lua_vm *vm, lua_State *L,
			   const struct lua_cached *called)
{
	struct lua_local *const me = !thread_self ? NULL : thread_self->lua;
	const uint64_t f = (uint64_t)API(&vm->lib->api, lua_topointer)(L, -1);
	const uint64_t at = !vm->by_layout ? ~f : layout_prototype(f);
	const struct lua_cached *c;
	uint64_t key;

	if (called && at == called->at)
		return called->key;
	if (!me)
		return 0;
	if (!vm->by_layout)
		c = function_is_object(function_object_place(me, f), f,
				       vm->watched) &&
		    vm->watched != 0 && function_none_freed(vm) ?
		    function_object_place(me, f) : NULL;
	else if (layout_first(layout_word(at + PROTO_LINES)) == 0 &&
		 !layout_has_no_lines(at))
		c = NULL;
	else
		c = function_entry(me, at, false, FUNCTION_OPEN);
	if (!c)
		return 0;
	key = c->key;
	barrier(); /* a handler may have replaced the entry */
	return c->at == at ? key : 0;
}

void function_name_all(const struct lua_vm *vm, lua_State *L)
{
	names_look(vm, L, key_on_top, NULL);
}

/* Libraries come one by one: each of the first functions without a name is a
 * reason to look again; later, only a quarter more are, or the last call at
 * which one is asked about. */
static void look_for_c(struct lua_vm *vm, lua_State *L, uint64_t address)
{
	if (vm->unknown_names++ < vm->scans && !lua_c_is_asked_last(address))
		return;
	if (vm->unknown_names > ALWAYS_LOOK)
		vm->scans = vm->unknown_names + vm->unknown_names / 4;
	function_name_all(vm, L);
}

static const char iterator[] = "for iterator";

static bool is_called_as(const lua_Debug *d, const char *what)
{
	return d->namewhat && strcmp(d->namewhat, what) == 0;
}

/* Does its caller call the C function by a name, not just by a variable of its
 * own? With upvalues the next call may be one of another closure, by another
 * name; but Lua calls it for the same event. */
static bool is_called_by_name(const lua_Debug *d)
{
	if (!d->name || d->name[0] == '\0' || d->name[0] == '?')
		return false;
	if (d->nups > 0)
		return is_called_as(d, "metamethod") ||
		       is_called_as(d, iterator);
	return d->namewhat && !is_called_as(d, "local") &&
	       !is_called_as(d, "upvalue");
}

/* d: what Lua says of the call; NULL: its name is to be ignored. asleep:
 * nothing runs on co, so its stack may have no room for a look. */
static void name_c(const struct coroutine *co, uint64_t address,
		   const lua_Debug *d, bool asleep)
{
	if (lua_c_is_named(address))
		return;
	if (!asleep)
		look_for_c(co->vm, co->L, address);
	if (d && !lua_c_is_named(address) && is_called_by_name(d))
		lua_c_name(address, C_NAME_CALLED, NULL, d->name);
}

/* Many functions are in no table, so not every reason is one to look: the first
 * 8 are, then the 16th, 32nd, 64th ... at: its prototype; 0: not known. */
static void name_lua(const struct coroutine *co, uint64_t id, uint64_t at,
		     uint64_t key, const char *name)
{
	struct lua_vm *const vm = co->vm;
	struct lua_cached called = { .at = at, .key = key };

	if (!lua_func_called(key, name))
		return;
	vm->nameless++;
	if (vm->nameless >= LUA_ALWAYS_LOOK &&
	    (vm->nameless & (vm->nameless - 1)) != 0)
		return;
	if (!vm->by_layout)
		called.at = ~object_of(&vm->lib->api, co->L, id);
	names_look(vm, co->L, key_on_top, &called);
}

/* ------------------------------------------------------------------ asking */

/* Is it the library function by which LuaJIT calls through its FFI? Of those
 * that may be given C data it alone has no name and handles no event. */
static bool is_ffi_call(const struct coroutine *co, uint64_t id, uint64_t f,
			bool asleep)
{
	if (!IS_JIT || !luajit_may_be_ffi(co, id) || lua_c_is_named(f))
		return false;
	if (lua_c_is_ffi(f))
		return true;
	if (asleep)
		return false;
	function_name_all(co->vm, co->L);
	if (lua_c_is_named(f))
		return false;
	lua_c_set_ffi(f);
	return true;
}

/* This C function is called, and not one of ours in its place: if it is
 * debug.sethook, and its call of lua_sethook is not seen, our hook may be gone
 * when it returns. */
static void tell_of_sethook(const struct coroutine *co, uint64_t key,
			    uint64_t function)
{
	if (!co->vm->interposed && lua_func_original(function) == function &&
	    lua_c_has_name(key, "debug.sethook"))
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_HOOK);
}

/* Of a C function's call. */
static struct identity ask_c(const struct coroutine *co, uint64_t id,
			     lua_Debug *d, bool asleep)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const bool is_event = is_called_as(d, "metamethod");
	struct identity f = { .is_c = true };
	uint64_t function;
	bool is_library;

	API(api, lua_getinfo)(co->L, "fu", d);
	function = (uint64_t)API(api, lua_tocfunction)(co->L, -1);
	f.key = names_c_address(api, co->L, &is_library);
	API(api, lua_settop)(co->L, -2);
	if (f.key == 0 || lua_func_is_hidden(f.key))
		return (struct identity){ .is_c = true };
	if (!is_library && !is_event && is_ffi_call(co, id, f.key, asleep))
		return (struct identity){ luajit_ffi_callee(co, id), true,
					  true };
	if (IS_JIT && co->vm->lib->linked &&
	    function == (uint64_t)co->vm->lib->openjit)
		lua_jit_opened(co->vm);
	if (IS_JIT)
		lua_jit_hold(co->vm);
	/* Many library functions may share a place: the caller's name is not
	 * the place's. */
	name_c(co, f.key, is_library ? NULL : d, asleep);
	tell_of_sethook(co, f.key, function);
	if (is_library)
		f.key = lua_c_builtin(f.key,
			is_event || is_called_as(d, iterator) ? d->name : NULL);
	else if (IS_JIT && luajit_is_untold(co, id))
		lua_c_set_untold(f.key);
	f.is_passing = !is_library && lua_c_is_asked_again(f.key);
	return f;
}

/* What the function does, and the first of those written in it, if it has no
 * lines or its source's name may be that of many; or 0. Asked for at each call
 * of a main function: only so many words are read. */
static uint64_t body_of(uint64_t at, const char *source, size_t length)
{
	enum { WORDS_MOST = 1 << 15 };
	struct proto_tree t;
	uint32_t words = 0;
	uint64_t sum = 0;

	if (at == 0 || (!layout_has_no_lines(at) &&
			!lua_func_may_be_many(source, length)))
		return 0;
	proto_tree_begin(&t, at);
	for (; at != 0 && words < WORDS_MOST; at = proto_tree_next(&t)) {
		words += 8 + layout_body_size(at);
		sum = hash_mix(sum, layout_body(at));
	}
	return sum;
}

/* The function with this prototype, 0: it is not known, as without the layout.
 * Then those on the same lines are not told apart, nor those of sources of the
 * same name. */
static uint64_t key_of(uint64_t at, const char *source, size_t length,
		       int first, int last)
{
	const uint64_t what = at == 0 ? 0 : trait(at);
	const uint64_t key = lua_func_key(source, length,
			    layout_has_no_lines(at) ? NO_LINES : first, last,
			    at == 0 ? 0 : lua_written_ordinal(at, what),
			    body_of(at, source, length));
	char name[LUA_WRITTEN_NAME];
	const uint32_t size = at == 0 ? 0 : lua_written_name(at, what, name);

	if (size > 0)
		lua_func_coded(key, name, size);
	return key;
}

/* Of a call that must not be asked about. Only the layout tells what it is. */
static struct identity read_callee(const struct coroutine *co, uint64_t id)
{
	static const char unknown[] = "=(called while suspended)";
	struct identity f = { .key = 0 };
	uint64_t at, source, lines;

	if (!co->vm->by_layout || !layout_shows_callee((uint64_t)co->L, id))
		return (struct identity){
			.key = lua_func_key(unknown, sizeof(unknown) - 1, -1,
					    -1, 0, 0),
		};
	at = layout_callee((uint64_t)co->L, id, &f.is_c);
	if (f.is_c) {
		at = lua_func_original(at);
		if (!lua_func_is_hidden(at))
			name_c(co, f.key = at, NULL, false);
		return f;
	}
	source = layout_word(at + PROTO_SOURCE);
	lines = layout_word(at + PROTO_LINES);
	if (source == 0)
		f.key = key_of(at, "=?", 2, layout_first(lines),
			       layout_last(lines));
	else if (!lua_func_source_is_hidden((const char *)layout_bytes(source)))
		f.key = key_of(at, (const char *)layout_bytes(source),
			       layout_length(source), layout_first(lines),
			       layout_last(lines));
	return f;
}

struct identity function_ask(const struct coroutine *co, uint64_t id,
			     bool asleep)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	lua_Debug d = compat_frame(id);
	struct identity f = { .key = 0 };
	uint64_t at = 0;
	bool is_c;

	if (!asleep && !function_may_ask(api, co->L))
		return read_callee(co, id);
	if (!API(api, lua_getinfo)(co->L, "nS", &d))
		return (struct identity){ .key = 0 };
	if ((IS_JIT && luajit_has_taken_over(co, id)) ||
	    (d.name && !asleep && names_an_error(api, co->L, id)))
		d.name = d.namewhat = NULL;
	/* What a loop calls is to 5.1 and LuaJIT the value of a variable. */
	if (LUA_VERSION_NUM < 502 && d.name &&
	    strcmp(d.name, "(for generator)") == 0)
		d.name = d.namewhat = iterator;
	if (d.what && d.what[0] == 'C')
		return ask_c(co, id, &d, asleep);
	if (lua_func_source_is_hidden(d.source))
		return (struct identity){ .key = 0 };
	if (co->vm->by_layout && layout_shows_callee((uint64_t)co->L, id))
		at = layout_callee((uint64_t)co->L, id, &is_c);
	f.key = key_of(at, d.source, compat_source_length(&d), d.linedefined,
		       d.lastlinedefined);
	if (asleep)
		lua_func_called(f.key, d.name);
	else
		name_lua(co, id, at, f.key, d.name);
	return f;
}

/* --------------------------------------------- by prototype and C function */

/* The hash is marked, so that no count of lua_func_current is equal to it. */
uint64_t function_main_runs(uint64_t at, bool begins)
{
	const uint64_t source = layout_word(at + PROTO_SOURCE);
	const char *const name = source == 0 ? NULL :
				 (const char *)layout_bytes(source);
	const size_t length = source == 0 ? 0 : layout_length(source);
	const uint64_t body = body_of(at, name, length);
	const uint64_t text = source == 0 ? 0 : UINT64_C(1) << 63 |
		(layout_has_no_lines(at) ? body :
		 lua_func_main_runs(source, name, length, body));

	if (begins && layout_children(at) != 0)
		number_main(at, text);
	return text;
}

/* The entry becomes this one. If a handler jumps away from here, the entry
 * matches no function. */
static void put_entry(struct lua_cached *c, const struct lua_cached *from)
{
	c->at = 0;
	barrier();
	c->source = from->source;
	c->lines = from->lines;
	c->text = from->text;
	c->key = from->key;
	c->flags = from->flags;
	c->epoch = 0;
	c->current = from->current;
	barrier();
	c->at = from->at;
}

/* Puts it in the cache, in place of what was there. */
static void remember(struct lua_local *me, uint64_t at, struct identity f)
{
	struct lua_cached c = {
		.at = at, .key = f.key, .flags = frame_flags(f.is_c),
	};

	if (!f.is_c) {
		c.lines = layout_word(at + PROTO_LINES);
		c.source = layout_word(at + PROTO_SOURCE);
		c.current = (uint32_t)c.lines == 0 ? &lua_func_never :
			    lua_func_current(c.source);
		c.text = (uint32_t)c.lines == 0 ?
			 function_main_runs(at, true) : atomic_load(c.current);
	}
	put_entry(function_place(me, at), &c);
}

static struct identity identity_of(const struct lua_cached *c)
{
	return (struct identity){ .key = c->key,
				  .is_c = c->flags == frame_flags(true) };
}

struct identity function_at(struct lua_local *me, const struct coroutine *co,
			    uint64_t id, enum function_moment moment,
			    bool asleep)
{
	const uint64_t L = (uint64_t)co->L;
	const struct lua_cached *const c = function_cached(me, L, id, moment);
	struct identity f;
	bool is_c;

	if (c && !lua_func_is_asked(c->key))
		return identity_of(c);
	/* The call may be one for memory, in the midst of LuaJIT's making room
	 * on the stack that asking needs. */
	if (IS_JIT && moment == FUNCTION_STANDS) {
		layout_callee(L, id, &is_c);
		f = is_c ? (struct identity){ .key = 0 } : read_callee(co, id);
	} else {
		f = function_ask(co, id, asleep);
	}
	if (f.key != 0 && !f.is_passing)
		remember(me, layout_callee(L, id, &is_c), f);
	return f;
}

/* ------------------------------------------------------------------ the watch
 * Has Lua freed anything? The public API tells functions apart by address only,
 * so that this must be known at each call: a new function may lie where a
 * collected one lay before any finalizer says so. But weak tables are cleared
 * before the first object is freed: while one still has an object that nothing
 * else refers to, no object that has lived meanwhile is gone. */

/* For the C function that runs under lua_pcall, which is given no pointer. */
static THREAD_LOCAL struct lua_vm *planting;

/* A lua_State of our own, kept by the registry, with the weak table on its
 * stack: looking there needs no room on the program's stack. */
static void make_watch(const struct weft_lua_api *api, lua_State *L)
{
	lua_State *const watch = API(api, lua_newthread)(L);

	API(api, lua_pushstring)(L, "weft: watch");
	API(api, lua_pushvalue)(L, -2);
	API(api, lua_rawset)(L, compat_registry(api, L));
	API(api, lua_createtable)(L, 1, 0);
	API(api, lua_createtable)(L, 0, 1);
	API(api, lua_pushstring)(L, "__mode");
	API(api, lua_pushstring)(L, "v");
	API(api, lua_rawset)(L, -3);
	API(api, lua_setmetatable)(L, -2);
	API(api, lua_xmove)(L, watch, 1);
	planting->watch = watch;
}

/* The object must be collected as soon as possible: a step of the collector
 * that its own making causes must not find it alive. From 5.3 on
 * lua_createtable makes that step last, lua_newthread makes it first. */
static void make_canary(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 503
	API(api, lua_newthread)(L);
#else
	API(api, lua_createtable)(L, 0, 0);
#endif
}

/* Runs under lua_pcall: its allocations may fail. */
static int plant(lua_State *L)
{
	const struct weft_lua_api *const api = &planting->lib->api;

	if (!planting->watch)
		make_watch(api, L);
	make_canary(api, L);
	API(api, lua_xmove)(L, planting->watch, 1);
	API(api, lua_rawseti)(planting->watch, 1, 1); /* allocates nothing */
	return 0;
}

/* A program's table of an earlier weft ends before these functions. */
static bool can_plant(const struct weft_lua_api *api)
{
	return api->lua_createtable && api->lua_setmetatable &&
	       api->lua_pushstring && api->lua_rawset &&
	       api->lua_rawseti && API_LENGTH(api) &&
	       (LUA_VERSION_NUM >= 502 || api->lua_cpcall);
}

/* After a failure, for want of memory or of C stack, the next try seldom helps:
 * only the 1st, 2nd, 4th, 8th ... are made. */
static uint64_t watch_anew(struct lua_vm *vm, lua_State *L)
{
	static _Atomic uint64_t last;
	const struct weft_lua_api *const api = &vm->lib->api;
	int failed;

	vm->watched = 0;
	if (!can_plant(api) || (vm->unwatched & (vm->unwatched + 1)) != 0) {
		vm->unwatched++;
		return 0;
	}
	planting = vm;
	failed = compat_protected(api, L, plant);
	planting = NULL;
	if (failed) {
		API(api, lua_settop)(L, -2);
		vm->unwatched++;
		return 0;
	}
	vm->unwatched = 0;
	vm->watched = atomic_fetch_add_explicit(&last, 1,
						memory_order_relaxed) + 1;
	return vm->watched;
}

/* ------------------------------------------------------ by function object */

struct identity function_by_object(struct lua_local *me,
				   const struct coroutine *co, uint64_t id,
				   struct lua_cached **known)
{
	struct lua_vm *const vm = co->vm;
	struct lua_cached *c;
	uint64_t object, watched;
	struct identity f;

	*known = NULL;
	if (!function_may_ask(&vm->lib->api, co->L))
		return read_callee(co, id);
	object = object_of(&vm->lib->api, co->L, id);
	watched = function_none_freed(vm) && vm->watched != 0 ? vm->watched :
		  watch_anew(vm, co->L);
	*known = c = function_object_place(me, object);
	if (watched != 0 && function_is_object(c, object, watched) &&
	    !lua_func_is_asked(c->key))
		return identity_of(c);
	f = function_ask(co, id, false);
	if (f.key == 0 || f.is_passing || watched == 0) {
		*known = NULL;
		return f;
	}
	put_entry(c, &(struct lua_cached){
		.at = ~object, .source = watched, .key = f.key,
		.flags = frame_flags(f.is_c), .current = &lua_func_never,
	});
	return f;
}
