/* group.c - from nodes to groups. Parents have smaller ids than children: what
 * a node inherits is known when it is its turn.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/group.h"
#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

#define say(to, ...) text_addf(to, GROUP_NAME, __VA_ARGS__)

/* Processes and threads of merged sessions have no numbers: one stands for
 * many. */
static void say_process(const struct session *s, char *to, uint32_t process)
{
	const struct process *const p = &s->processes[process];

	if (p->pid)
		say(to, "%" PRIu32 "%s", p->pid, p->path[0] ? " " : "");
	say(to, "%s", p->pid || p->path[0] ? text_base_name(p->path) :
	    "[unnamed]");
}

/* Of which process, if there are several. */
static void say_whose(const struct session *s, char *to, uint32_t process)
{
	const struct process *const p = &s->processes[process];

	if (s->process_count <= 1)
		return;
	if (p->pid)
		say(to, " of process %" PRIu32, p->pid);
	else
		say(to, " of %s", text_base_name(p->path));
}

const char *group_name_process(const struct session *s, uint32_t process,
			       char *to)
{
	to[0] = '\0';
	say_process(s, to, process);
	return to;
}

/* The function that a thread began with is the only one that nothing called,
 * and was called once. */
static func_id start_of(const struct session *s, const struct cct_node *root)
{
	const struct cct_node *n;
	func_id start = 0;

	for (node_id id = root->child; id; id = n->sibling) {
		n = cct_get(s->cct, id);
		if (func_get(s->funcs, n->func)->kind == FUNC_SPECIAL ||
		    n->flags & CCT_BODY)
			continue;
		if (start != 0 || n->calls != 1)
			return 0;
		start = n->func;
	}
	return start;
}

/* By process, its first thread + 1: that has the process' name. */
static uint32_t *first_threads(const struct session *s)
{
	uint32_t *const first = mem_alloc((s->process_count + 1) *
					  sizeof(*first));

	for (uint32_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		if (t->tid == s->processes[t->process].pid)
			first[t->process] = i + 1;
	}
	return first;
}

void group_find_starts(struct session *s)
{
	uint32_t *const first = first_threads(s);
	const struct cct_node *n;

	for (node_id id = cct_first_root(s->cct); id; id = n->sibling) {
		struct thread *t;
		uint32_t main;

		n = cct_get(s->cct, id);
		if (n->thread >= s->thread_count)
			continue;
		t = &s->threads[n->thread];
		main = first[t->process];
		if (t->tid != 0 && main != 0 && main != n->thread + 1 &&
		    strcmp(t->name, s->threads[main - 1].name) == 0)
			t->start = start_of(s, n);
	}
	mem_free(first);
}

const char *group_start(const struct session *s, uint32_t thread)
{
	const func_id start = s->threads[thread].start;

	return start ? func_get(s->funcs, start)->name : "";
}

const char *group_name_thread(const struct session *s, uint32_t thread,
			      char *to)
{
	const struct thread *const t = &s->threads[thread];
	const char *const start = group_start(s, thread);

	to[0] = '\0';
	if (t->tid)
		say(to, "%" PRIu32 "%s", t->tid, t->name[0] ? " " : "");
	say(to, "%s", t->tid || t->name[0] ? t->name : "[unnamed]");
	if (start[0])
		say(to, " (%s)", start);
	say_whose(s, to, t->process);
	return to;
}

const char *group_name_vm(const struct session *s, uint32_t vm, char *to)
{
	const struct vm *const v = &s->vms[vm];

	to[0] = '\0';
	if (v->abi == VM_LUAJIT)
		say(to, "LuaJIT");
	else
		say(to, "Lua %" PRIu32 ".%" PRIu32, v->abi / 10, v->abi % 10);
	say(to, " state %" PRIu64, v->serial);
	say_whose(s, to, v->process);
	return to;
}

const char *group_name_labels(const struct session *s, uint32_t process,
			      char *to)
{
	size_t n;
	const struct label **const list = label_list(s, process, &n);

	to[0] = '\0';
	for (size_t i = 0; i < n; i++)
		say(to, "%s%s=%s", i > 0 ? " " : "", list[i]->key,
		    list[i]->value);
	mem_free(list);
	if (!to[0])
		say(to, "[no label]");
	return to;
}

/* ---- groups ---- */

struct work {
	struct session *s;
	struct groups *g;
	struct map *by_name, *by_key;
	size_t room;
	uint32_t none;       /* "[no coroutine]" and such, once there is one */
};

/* A new group; ids begin at 1. */
static uint32_t add(struct work *w, const char *name, func_id func)
{
	vec_need(&w->g->group, &w->room, w->g->count + 2);
	w->g->group[++w->g->count] = (struct group){
		arena_copy(w->g->text, name, strlen(name)), func, 0 };
	return (uint32_t)w->g->count;
}

static uint32_t named(struct work *w, const char *name)
{
	uint32_t *const first = map_put(w->by_name, text_hash(1, name), 0);
	uint32_t id = *first;

	while (id && strcmp(w->g->group[id].name, name) != 0)
		id = w->g->group[id].next;
	if (id)
		return id;
	id = add(w, name, 0);
	w->g->group[id].next = *first;
	*first = id;
	return id;
}

/* The group of a number, named when it is first met. */
static uint32_t keyed(struct work *w, uint64_t key, func_id func,
		      const char *name)
{
	uint32_t *const id = map_put(w->by_key, key, 0);

	if (!*id)
		*id = add(w, name, func);
	return *id;
}

/* A group that depends on the function alone. */
static uint32_t by_frame(struct work *w, enum group_by by, func_id id)
{
	const struct func *const f = func_get(w->s->funcs, id);
	const bool is_elf = f->kind == FUNC_NATIVE;

	switch (by) {
	case GROUP_FUNCTION:
		return keyed(w, id, id, f->name);
	case GROUP_MODULE:
		return is_elf ? keyed(w, f->module, 0,
				      func_elf(w->s->funcs, f->module)->path) :
			named(w, f->kind == FUNC_LUA ? "[Lua]" :
			      "[no module]");
	case GROUP_FILE:
		return named(w, f->file[0] ? f->file : "[file not known]");
	default:
		return named(w, func_language(f)[0] ? func_language(f) :
			     "[none]");
	}
}

/* A frame is in the group of the one below it, except for the body itself. */
static uint32_t by_body(struct work *w, const struct cct_node *n)
{
	if (n->flags & CCT_BODY)
		return keyed(w, n->func, n->func,
			     func_get(w->s->funcs, n->func)->name);
	if (w->g->of[n->parent])
		return w->g->of[n->parent];
	return named(w, "[no coroutine]");
}

/* The VM that a thread's own Lua frames belong to; 0: not known. */
static uint32_t thread_vm(struct work *w, node_id id)
{
	const struct session *const s = w->s;
	const struct cct_node *n = cct_get(s->cct, id);
	uint32_t vm = 0, vms = 0;

	while (n->parent)
		n = cct_get(s->cct, n->parent);
	for (uint32_t i = 0; n->thread < s->thread_count && i < s->vm_count;
	     i++)
		if (s->vms[i].process == s->threads[n->thread].process) {
			vm = i + 1;
			vms++;
		}
	return vms == 1 ? vm : 0;
}

static uint32_t vm_group(struct work *w, uint32_t vm)
{
	char name[GROUP_NAME];

	return vm ? keyed(w, vm, 0, group_name_vm(w->s, vm - 1, name)) :
		    named(w, GROUP_ANY_VM);
}

static uint32_t by_vm(struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->s->cct, id);
	const uint32_t above = w->g->of[n->parent];

	if (n->flags & CCT_BODY)
		return vm_group(w, session_body_vm(w->s, n->flags));
	if (above && above != w->none)
		return above;
	if (func_get(w->s->funcs, n->func)->kind == FUNC_LUA)
		return vm_group(w, thread_vm(w, id));
	w->none = named(w, "[outside Lua]");
	return w->none;
}

/* A root's group; the nodes below it inherit it. */
static uint32_t by_thread(struct work *w, enum group_by by, uint32_t thread)
{
	const struct session *const s = w->s;
	char name[GROUP_NAME];
	uint32_t process, *label;

	if (thread >= s->thread_count)
		return named(w, "[not known]");
	process = s->threads[thread].process;
	if (by == GROUP_THREAD)
		return keyed(w, thread, 0, group_name_thread(s, thread, name));
	if (by == GROUP_PROCESS)
		return keyed(w, process, 0,
			     group_name_process(s, process, name));
	label = map_put(w->by_key, process, 1);
	if (!*label)
		*label = named(w, group_name_labels(s, process, name));
	return *label;
}

/* Parents come first: their groups are known. */
static uint32_t group_of(struct work *w, enum group_by by, node_id id)
{
	const struct cct_node *const n = cct_get(w->s->cct, id);

	if (by >= GROUP_THREAD)
		return n->parent ? w->g->of[n->parent] :
				   by_thread(w, by, n->thread);
	if (!n->parent)
		return 0;
	if (by == GROUP_BODY)
		return by_body(w, n);
	if (by == GROUP_VM)
		return by_vm(w, id);
	return by_frame(w, by, n->func);
}

struct groups *group_all(struct session *s, enum group_by by)
{
	const size_t nodes = cct_count(s->cct);
	struct groups *const g = mem_alloc(sizeof(*g));
	struct work w = { .s = s, .g = g, .by_name = map_new(),
			  .by_key = map_new() };

	g->of = mem_alloc((nodes + 1) * sizeof(*g->of));
	g->text = arena_new();
	for (node_id id = 1; id <= nodes; id++)
		g->of[id] = group_of(&w, by, id);
	map_free(w.by_name);
	map_free(w.by_key);
	return g;
}

void group_free(struct groups *g)
{
	if (!g)
		return;
	mem_free_all(g->of, g->group);
	arena_free(g->text);
	mem_free(g);
}
