/* made_cast.c - who plays: processes, threads, Lua states, functions; each is
 * told to the log with what names it.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/chunk_build.h"
#include "tests/reference/made.h"

static const char *const paths[MADE_MODULES] = {
	"/opt/mill/bin/mill", "/usr/lib/libgrain.so.2", "/opt/mill/lib/oven.so"
};
static const char *const sources[] = { "@mill.lua", "@lib/dough.lua",
				       "=stdin" };
static const char *const hints[] = { "knead", "bake", "rise", "?", "" };
static const char *const c_hints[] = { "grain.sift", "oven.heat", "", "" };

const char *made_cast_path(uint32_t module)
{
	return paths[module];
}

static void make_native(struct made *m, struct made_func *f, uint32_t i)
{
	f->kind = MADE_NATIVE;
	f->module = (uint32_t)made_random(m, MADE_MODULES);
	f->offset = 0x1000 + i * 0x40;
	if (i < 2)
		strcpy(f->hint, c_hints[i]);
	fprintf(m->log, "func %u native %s 0x%llx %s\n", i, paths[f->module],
		(unsigned long long)f->offset, *f->hint ? f->hint : "-");
}

/* In another session the same function has the same name. The first may be a
 * main chunk; three and three others stand on the same lines, those that are of
 * one source: the second and the third are called alike. */
static void make_lua(struct made *m, struct made_func *f, uint32_t i)
{
	const uint64_t source = made_random(m, 3);

	f->kind = MADE_LUA;
	f->line = (i + 2) / 3 * 10;
	f->last_line = f->line + 5;
	f->ordinal = i == 0 ? 0 : (i + 2) % 3;
	strcpy(f->source, sources[source]);
	strcpy(f->hint, hints[(source + i - (f->ordinal == 2)) % 5]);
	fprintf(m->log, "func %u lua %s %u %u %u %s\n", i, f->source, f->line,
		f->last_line, f->ordinal, *f->hint ? f->hint : "-");
}

static void make_code(struct made *m, struct made_func *f, uint32_t i)
{
	f->kind = MADE_CODE;
	f->offset = 0x7f0000000000 + i * 0x100;
	fprintf(m->log, "func %u code 0x%llx\n", i,
		(unsigned long long)f->offset);
}

static void make_funcs(struct made *m)
{
	m->funcs = 3 + (uint32_t)made_random(m, MADE_FUNCS - 3);
	for (uint32_t i = 0; i < m->funcs; i++) {
		const uint64_t what = made_random(m, 20);

		if (what == 0)
			make_code(m, &m->func[i], i);
		else if (what < 10)
			make_native(m, &m->func[i], i);
		else
			make_lua(m, &m->func[i], i);
	}
}

static void make_threads(struct made *m)
{
	m->threads = m->processes + (uint32_t)made_random(m, 4);
	for (uint32_t i = 0; i < m->threads; i++) {
		struct made_thread *const t = &m->thread[i];

		t->process = i < m->processes ? i + 1 :
			1 + (uint32_t)made_random(m, m->processes);
		t->serial = i + 1;
		t->segments = 1;
		t->first_func = (uint32_t)made_random(m, m->funcs);
		for (int level = 0; level < 2; level++)
			t->stream[level].build =
				malloc(sizeof(*t->stream[level].build));
		fprintf(m->log, "thread %u %u %u worker-%u\n", t->serial,
			t->process, 2000 + t->serial, i % 3);
	}
}

static void make_vms(struct made *m)
{
	static const uint32_t abis[] = { 51, 52, 53, 54, 21 };

	m->vms = (uint32_t)made_random(m, MADE_VMS + 1);
	for (uint32_t i = 0; i < m->vms; i++) {
		m->vm[i].process = 1 + (uint32_t)made_random(m, m->processes);
		m->vm[i].abi = abis[made_random(m, 5)];
		fprintf(m->log, "vm %u %u %u\n", i + 1, m->vm[i].process,
			m->vm[i].abi);
	}
}

/* Of each process, and of all; one key may be both. */
static void tell_labels(struct made *m)
{
	for (uint32_t i = 0; i <= m->processes; i++) {
		m->label[i] = made_chance(m, 2) ? 0 :
			      1 + (uint32_t)made_random(m, 4);
		if (m->label[i])
			fprintf(m->log, "label %u %s %s\n", i,
				made_cast_label(m->label[i], 0),
				made_cast_label(m->label[i], 1));
	}
}

const char *made_cast_label(uint32_t label, int is_value)
{
	static const char *const labels[][2] = {
		{ "zone", "eu" }, { "zone", "us" }, { "service", "oven" },
		{ "version", "2.1" } };

	return labels[label - 1][is_value];
}

void made_cast_all(struct made *m)
{
	m->processes = 1 + (uint32_t)made_random(m, MADE_PROCESSES);
	for (uint32_t i = 0; i < m->processes; i++) {
		m->path_of[i] = (uint32_t)made_random(m, 2);
		fprintf(m->log, "process %u %u %s\n", i + 1, 1001 + i,
			paths[m->path_of[i]]);
	}
	make_funcs(m);
	make_threads(m);
	make_vms(m);
	tell_labels(m);
}
