/* load_profile.c - a load from a profile, and a profile from a load. What the
 * reader of the trace had to say travels as notes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/load_profile.h"

#include "analyzer/base/err.h"
#include "analyzer/load/header.h"
#include "analyzer/load/completeness.h"
#include "analyzer/merge/merge.h"
#include "analyzer/out/out_file.h"
#include "analyzer/profile/prof.h"
#include "analyzer/base/vec.h"

#include <stdio.h>
#include <string.h>

static const char trouble_key[] = "reader.trouble";

/* The files need not be here: names are as they were when the profile was made,
 * and so is what was wrong with them. */
static struct sym_module *modules_of(const struct session *s)
{
	const size_t count = func_elf_count(s->funcs);
	struct sym_module *const m = mem_alloc((count + 1) * sizeof(*m));

	for (elf_id i = 0; i <= count; i++) {
		const struct naming *n;

		m[i].file = m[i].why = "";
		if (i == 0 || i > s->naming_count)
			continue;
		n = &s->namings[i - 1];
		m[i] = (struct sym_module){ n->file, n->why, n->asked,
			n->named, n->hinted, n->is_refused != 0 };
	}
	return m;
}

static void take_trouble(struct load *load)
{
	struct session *const s = load->session;
	size_t kept = 0;

	for (size_t i = 0; i < s->note_count; i++) {
		if (strcmp(s->notes[i].key, trouble_key) == 0)
			snprintf(load->in.trouble, sizeof(load->in.trouble),
				 "%s", s->notes[i].value);
		else
			s->notes[kept++] = s->notes[i];
	}
	s->note_count = kept;
}

/* What the session holds is all there is. */
static void set_rest(struct load *load, const char *reader)
{
	const struct session *const s = load->session;

	load->is_profile = 1;
	load->modules = modules_of(s);
	snprintf(load->in.reader, sizeof(load->in.reader), "%s", reader);
	load->in.chunks = s->chunks;
	load->in.words = s->words;
	load->in.bad = s->bad_chunks;
	load->in.duplicates = s->duplicate_chunks;
	take_trouble(load);
}

enum cmd_exit load_profile_read(struct load *load)
{
	load->session = prof_read(load->path);
	if (!load->session)
		return CMD_UNREADABLE;
	set_rest(load, load->session->part_count > 0 ? "weft, merged" :
		 "weft, a profile");
	return CMD_OK;
}

/* --- several ------------------------------------------------------------- */

/* Before it goes: what the reader, not the session, knows. */
static void put_trouble(struct load *load)
{
	struct session *const s = load->session;

	if (load->in.bad > s->bad_chunks)
		s->bad_chunks = load->in.bad;
	if (load->in.trouble[0] == '\0')
		return;
	s->notes = mem_grow(s->notes, s->note_count + 1, sizeof(*s->notes));
	s->notes[s->note_count++] = (struct note){ trouble_key,
		arena_copy(s->text, load->in.trouble,
			   strlen(load->in.trouble)) };
}

static void put_modules(struct load *load)
{
	struct session *const s = load->session;
	const size_t count = func_elf_count(s->funcs);

	if (s->namings || !load->modules)
		return;
	s->namings = mem_alloc((count + 1) * sizeof(*s->namings));
	s->naming_count = count;
	for (elf_id i = 1; i <= count; i++) {
		const struct sym_module *const m = &load->modules[i];

		s->namings[i - 1] = (struct naming){ m->file, m->why,
			m->asked, m->named, m->hinted,
			(uint64_t)m->is_refused };
	}
}

enum cmd_exit load_profile_merge(struct load *load,
				 const struct replay_collect *want, int count,
				 char **operands)
{
	struct merge *const sum = merge_new();
	enum cmd_exit status = CMD_OK;

	memset(load, 0, sizeof(*load));
	load->want = *want;
	if (count == 0) {
		err_add("which traces or profiles?");
		status = CMD_USAGE;
	}
	for (int i = 0; i < count && status == CMD_OK; i++) {
		struct load one;

		status = load_open_whole(&one, want, operands[i]);
		if (status == CMD_OK) {
			put_trouble(&one);
			put_modules(&one);
			merge_add(sum, one.session);
		}
		load_close(&one);
	}
	load->session = merge_end(sum);
	load->path = count == 1 ? operands[0] : "several sessions";
	if (status == CMD_OK)
		set_rest(load, "weft, merged");
	return status;
}

/* --- writing ------------------------------------------------------------- */

struct comments {
	struct arena *arena;
	const char **text;
	size_t count, room;
	const char *kind;
};

static void add_comment(void *ctx, const char *sentence)
{
	struct comments *const c = ctx;
	char text[1200];

	snprintf(text, sizeof(text), "%s: %s", c->kind, sentence);
	*vec_add(&c->text, &c->room, &c->count) =
		arena_copy(c->arena, text, strlen(text));
}

static void collect(struct comments *c, const struct load *load)
{
	const char *const command = session_note(load->session, "command");

	c->kind = "weft";
	add_comment(c, !command ? "a recording" : command);
	c->kind = "lost";
	if (completeness_each(load, add_comment, c) == 0)
		add_comment(c, "nothing");
	c->kind = "note";
	completeness_notes(load, add_comment, c);
}

/* Coroutines whose Lua state was learnt of late are told apart one by one:
 * their states are known now, and single coroutines do not go along. */
static void settle_states(struct session *s)
{
	const size_t count = cct_count(s->cct);
	struct cct *const t = cct_new(SIZE_MAX);
	node_id *const to = mem_alloc((count + 1) * sizeof(*to));

	cct_collect_as(t, s->cct);
	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(s->cct, id);
		const uint32_t flags = (n->flags & CCT_SHAPE) |
			session_body_vm(s, n->flags) << CCT_OF_SHIFT;

		to[id] = n->parent == 0 ? cct_root(t, n->thread) :
			 cct_child(t, to[n->parent], n->func, flags);
		cct_add(t, to[id], s->cct, id);
	}
	cct_take(s->cct, t);
	mem_free(to);
}

struct writing { struct load *load; struct prof_about about; };

static int write_profile(FILE *to, void *ctx)
{
	const struct writing *const w = ctx;

	return prof_write(to, w->load->session, &w->about);
}

int load_profile_write(struct load *load, const char *file)
{
	struct comments c = { .arena = arena_new() };
	struct writing w = { .load = load };
	int status;

	if (load->want.vm)
		settle_states(load->session);
	put_trouble(load);
	put_modules(load);
	collect(&c, load);
	w.about.comments = c.text;
	w.about.comment_count = c.count;
	w.about.duration = header_duration(load->session);
	status = out_file_write(file, write_profile, &w);
	mem_free(c.text);
	arena_free(c.arena);
	return status;
}
