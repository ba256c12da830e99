/* lua_names.c - notes Lua functions by source, finds the sources' texts, and
 * gives the names that are in them. What chunks say is not trusted: a file that
 * they name is read, but nothing of it shows except what it calls functions.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/lua_names.h"
#include "tracer/recorder/base/grow.h"
#include "tracepoints/item.h"
#include "tracer/recorder/names/lua_outline.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SEEN_MAX = 1 << 17,        /* functions */
	SOURCES_MAX = 1 << 14,
	OPENED_MAX = 256,          /* descriptors for this purpose */
	ITEM_MAX = 128,            /* words; two strings take 68 at most */
	NONE = UINT32_MAX,
};

static const uint64_t source_max = UINT64_C(16) << 20, /* bytes */
		      all_max = UINT64_C(256) << 20;

/* Its name as Lua has it, whole. "" was not stored whole. */
struct lua_names_source {
	uint64_t hash;
	char name[CHUNK_STRING_MAX + 1];
	uint32_t pid;
	int fd;                    /* negative: not kept open */
	uint32_t first;            /* the function that was noted last */
	struct lua_outline *told;  /* its text's, if it was asked for; empty
	                            * where that is not its text */
};

struct lua_names_function {
	size_t item;               /* its place in items */
	uint32_t next;             /* another of this source, or NONE */
	uint32_t line, last_line, ordinal;
};

void lua_names_init(struct lua_names *n)
{
	memset(n, 0, sizeof(*n));
	name_set_init(&n->by_hash, SOURCES_MAX);
	name_set_init(&n->seen, SEEN_MAX);
}

/* ---- finding a text ---- */

static int open_path(const struct lua_names_source *s, int i)
{
	char path[CHUNK_STRING_MAX + 64];

	chunk_names_path(s->pid, s->name + 1, i, path, sizeof(path));
	return chunk_names_open(path);
}

static bool is_file(const struct lua_names_source *s)
{
	return s->name[0] == '@' && s->name[1] != '\0';
}

/* What a main function returns is called after its module: "set" for
 * ".../set.lua" and ".../set/init.lua". */
static void module_name(const struct lua_names_source *s,
			char name[CHUNK_STRING_MAX + 1])
{
	char *slash, *dot;

	name[0] = '\0';
	if (!is_file(s))
		return;
	strcpy(name, s->name + 1);
	slash = strrchr(name, '/');
	if (slash && strcmp(slash, "/init.lua") == 0) {
		*slash = '\0';
		slash = strrchr(name, '/');
	}
	if (slash)
		memmove(name, slash + 1, strlen(slash));
	dot = strrchr(name, '.');
	if (dot && dot > name)
		*dot = '\0';
}

/* The whole file, to be freed, or NULL. */
static char *read_file(struct lua_names *n, int fd, size_t *size)
{
	struct stat st;
	size_t done = 0;
	char *text;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > source_max ||
	    (uint64_t)st.st_size > all_max - n->bytes)
		return NULL;
	*size = (size_t)st.st_size;
	n->bytes += *size;
	text = malloc(*size);
	while (text && done < *size) {
		const ssize_t more = pread(fd, text + done, *size - done,
					   (off_t)done);

		if (more <= 0) {
			free(text);
			return NULL;
		}
		done += (size_t)more;
	}
	return text;
}

/* ---- giving names ---- */

/* A loader may put functions around a whole text, which is then not all that
 * Lua got. */
static bool is_around(const struct lua_names_function *f,
		      const struct lua_outline *o)
{
	return f->line == 1 && f->last_line >= o->lines;
}

/* Has the text all functions that were noted? One at least. */
static bool agrees(const struct lua_names *n, const struct lua_names_source *s,
		   const struct lua_outline *o)
{
	bool any = false;

	for (uint32_t i = s->first; i != NONE; i = n->function[i].next) {
		const struct lua_names_function *const f = &n->function[i];

		if (lua_outline_find(o, f->line, f->last_line, f->ordinal) > 0)
			any = true;
		else if (!is_around(f, o))
			return false;
	}
	return any;
}

/* The item that came, with another name. */
static void give(const uint64_t *item, const char *name, lua_names_fn *fn,
		 void *ctx)
{
	const uint64_t words = item_words(item[0]);
	const struct seen_item whole = { item, (uint32_t)words };
	const size_t size = strlen(name);
	uint64_t made[2 * ITEM_MAX] = { 0 }, rest;
	struct lua_item f;

	assert(words <= ITEM_MAX && size < LUA_OUTLINE_NAME);
	if (!chunk_names_lua(&whole, &f))
		return;
	memcpy(made, item, f.name * 8);
	rest = (uint64_t)(item_put_string(made + f.name, name, size) - made);
	memcpy(made + rest, item + f.rest, (words - f.rest) * 8);
	made[0] = item_put(ITEM_LUA, rest + words - f.rest);
	fn(ctx, made, (uint32_t)(rest + words - f.rest));
}

/* The outline of the source's text: what is in that file, which is closed, or
 * the name itself where it is no file's. *o is empty if there is none. */
static void read_outline(struct lua_names *n, const struct lua_names_source *s,
			 int fd, struct lua_outline *o)
{
	char module[CHUNK_STRING_MAX + 1];
	size_t size = strlen(s->name);
	char *const text = !is_file(s) ? strdup(s->name) :
			   fd < 0 ? NULL : read_file(n, fd, &size);

	memset(o, 0, sizeof(*o));
	module_name(s, module);
	if (text && lua_outline_read(o, text, size, module) != 0)
		lua_outline_free(o);
	free(text);
	if (fd >= 0)
		close(fd);
}

/* False: this is not the source's text. */
static bool name_by(struct lua_names *n, const struct lua_names_source *s,
		    int fd, lua_names_fn *fn, void *ctx)
{
	struct lua_outline o;
	bool done;

	read_outline(n, s, fd, &o);
	done = o.n > 0 && agrees(n, s, &o);
	for (uint32_t i = s->first; done && i != NONE;
	     i = n->function[i].next) {
		const struct lua_names_function *const f = &n->function[i];
		const char *const name = lua_outline_name(&o,
			lua_outline_find(&o, f->line, f->last_line,
					 f->ordinal));

		if (name[0] != '\0')
			give(n->items + f->item, name, fn, ctx);
	}
	lua_outline_free(&o);
	return done;
}

static void name_source(struct lua_names *n, struct lua_names_source *s,
			lua_names_fn *fn, void *ctx)
{
	bool done = (!is_file(s) || s->fd >= 0) &&
		    name_by(n, s, is_file(s) ? dup(s->fd) : -1, fn, ctx);

	for (int i = 0; i < CHUNK_NAMES_PATHS && !done && is_file(s); i++)
		done = name_by(n, s, open_path(s, i), fn, ctx);
}

void lua_names_read(struct lua_names *n, lua_names_fn *fn, void *ctx)
{
	n->bytes = 0;
	for (size_t i = 0; i < n->sources; i++)
		if (n->source[i].first != NONE)
			name_source(n, &n->source[i], fn, ctx);
}

/* ---- what chunks name ---- */

/* Find or add the source with that name. NULL: there is no room. */
static struct lua_names_source *source_of(struct lua_names *n, uint64_t hash,
					  const char *name, uint32_t pid)
{
	const uint32_t known = name_set_find(&n->by_hash, hash);
	struct lua_names_source *s;

	if (known)
		return &n->source[known - 1];
	if (n->sources >= SOURCES_MAX / (name[0] == '@' ? 1 : 2) ||
	    !grow(&n->source, &n->source_room, n->sources + 1,
		  sizeof(*n->source)) ||
	    !name_set_put(&n->by_hash, hash, (uint32_t)n->sources + 1))
		return NULL;
	s = &n->source[n->sources++];
	*s = (struct lua_names_source){ hash, "", pid, -1, NONE, NULL };
	strcpy(s->name, name);
	for (int i = 0; i < CHUNK_NAMES_PATHS && s->fd < 0 && is_file(s) &&
	     n->opened < OPENED_MAX; i++)
		s->fd = open_path(s, i);
	n->opened += s->fd >= 0;
	return s;
}

/* Keep a function with its item. */
static void add(struct lua_names *n, struct lua_names_source *s,
		const struct lua_item *f, const uint64_t *item, uint64_t words)
{
	if (!grow(&n->items, &n->item_room, n->item_words + words, 8) ||
	    !grow(&n->function, &n->function_room, n->functions + 1,
		  sizeof(*n->function)))
		return;
	n->function[n->functions] = (struct lua_names_function){
		n->item_words, s->first, f->line, f->last_line,
		(uint32_t)f->ordinal };
	memcpy(n->items + n->item_words, item, words * 8);
	n->item_words += words;
	s->first = (uint32_t)n->functions++;
}

static void note_lua(struct lua_names *n, uint32_t pid,
		     const struct seen_item *whole)
{
	const uint64_t *const item = whole->at;
	const uint64_t words = whole->words;
	struct lua_names_source *s;
	struct lua_item f;
	uint64_t hash;

	/* What begins with "=" is a name of no file. */
	if (words > ITEM_MAX || !chunk_names_lua(whole, &f) ||
	    f.file[0] == '\0' || f.file[0] == '=' || f.line == 0)
		return;
	hash = name_set_mix(f.source, item[1]);
	for (uint64_t i = f.rest; i < words; i++)
		hash = name_set_mix(hash, item[i]);
	/* Programs may load texts without end: half the room is for files. */
	if ((f.file[0] != '@' && n->seen.n >= SEEN_MAX / 2) ||
	    !name_set_add(&n->seen, hash))
		return;
	s = source_of(n, f.source, f.file, pid);
	if (s)
		add(n, s, &f, item, words);
}

void lua_names_note(struct lua_names *n, const struct chunk_items *items)
{
	for (uint32_t i = 0; i < items->n; i++)
		note_lua(n, items->h->pid, &items->item[i]);
}

/* ---- before the end ---- */

/* The outline of its file, kept; NULL: there is none, or no memory. s may be
 * NULL. */
static const struct lua_outline *outline_now(struct lua_names *n,
					     struct lua_names_source *s)
{
	if (s && !s->told) {
		s->told = calloc(1, sizeof(*s->told));
		if (s->told)
			read_outline(n, s, s->fd >= 0 ? dup(s->fd) :
				     open_path(s, 0), s->told);
	}
	return s && s->told && s->told->n > 0 ? s->told : NULL;
}

const char *lua_names_told(struct lua_names *n, const struct chunk_header *h,
			   const struct lua_item *f)
{
	const struct lua_outline *const o = f->file[0] != '@' ? NULL :
		outline_now(n, source_of(n, f->source, f->file, h->pid));
	uint32_t function;

	if (!o)
		return "";
	function = lua_outline_find(o, f->line, f->last_line,
				    (uint32_t)f->ordinal);
	return function == 0 ? "" : lua_outline_name(o, function);
}

void lua_names_tell(struct lua_names *n, uint32_t pid, uint64_t hash,
		    const char *name, lua_names_told_fn *fn, void *ctx)
{
	const struct lua_outline *const o = strlen(name) > CHUNK_STRING_MAX ?
		NULL : outline_now(n, source_of(n, hash, name, pid));
	struct lua_names_told told = { .file = name + 1, .source = hash };

	/* The main function comes first, and has no lines. */
	for (uint32_t i = 1; o && i < o->n; i++) {
		const uint32_t k = o->by_lines[i];
		const struct lua_outline_function *const f = &o->function[k];

		told.ordinal = f->first == told.line &&
			       f->last == told.last_line ? told.ordinal + 1 : 0;
		told.line = f->first;
		told.last_line = f->last;
		told.name = lua_outline_name(o, k);
		fn(ctx, &told);
	}
}
