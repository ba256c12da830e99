/* selection.c - from patterns to verdicts. A verdict must be right whatever the
 * analyzer will know, so that a function is left out only if all names that it
 * may have say so.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/selection.h"
#include "tracepoints/demangle.h"
#include "tracepoints/pattern_list.h"
#include "tracer/recorder/base/elf_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PATTERNS_MAX = 32 << 10,   /* bytes, which the notes have room for */
	SEEN_MAX = 1 << 18,
	NAME_MAX_LUA = 1024,
};

/* ---- patterns ---- */

const char *selection_add(char **to, const char *pattern)
{
	return pattern_list_add(to, pattern, PATTERNS_MAX);
}

bool selection_piece(const char **at, char *to, size_t size)
{
	const size_t n = !*at ? 0 : strnlen(*at, size - 1);

	if (n == 0)
		return false;
	memcpy(to, *at, n);
	to[n] = '\0';
	*at += n;
	return true;
}

/* ---- deciding ---- */

/* What can be said of a function and a pattern without all that the analyzer
 * knows. */
enum answer { NO, MAYBE, YES };

/* A function that a pattern is asked about: its names are for the caller to
 * compare. */
typedef enum answer ask_fn(const struct pattern *a, const void *function);

static enum answer ask_all(const struct selection_set *set, ask_fn *ask,
			   const void *function)
{
	enum answer best = NO;

	for (size_t i = 0; i < set->count && best != YES; i++) {
		const enum answer one = ask(&set->all[i], function);

		best = one > best ? one : best;
	}
	return best;
}

/* What may be left out, for all that is known here, is not counted. */
static enum verdict decide(const struct selection *s, ask_fn *ask,
			   const void *function)
{
	const enum answer skip = ask_all(&s->skip, ask, function);
	const enum answer only = s->only.count == 0 ? YES :
				 ask_all(&s->only, ask, function);

	if (s->start.count > 0)
		return ask_all(&s->start, ask, function) != NO ?
		       VERDICT_SKIP : VERDICT_RECORD;
	if (skip == YES || only == NO)
		return VERDICT_SKIP;
	return skip == NO && only == YES &&
	       ask_all(&s->count, ask, function) == YES ?
	       VERDICT_COUNT : VERDICT_RECORD;
}

static void set_verdict(struct selection *s, uint64_t id, enum verdict verdict)
{
	if (verdict == VERDICT_RECORD)
		return;
	if (s->start.count > 0)
		id = verdict_start(id);
	if (!verdict_set(s->verdicts, s->slots, id, verdict))
		s->no_room++;
	else if (verdict == VERDICT_COUNT)
		s->counted++;
	else
		s->skipped++;
}

/* ---- native functions ---- */

struct native {
	struct selection *to;
	uint64_t module;           /* hash */
	const char *path;
	const char *const *name;   /* all symbols at one address */
	unsigned names;
};

/* Patterns are compared with the demangled name, as in the analyzer. */
static bool is_name(const struct pattern *a, const char *symbol)
{
	char *const name = demangle(symbol, DEMANGLE_SHORT);
	const bool is = pattern_match_name(a, name ? name : symbol);

	free(name);
	return is;
}

/* The debug information may call a part that the compiler has made,
 * "f.part.0", by the whole function's name. Long names are the analyzer's. */
static enum answer ask_symbol(const struct pattern *a, const char *symbol)
{
	const size_t dot = strcspn(symbol, ".");
	const bool is = is_name(a, symbol);
	char plain[256];

	if (demangle_may(symbol) && strlen(symbol) > DEMANGLE_SHORT)
		return MAYBE;
	if (symbol[dot] == '.' && dot > 0 && dot < sizeof(plain)) {
		memcpy(plain, symbol, dot);
		plain[dot] = '\0';
		if (is_name(a, plain) != is)
			return MAYBE;
	}
	return is ? YES : NO;
}

/* Only the debug information has the file. */
static enum answer ask_native(const struct pattern *a, const void *function)
{
	const struct native *const f = function;
	unsigned yes = 0, no = 0;

	if (a->of == PATTERN_MODULE)
		return pattern_match_path(a, f->path) ? YES : NO;
	if (a->of == PATTERN_LANGUAGE)
		return pattern_match_text(a, "native") ? YES : NO;
	if (a->of == PATTERN_FILE)
		return MAYBE;
	for (unsigned i = 0; i < f->names; i++) {
		const enum answer one = ask_symbol(a, f->name[i]);

		yes += one == YES;
		no += one == NO;
	}
	return yes == f->names ? YES : no == f->names ? NO : MAYBE;
}

/* An elf_function_fn. */
static void decide_native(void *ctx, uint64_t offset, const char *const *name,
			  unsigned names)
{
	struct native *const f = ctx;

	f->name = name;
	f->names = names;
	set_verdict(f->to, verdict_of_native(f->module, offset),
		    decide(f->to, ask_native, f));
}

/* path: as the program has it. Closes fd. */
static void decide_module(struct selection *s, int fd, const char *path,
			  uint64_t hash)
{
	struct native f = { .to = s, .module = hash, .path = path };

	elf_functions_each(fd, decide_native, &f);
	close(fd);
	if (s->start.count > 0)
		verdict_set(s->verdicts, s->slots, verdict_start_all(hash),
			    VERDICT_SKIP);
}

void selection_program(struct selection *s, const char *path)
{
	char real[PATH_MAX];
	const int fd = realpath(path, real) ? chunk_names_open(real) : -1;
	struct elf_build build;

	if (fd < 0)
		return;
	if (elf_build_read(fd, &build) != 0) {
		close(fd);
		return;
	}
	const uint64_t hash = chunk_names_module_hash(build.id, build.size,
						      real);

	name_set_add(&s->seen, hash);
	decide_module(s, fd, real, hash);
}

static void meet_module(struct selection *s, uint32_t pid, const char *path,
			uint64_t hash)
{
	char place[PATH_MAX + 64];
	struct elf_build build;

	if (!name_set_add(&s->seen, hash))
		return;
	for (int i = 0; i < CHUNK_NAMES_PATHS; i++) {
		chunk_names_path(pid, path, i, place, sizeof(place));
		const int fd = chunk_names_open(place);

		if (fd >= 0 && elf_build_read(fd, &build) == 0 &&
		    chunk_names_module_hash(build.id, build.size,
					    path) == hash) {
			decide_module(s, fd, path, hash);
			return;
		}
		if (fd >= 0)
			close(fd);
	}
}

/* ---- Lua functions ---- */

/* The name as reports have it, but for the digits that tell sources of one name
 * apart: patterns match without them, too. */
static void full_name(const struct lua_names_told *f, bool is_apart, char *to)
{
	const char *const slash = strrchr(f->file, '/');
	const char *const base = slash && slash[1] ? slash + 1 : f->file;
	char number[16] = "", digits[8] = "";

	if (f->ordinal > 0)
		snprintf(number, sizeof(number), "#%u",
			 (unsigned)f->ordinal + 1);
	if (is_apart)
		snprintf(digits, sizeof(digits), "~%04x",
			 (unsigned)(f->source & 0xffff));
	if (f->line == 0)
		snprintf(to, NAME_MAX_LUA, "main chunk <%s%s>", base, digits);
	else
		snprintf(to, NAME_MAX_LUA, "%s <%s:%u%s%s>", f->name, base,
			 f->line, number, digits);
}

static enum answer ask_lua(const struct pattern *a, const void *function)
{
	const struct lua_names_told *const f = function;
	char name[NAME_MAX_LUA];

	if (a->of == PATTERN_MODULE)
		return NO;
	if (a->of == PATTERN_LANGUAGE)
		return pattern_match_text(a, "lua") ? YES : NO;
	if (f->file[0] == '\0')
		return MAYBE;
	if (a->of == PATTERN_FILE)
		return pattern_match_path(a, f->file) ? YES : NO;
	if (f->name[0] == '\0' && f->line != 0)
		return MAYBE;
	for (int i = 0; i < 2; i++) {
		full_name(f, i > 0, name);
		if (pattern_match_name(a, name))
			return YES;
	}
	return f->line != 0 && pattern_match_lua(a, f->name,
						 f->name + strlen(f->name)) ?
	       YES : NO;
}

static uint64_t id_of(const struct lua_names_told *f)
{
	return verdict_of_lua(f->source, (uint64_t)f->line << 32 | f->last_line,
			      f->ordinal);
}

static void note_lua(struct selection *s, const struct chunk_header *h,
		     const struct lua_item *item)
{
	struct lua_names_told f = {
		.file = item->file[0] == '@' ? item->file + 1 : "", .name = "",
		.source = item->source, .ordinal = item->ordinal,
		.line = item->line, .last_line = item->last_line };

	if (!name_set_add(&s->seen, id_of(&f)))
		return;
	if (s->names && f.line != 0)
		f.name = lua_names_told(s->names, h, item);
	set_verdict(s, id_of(&f), decide(s, ask_lua, &f));
}

/* A lua_names_told_fn. */
static void decide_told(void *ctx, const struct lua_names_told *told)
{
	struct selection *const s = ctx;

	if (told->name[0])
		set_verdict(s, id_of(told), decide(s, ask_lua, told));
}

void selection_answer(struct selection *s, uint32_t pid, uint64_t hash,
		      const char *name)
{
	if (name[0] != '@')
		meet_module(s, pid, name, hash);
	else if (s->names)
		lua_names_tell(s->names, pid, hash, name, decide_told, s);
	verdict_set(s->verdicts, s->slots, verdict_start_all(hash),
		    VERDICT_SKIP);
}

/* ---- all ---- */

/* False: no memory. */
static bool split(struct selection_set *set, const char *text)
{
	set->all = !text ? NULL :
		   calloc(pattern_room(text), sizeof(*set->all));
	if (set->all)
		set->count = pattern_split(text, set->all);
	return set->all || !text;
}

int selection_init(struct selection *s, const struct selection_wish *wish,
		   _Atomic uint64_t *verdicts, uint32_t slots,
		   struct lua_names *names)
{
	*s = (struct selection){ .verdicts = verdicts, .slots = slots,
				 .names = names };
	name_set_init(&s->seen, SEEN_MAX);
	return split(&s->only, wish->only) && split(&s->skip, wish->skip) &&
	       split(&s->count, wish->count) &&
	       split(&s->start, wish->start) ? 0 : -1;
}

void selection_note(struct selection *s, const struct chunk_items *items)
{
	struct module_item m;
	struct lua_item f;

	for (uint32_t i = 0; i < items->n; i++)
		if (chunk_names_module(&items->item[i], &m) && m.path[0])
			meet_module(s, items->h->pid, m.path,
				    chunk_names_module_hash(m.id, m.id_size,
							    m.path));
		else if (chunk_names_lua(&items->item[i], &f))
			note_lua(s, items->h, &f);
}
