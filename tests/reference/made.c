/* made.c - makes up sessions: made DIR SEED... writes DIR/SEED/spill.weft, a
 * trace, and DIR/SEED.log, what happened in it, one line an event. Ticks are
 * nanoseconds.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/chunk_build.h"
#include "tests/reference/made.h"

#include <sys/stat.h>

static FILE *create(const char *dir, const char *seed, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%s", dir, seed, name);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void begin(struct made *m, struct made_thread *t)
{
	t->is_alive = 1;
	t->is_watched = m->watched == 1 ||
			(m->watched == 2 && made_chance(m, 2));
	m->now += 1 + made_random(m, 600);
	fprintf(m->log, "%llu begin %u\n", (unsigned long long)m->now,
		t->serial);
	made_chunk_begin(m, t, 0);
}

static void end(struct made *m, struct made_thread *t)
{
	const int is_last = made_chance(m, 2);

	if (!t->is_alive)
		return;
	t->is_alive = 0;
	m->now += 1 + made_random(m, 600);
	made_chunk_end(m, t, 0, is_last);
	fprintf(m->log, "%llu end %u %d\n", (unsigned long long)m->now,
		t->serial, is_last);
}

static void play(struct made *m)
{
	const uint64_t steps = made_chance(m, 25) ? 3000 : 60 +
			       made_random(m, 600);
	uint32_t begun = 1;

	m->watched = made_random(m, 3);
	made_cast_all(m);
	made_chunk_meta(m, 0);
	begin(m, &m->thread[0]);
	for (uint64_t i = 0; i < steps; i++) {
		struct made_thread *const t =
			&m->thread[made_random(m, begun)];

		if (begun < m->threads && made_chance(m, 20))
			begin(m, &m->thread[begun++]);
		if (t->is_alive)
			made_act(m, t);
		if (t->is_alive && t != m->thread && made_chance(m, 400))
			end(m, t);
	}
	for (uint32_t i = 0; i < m->threads; i++)
		end(m, &m->thread[i]);
	made_chunk_meta(m, 1);
	made_chunk_write_all(m);
}

static void make(const char *dir, const char *seed)
{
	struct made *const m = calloc(1, sizeof(*m));
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, seed);
	if (mkdir(path, 0777)) {
		perror(path);
		exit(1);
	}
	m->recording = strtoull(seed, NULL, 10);
	m->random = m->recording * UINT64_C(0x9e3779b97f4a7c15) + 12345;
	m->now = UINT64_C(5000000000);
	m->log = create(dir, seed, ".log");
	m->spill = create(dir, seed, "/spill.weft");
	play(m);
	fclose(m->log);
	fclose(m->spill);
	for (uint32_t i = 0; i < m->threads; i++) {
		free(m->thread[i].stream[0].build);
		free(m->thread[i].stream[1].build);
	}
	free(m->chunk);
	free(m);
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		make(argv[1], argv[i]);
	return 0;
}
