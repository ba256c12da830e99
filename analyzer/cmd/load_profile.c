/* load_profile.c - a load from a profile, and a profile from a load. What the
 * reader of the trace had to say travels as notes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/load_profile.h"

#include "analyzer/base/err.h"
#include "analyzer/cmd/head.h"
#include "analyzer/cmd/loss.h"
#include "analyzer/out/out_file.h"
#include "analyzer/prof/prof.h"

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

static void put_modules(struct load *load)
{
	struct session *const s = load->session;
	const size_t count = func_elf_count(s->funcs);

	if (s->namings != NULL || load->modules == NULL)
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

enum cmd_exit load_profile_read(struct load *load)
{
	load->session = prof_read(load->path);
	if (load->session == NULL)
		return CMD_UNREADABLE;
	load->is_profile = 1;
	load->modules = modules_of(load->session);
	snprintf(load->in.reader, sizeof(load->in.reader), "weft, a profile");
	load->in.chunks = load->session->chunks;
	load->in.words = load->session->words;
	load->in.bad = load->session->bad_chunks;
	load->in.duplicates = load->session->duplicate_chunks;
	take_trouble(load);
	return CMD_OK;
}

/* --- writing ------------------------------------------------------------ */

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
	mem_need((void **)&c->text, &c->room, c->count + 1, sizeof(*c->text));
	c->text[c->count++] = arena_copy(c->arena, text, strlen(text));
}

static void collect(struct comments *c, const struct load *load)
{
	const char *const command = session_note(load->session, "command");

	c->kind = "weft";
	add_comment(c, command == NULL ? "a recording" : command);
	c->kind = "lost";
	if (loss_each(load, add_comment, c) == 0)
		add_comment(c, "nothing");
	c->kind = "note";
	loss_notes(load, add_comment, c);
}

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

	put_trouble(load);
	put_modules(load);
	collect(&c, load);
	w.about.comments = c.text;
	w.about.comment_count = c.count;
	w.about.duration = head_duration(load->session);
	status = out_file_write(file, write_profile, &w);
	mem_free(c.text);
	arena_free(c.arena);
	return status;
}
