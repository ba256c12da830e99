/* load_profile.c - a profile from a load: what the reader of the trace had to
 * say goes along as comments, which are for people who read other tools'
 * output, and in the session's notes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/load_profile.h"

#include "analyzer/base/vec.h"
#include "analyzer/load/completeness.h"
#include "analyzer/out/out_file.h"
#include "analyzer/profile/profile.h"
#include "analyzer/tables/filter.h"

#include <stdio.h>

/* Sentences for prof_write, each with what it is in front. */
struct comments {
	struct arena *arena;
	const char **text;
	size_t count, room;
	const char *kind;
};

static void add_comment(void *ctx, const char *sentence)
{
	struct comments *const c = ctx;

	*vec_add(&c->text, &c->room, &c->count) =
		arena_print(c->arena, "%s: %s", c->kind, sentence);
}

/* The same sentences as at the top of a report, so that they are seen in other
 * tools, too. */
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

/* What write_profile gets through out_file_write. */
struct writing { struct load *load; struct profile_about about; };

static int write_profile(FILE *to, void *ctx)
{
	const struct writing *const w = ctx;

	return profile_write(to, w->load->session, &w->about);
}

int load_profile_write(struct load *load, const char *file)
{
	struct comments c = { .arena = arena_new() };
	struct writing w = { .load = load };
	int status;

	/* Coroutines whose Lua state was learnt of late are told apart one by
	 * one: their states are known now, and single coroutines do not go
	 * along. */
	if (load->want.vm)
		filter_apply(load->session, &(struct filter){ 0 },
			     FILTER_KEEP_VM);
	load_complete(load);
	collect(&c, load);
	w.about.comments = c.text;
	w.about.comment_count = c.count;
	w.about.duration = session_duration(load->session);
	status = out_file_write(file, write_profile, &w);
	mem_free(c.text);
	arena_free(c.arena);
	return status;
}
