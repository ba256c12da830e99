/* sym_place.c - what code lies at sampled addresses: the symbol, what was
 * inlined there, and whether it is a part of the probes. Knows the names of
 * Lua's machinery for hooks; must not know where files are.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym.h"

#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_find.h"
#include "analyzer/sym/sym_plt.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- probes ---- */

static const char hooks[] = "__cyg_profile_func_";

/* What Lua runs to call a hook, or to come back from one, and nothing else:
 * PUC-Rio's (with lua_sethook's own count), then LuaJIT's. */
static bool is_probe_symbol(const char *name)
{
	static const char *const names[] = {
		"luaD_hook", "luaD_hookcall", "luaD_callhook",
		"luaG_traceexec", "luaG_tracecall", "traceexec", "rethook",
		"callhook", "lj_dispatch_ins", "lj_dispatch_call",
		"lj_vm_inshook", "lj_vm_rethook", "lj_vm_callhook",
		"lj_vm_cont_hook", NULL };

	for (size_t i = 0; names[i]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return text_begins(name, hooks);
}

/* The library that the hooks are in. */
static bool is_probe_module(const struct elf_module *m)
{
	return text_begins(text_base_name(m->path), "libweft.so");
}

/* ---- in the child ---- */

static bool is_stub(const struct sym_plt *p, uint64_t address)
{
	for (size_t i = 0; i < p->stubs; i++)
		if (address - p->stub[i].entry < SYM_STUB_BYTES)
			return true;
	return false;
}

/* A place that is asked for. line, inlined: as in struct code_place, but NULL:
 * none. */
struct ask { uint64_t offset; uint32_t place, line; char *inlined; };

/* The asking for one module; the child has a copy from fork. */
struct places_task {
	struct session *session;
	struct arena *arena;
	elf_id elf;
	struct ask *ask; size_t count, room;
	struct sym_wish wish;
};

ORDER_BY(by_offset, struct ask, UP(offset))

static void add_inlined(struct ask *a, const char *name, uint32_t line)
{
	enum { NUMBER = 16 };
	const size_t have = a->inlined ? strlen(a->inlined) : 0;
	const size_t room = have + strlen(name) + NUMBER;

	if (room > SYM_NAME_BYTES)
		return;
	a->inlined = mem_grow(a->inlined, room, 1);
	snprintf(a->inlined + have, room - have, "%s\t%" PRIu32 "\n", name,
		 line);
}

static uint32_t declared_at(Dwarf_Die *die)
{
	Dwarf_Die root = sym_die_root(die);
	int line = 0;

	return dwarf_decl_line(&root, &line) != 0 || line < 0 ? 0 :
	       (uint32_t)line;
}

/* Does the code of the function, inlined function or block hold places? Note
 * at them which it is. */
static bool visit_ranges(struct places_task *t, Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);
	const char *const name = tag == DW_TAG_inlined_subroutine ?
				 sym_die_name(die, NULL) : NULL;
	const uint32_t line = declared_at(die);
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0)
		for (size_t i = ORDER_FIRST(k, t->count,
					    t->ask[k].offset < begin);
		     i < t->count && t->ask[i].offset < end; i++) {
			any = true;
			if (name)
				add_inlined(&t->ask[i], name, line);
			else if (tag == DW_TAG_subprogram)
				t->ask[i].line = line;
		}
	return any;
}

enum { DEEPEST = 64 };

static void visit_inside(struct places_task *t, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;
	bool more = depth < DEEPEST && dwarf_child(die, &child) == 0;

	for (; more; more = dwarf_siblingof(&child, &child) == 0) {
		const int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_inlined_subroutine ||
		     tag == DW_TAG_lexical_block) && visit_ranges(t, &child))
			visit_inside(t, &child, depth + 1);
	}
}

static int visit_function(Dwarf_Die *die, void *task)
{
	if (visit_ranges(task, die))
		visit_inside(task, die, 0);
	return DWARF_CB_OK;
}

/* The entry of the function that "NAME.cold" is a part of; 0: not known. */
static uint64_t entry_of_part(Dwfl_Module *m, const char *part)
{
	const size_t length = (size_t)(strstr(part, ".cold") - part);
	const int count = dwfl_module_getsymtab(m);
	GElf_Sym symbol;
	GElf_Addr value;

	for (int i = 0; i < count; i++) {
		const char *const name = dwfl_module_getsym_info(m, i, &symbol,
			&value, NULL, NULL, NULL);

		if (name && strlen(name) == length &&
		    strncmp(name, part, length) == 0)
			return value;
	}
	return 0;
}

/* Flags of an answer. */
enum { ANSWER_PROBE = 1, ANSWER_DEBUG = 2 };

static void send_place(Dwfl_Module *m, const struct sym_plt *plt,
		       const struct ask *a, bool has_debug, FILE *to)
{
	struct sym_answer answer = { .id = a->place + 1, .line = a->line };
	GElf_Off inside = 0;
	GElf_Sym symbol = { 0 };
	const char *name = dwfl_module_addrinfo(m, a->offset, &inside, &symbol,
						NULL, NULL, NULL);

	/* The nearest symbol below may end before the address. */
	if (name && symbol.st_size > 0 && inside >= symbol.st_size)
		name = NULL;
	if (is_stub(plt, a->offset) || (name && is_probe_symbol(name)))
		answer.flags |= ANSWER_PROBE;
	if (has_debug)
		answer.flags |= ANSWER_DEBUG;
	answer.offset = a->offset - inside;
	if (name && strstr(name, ".cold")) {
		const uint64_t entry = entry_of_part(m, name);

		answer.offset = entry ? entry : answer.offset;
	}
	sym_child_send(to, answer, name ? sym_demangle(name) : "",
		       a->inlined ? a->inlined : "");
}

/* A sym_work_fn. Each place is answered once. */
static void do_places(const void *ctx, FILE *to)
{
	struct places_task task = *(const struct places_task *)ctx;
	struct sym_plt plt;
	struct sym_found found;
	Dwfl_Module *module;
	Dwarf_Die *unit = NULL;
	GElf_Addr bias;
	Dwfl *dwfl;

	sym_find_file(func_elf(task.session->funcs, task.elf), &task.wish,
		      &found);
	module = found.fd < 0 ? NULL :
		 sym_elf_open(found.fd, found.path, &dwfl);
	if (!module)
		return;
	qsort(task.ask, task.count, sizeof(*task.ask), by_offset);
	sym_plt_find(&plt, dwfl_module_getelf(module, &bias), hooks);
	while ((unit = dwfl_module_nextcu(module, unit, &bias)))
		dwarf_getfuncs(unit, visit_function, &task, 0);
	for (size_t i = 0; i < task.count; i++)
		send_place(module, &plt, &task.ask[i],
			   found.worth == WORTH_ALL, to);
}

/* ---- in the parent ---- */

/* A sym_take_fn. The child may say anything. */
static int take_place(void *ctx, const struct sym_answer *answer,
		      const char *text)
{
	const struct places_task *const t = ctx;
	struct session *const s = t->session;
	struct code_place *p;

	if (answer->id == 0 || answer->id > s->place_count)
		return -1;
	p = &s->places[answer->id - 1];
	if (answer->flags & ANSWER_PROBE)
		p->kind = PLACE_PROBE;
	p->begin = answer->offset;
	p->line = answer->line;
	if (answer->name_size > 0)
		p->name = arena_copy(t->arena, text, answer->name_size);
	if (answer->flags & ANSWER_DEBUG)
		p->inlined = arena_copy(t->arena, text + answer->name_size,
					answer->file_size);
	return 0;
}

/* Have a child look at the places of one module. */
static void ask_module(struct places_task *t, unsigned seconds)
{
	const struct sym_job job = {
		do_places, t, take_place, t, seconds, (1 << 20) +
		t->count * (sizeof(struct sym_answer) + 2 * SYM_NAME_BYTES)
	};
	char why[SYM_WHY];

	/* What is missing shows as places without names. */
	if (seconds > 0)
		(void)sym_child_run(&job, why);
}

void sym_places(struct session *s, struct arena *arena,
		const struct sym_options *options)
{
	const int64_t end = child_now() +
			    (int64_t)options->seconds * 1000;

	for (elf_id elf = 1; elf <= func_elf_count(s->funcs); elf++) {
		const bool probe = is_probe_module(func_elf(s->funcs, elf));
		const int64_t left = (end - child_now()) / 1000;
		struct places_task t = { .session = s, .arena = arena,
					 .elf = elf,
					 .wish = { options, SYM_NAMES, 0 } };

		for (uint32_t i = 0; i < s->place_count; i++) {
			if (s->places[i].module != elf)
				continue;
			*vec_add(&t.ask, &t.room, &t.count) =
				(struct ask){ s->places[i].offset, i, 0, NULL };
			if (probe)
				s->places[i].kind = PLACE_PROBE;
		}
		if (t.count > 0)
			ask_module(&t, left > 0 ? (unsigned)left : 0);
		mem_free(t.ask);
	}
}
