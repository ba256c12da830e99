/* sym_lines.c - from addresses to source lines, by libdw, in a child process.
 * Of each unit that has one of the addresses, the descriptions of functions are
 * walked once, from the outside in.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym.h"

#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_find.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 128 }; /* of descriptions in each other; others are left out */

/* What a child is asked; the parent makes it. */
struct task {
	struct sym_line *lines;
	size_t count;
	const struct func *of;   /* or NULL */
	bool is_here;            /* its entry is in this file */
	const struct elf_module *elf;
	struct sym_wish wish;
	struct arena *arena;
	const char *why;
};

/* What the walk has found out of an address so far. */
struct scope {
	bool is_own;
	uint32_t call_line;      /* where the outermost inlined call is */
	bool is_inlined;         /* into the function */
	Dwarf_Die die;           /* of the innermost function */
	bool has_die, is_answered;
};

/* In the child. */
struct walk {
	const struct task *task;
	struct scope *scopes;    /* by line */
	Dwfl_Module *module;
	Dwarf_Off of_root;       /* the function's abstract description */
	bool has_root;
	FILE *to;
};

/* ---- descriptions ---- */

/* Is it the function that is asked about? Units that include one header have
 * descriptions of their own of its functions: those are told by name, file and
 * line, which the parent knows. */
static bool is_of(const struct walk *w, const struct sym_unit *unit,
		  Dwarf_Die *die)
{
	const struct func *const of = w->task->of;
	Dwarf_Die root = sym_die_root(die);
	char path[SYM_NAME_BYTES];
	const char *name;
	uint32_t line;
	int number;

	if (!of)
		return false;
	if (w->has_root && dwarf_dieoffset(&root) == w->of_root)
		return true;
	if (dwarf_decl_line(&root, &number) != 0 ||
	    (uint32_t)number != of->file_line)
		return false;
	name = sym_die_name(&root, NULL);
	sym_die_place(unit, &root, 0, path, sizeof(path), &line);
	return name && text_name_is_in(of->name, name) &&
	       strcmp(path, of->file) == 0;
}

/* The first line at or after an address. */
static size_t first_from(const struct task *t, uint64_t offset)
{
	return ORDER_FIRST(i, t->count, t->lines[i].offset < offset);
}

/* Whether the description has code at one of the addresses. */
static bool has_any(const struct task *t, Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		const size_t i = first_from(t, begin);

		if (i < t->count && t->lines[i].offset < end)
			return true;
	}
	return false;
}

static uint32_t call_line_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &value);
	return value > INT32_MAX ? 0 : (uint32_t)value;
}

/* One address lies in this function; outer ones came before. */
static void enter(struct scope *s, Dwarf_Die *die, bool is_of_function)
{
	const bool is_inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;

	if (is_of_function || !is_inlined)
		*s = (struct scope){ .is_own = is_of_function,
				     .is_answered = s->is_answered };
	else if (s->is_own && !s->is_inlined) {
		s->is_inlined = true;
		s->call_line = call_line_of(die);
	}
	s->die = *die;
	s->has_die = true;
}

static void visit(struct walk *w, const struct sym_unit *unit, Dwarf_Die *die)
{
	const struct task *const t = w->task;
	const int tag = dwarf_tag(die);
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	bool is_of_function;

	if ((tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) ||
	    !has_any(t, die))
		return;
	is_of_function = is_of(w, unit, die);
	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0)
		for (size_t i = first_from(t, begin);
		     i < t->count && t->lines[i].offset < end; i++)
			enter(&w->scopes[i], die, is_of_function);
}

/* Code lies in functions, their blocks, and scopes of names. A function without
 * one of the addresses is not entered. */
static bool is_worth_entering(const struct walk *w, Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block ? has_any(w->task, die) :
	       tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_compile_unit;
}

/* Outer ones first. Not recursive: a file may nest them as it likes. */
static void walk_unit(struct walk *w, const struct sym_unit *unit)
{
	Dwarf_Die *const here = mem_alloc(DEPTH * sizeof(*here));
	size_t depth = 1;

	here[0] = *unit->die;
	while (depth > 0) {
		Dwarf_Die *const top = &here[depth - 1];

		if (depth < DEPTH && is_worth_entering(w, top) &&
		    dwarf_child(top, top + 1) == 0) {
			visit(w, unit, &here[depth++]);
			continue;
		}
		while (depth > 1 && dwarf_siblingof(&here[depth - 1],
						    &here[depth - 1]) != 0)
			depth--;
		if (depth <= 1)
			break;
		visit(w, unit, &here[depth - 1]);
	}
	mem_free(here);
}

/* ---- answers ---- */

/* The source line of an address; a relative file is below the folder where the
 * compiler ran. */
static uint32_t line_at(const struct sym_unit *unit, uint64_t address,
			char *file, size_t size)
{
	Dwarf_Line *const line = dwarf_getsrc_die(unit->die, address);
	const char *const path = !line ? NULL :
				 dwarf_linesrc(line, NULL, NULL);
	int number = 0;

	file[0] = '\0';
	if (!path || dwarf_lineno(line, &number) != 0 || number <= 0)
		return 0;
	snprintf(file, size, "%s%s%s", path[0] == '/' || !unit->folder ? "" :
		 unit->folder, path[0] == '/' || !unit->folder ? "" : "/",
		 path);
	return (uint32_t)number;
}

/* The symbol at an address, or NULL. The nearest one below may end before. */
static const char *symbol_at(const struct walk *w, uint64_t address)
{
	GElf_Off inside;
	GElf_Sym symbol;
	const char *const name = dwfl_module_addrinfo(
		w->module, address, &inside, &symbol, NULL, NULL, NULL);

	return name && inside < symbol.st_size ? sym_demangle(name) : NULL;
}

/* flags: it is the function's own; offset: the line of the function. */
static void answer(const struct walk *w, size_t i, const struct sym_unit *unit)
{
	const struct task *const t = w->task;
	struct scope *const s = &w->scopes[i];
	const uint64_t address = t->lines[i].offset;
	struct sym_answer a = { .id = (uint32_t)i + 1, .flags = s->is_own };
	char file[SYM_NAME_BYTES] = "";
	const char *name = NULL;

	if (unit)
		a.line = line_at(unit, address, file, sizeof(file));
	if (s->is_own)
		a.offset = s->is_inlined ? s->call_line :
			   strcmp(text_base_name(file),
				  text_base_name(t->of->file)) == 0 ?
			   a.line : 0;
	if (s->has_die && (!s->is_own || s->is_inlined))
		name = sym_die_name(&s->die, NULL);
	else if (!s->has_die)
		name = symbol_at(w, address);
	sym_child_send(w->to, a, !name ? "" : name, file);
}

/* ---- the function ---- */

/* Is this its entry? The tracer records an odd address under the even one
 * before it. */
static int find_root(Dwarf_Die *die, void *ctx)
{
	struct walk *const w = ctx;
	const uint64_t entry = w->task->of->offset;
	Dwarf_Addr base, begin, end;
	Dwarf_Die root;

	if (dwarf_entrypc(die, &begin) != 0 &&
	    dwarf_ranges(die, 0, &base, &begin, &end) <= 0)
		return DWARF_CB_OK;
	if ((begin & ~UINT64_C(1)) != (entry & ~UINT64_C(1)))
		return DWARF_CB_OK;
	root = sym_die_root(die);
	w->of_root = dwarf_dieoffset(&root);
	w->has_root = true;
	return DWARF_CB_ABORT;
}

/* A unit that does not say where its code is may have any. */
static bool may_have(const struct walk *w, Dwarf_Die *unit)
{
	Dwarf_Addr base, begin, end;

	return has_any(w->task, unit) ||
	       (dwarf_ranges(unit, 0, &base, &begin, &end) <= 0 &&
		!dwarf_hasattr(unit, DW_AT_low_pc));
}

/* Answer for the addresses in a unit that have no answer yet: those in its
 * functions, and those in its lines. */
static void answer_unit(struct walk *w, Dwarf_Die *die)
{
	const struct sym_unit unit = sym_unit_of(die);

	walk_unit(w, &unit);
	for (size_t i = 0; i < w->task->count; i++) {
		struct scope *const s = &w->scopes[i];

		if (s->is_answered || (!s->has_die &&
		    !dwarf_getsrc_die(die, w->task->lines[i].offset)))
			continue;
		answer(w, i, &unit);
		s->is_answered = true;
	}
}

static void answer_all(struct walk *w)
{
	const struct task *const t = w->task;
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	while (t->is_here && !w->has_root &&
	       (unit = dwfl_module_nextcu(w->module, unit, &bias)) != NULL)
		if (dwarf_haspc(unit, t->of->offset) != 0)
			dwarf_getfuncs(unit, find_root, w, 0);
	unit = NULL;
	while ((unit = dwfl_module_nextcu(w->module, unit, &bias)) != NULL)
		if (may_have(w, unit))
			answer_unit(w, unit);
	for (size_t i = 0; i < t->count; i++)
		if (!w->scopes[i].is_answered)
			answer(w, i, NULL);
}

/* A sym_work_fn. What became of the module is sent first. */
static void do_lines(const void *ctx, FILE *to)
{
	const struct task *const t = ctx;
	struct walk w = { .task = t, .to = to };
	struct sym_found found;
	Dwfl *dwfl;

	sym_find_file(t->elf, &t->wish, &found);
	sym_child_send(to, (struct sym_answer){ .id = 0 }, found.why, "");
	w.module = found.fd < 0 ? NULL :
		   sym_elf_open(found.fd, found.path, &dwfl);
	if (!w.module)
		return;
	w.scopes = mem_alloc((t->count + 1) * sizeof(*w.scopes));
	answer_all(&w);
	mem_free(w.scopes);
	dwfl_end(dwfl);
}

/* ---- in the parent ---- */

/* A sym_take_fn. The child is not trusted. */
static int take(void *ctx, const struct sym_answer *a, const char *text)
{
	struct task *const t = ctx;
	const char *const name = arena_copy(t->arena, text, a->name_size);
	struct sym_line *l;

	if (a->id == 0) {
		t->why = name;
		return 0;
	}
	if (a->id > t->count)
		return -1;
	l = &t->lines[a->id - 1];
	l->is_own = a->flags != 0;
	l->own_line = (uint32_t)a->offset;
	l->name = name;
	l->file = arena_copy(t->arena, text + a->name_size, a->file_size);
	l->line = a->line;
	return 0;
}

ORDER_BY(by_offset, struct sym_line, UP(offset))

const char *sym_lines(struct sym_line *lines, size_t count,
		      const struct func *of, bool is_here,
		      const struct elf_module *elf, struct arena *arena,
		      const struct sym_options *options)
{
	struct task task = { lines, count, of, of && is_here, elf,
			     { options, SYM_NAMES, options->seconds },
			     arena, "" };
	const struct sym_job job = {
		do_lines, &task, take, &task, options->seconds,
		(count + 1) * (sizeof(struct sym_answer) +
			       2 * (uint64_t)SYM_NAME_BYTES)
	};
	char why[SYM_WHY];

	qsort(lines, count, sizeof(*lines), by_offset);
	for (size_t i = 0; i < count; i++)
		lines[i].name = lines[i].file = "";
	if (sym_child_run(&job, why) != 0)
		return arena_copy(arena, why, strlen(why));
	return task.why[0] ? task.why : NULL;
}
