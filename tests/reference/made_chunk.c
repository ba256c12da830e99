/* made_chunk.c - the made-up session as chunks, from docs/format.md: each is
 * opened with the stacks that stand, filled, closed and kept until the end.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/chunk_build.h"
#include "tests/reference/made.h"

static void keep(struct made *m, const struct chunk_build *b,
		 const void *stream)
{
	struct made_chunk *c;

	if (m->chunks == m->chunk_room) {
		m->chunk_room = m->chunk_room * 2 + 64;
		m->chunk = realloc(m->chunk, m->chunk_room * sizeof(*c));
	}
	c = &m->chunk[m->chunks++];
	*c = (struct made_chunk){ malloc(b->n * 8), b->n, stream };
	memcpy(c->words, b->words, b->n * 8);
}

static void put_label(struct chunk_build *b, uint32_t label)
{
	if (label)
		cb_pair(b, ITEM_LABEL, made_cast_label(label, 0),
			made_cast_label(label, 1));
}

static void put_process(struct made *m, struct chunk_build *b,
			uint32_t process)
{
	const size_t at = cb_item(b);

	cb_item_word(b, process > 1);
	cb_string(b, made_cast_path(m->path_of[process - 1]));
	cb_item_end(b, at, ITEM_PROCESS);
	put_label(b, m->label[process]);
}

uint32_t made_chunk_func(struct made *m, struct made_thread *t, int level,
			 uint32_t func)
{
	struct made_stream *const s = &t->stream[level];
	struct chunk_build *const b = s->build;
	const struct made_func *const f = &m->func[func];
	char key[16], id[8];
	uint32_t i;
	size_t at;

	snprintf(key, sizeof(key), "f%u", func);
	i = cb_find(b, key);
	if (i != UINT32_MAX)
		return i;
	if (f->kind == MADE_CODE)
		return cb_dict(b, key, dict_put_code(f->offset));
	if (f->kind == MADE_LUA) {
		at = cb_item(b);
		cb_item_word(b, (uint64_t)f->line << 32 | f->last_line);
		cb_string(b, f->source);
		cb_string(b, f->hint);
		if (f->ordinal)
			cb_item_word(b, f->ordinal);
		cb_item_end(b, at, ITEM_LUA);
		return cb_dict(b, key, dict_put_item(DICT_LUA, (uint32_t)at));
	}
	if (!s->module[f->module]) {
		snprintf(id, sizeof(id), "id-%u", f->module);
		s->module[f->module] = ++s->modules;
		cb_module(b, s->modules - 1, id, made_cast_path(f->module));
	}
	i = cb_native(b, key, s->module[f->module] - 1, f->offset);
	if (*f->hint) {
		at = cb_item(b);
		cb_item_word(b, i);
		cb_string(b, f->hint);
		cb_item_end(b, at, ITEM_HINT);
	}
	return i;
}

void made_chunk_vm(struct made *m, struct made_thread *t, uint32_t vm)
{
	struct made_stream *const s = &t->stream[0];
	size_t at;

	if (s->vm_told[vm - 1])
		return;
	s->vm_told[vm - 1] = 1;
	at = cb_item(s->build);
	cb_item_word(s->build, vm);
	cb_item_word(s->build, (uint64_t)m->vm[vm - 1].abi << 32);
	cb_item_word(s->build, 0x5000 + vm);
	cb_item_end(s->build, at, ITEM_VM);
}

static void put_stack(struct made *m, struct made_thread *t, uint64_t tick)
{
	struct chunk_build *const b = t->stream[0].build;

	for (uint32_t i = 0; i < t->segments; i++) {
		const uint32_t serial = t->segment[i];
		const struct made_stack *const s = serial ?
			&m->co[serial].stack : &t->own;

		cb_segment(b, serial);
		for (uint32_t k = 0; k < s->depth; k++) {
			const uint32_t f = made_chunk_func(m, t, 0,
							   s->frame[k].func);

			b->stack[b->segment + 1]++;
			b->stack[b->stack_words++] = rec_put(REC_OPERAND, f,
				tick - s->frame[k].entry);
		}
		if (s->depth > 0 && s->on_body)
			cb_body(b, rec_put(REC_OPERAND,
				made_chunk_func(m, t, 0, s->body.func),
				tick - s->body.entry));
	}
}

/* A chunk of level 0 goes on where the one before ended, which is now; so does
 * one of level 1, which may have ended long ago. */
void made_chunk_begin(struct made *m, struct made_thread *t, int level)
{
	struct made_stream *const s = &t->stream[level];
	struct chunk_build *const b = s->build;
	const struct made_stream *const below = &t->stream[0];

	cb_begin(b, t->process, t->serial, s->number++,
		 s->end ? s->end : m->now);
	b->header.recording = m->recording;
	b->header.level = (uint32_t)level;
	if (level) {
		b->header.interrupted_chunk = below->number - 1;
		b->header.interrupted_record = below->build->header.records;
	}
	b->header.written = s->written;
	snprintf((char *)b->header.thread_name, sizeof(b->header.thread_name),
		 "worker-%u", (t->serial - 1) % 3);
	s->is_open = 1;
	s->modules = 0;
	memset(s->module, 0, sizeof(s->module));
	memset(s->vm_told, 0, sizeof(s->vm_told));
	put_process(m, b, t->process);
	if (!level)
		put_stack(m, t, b->tick);
}

/* What switches tell: of each time without the CPU three numbers, as SWITCHES
 * has them; or pairs, as OFFCPU has them. */
static void put_aways(struct chunk_build *b, uint64_t from, uint64_t to,
		      const uint64_t *number, size_t n, bool as_pairs)
{
	const size_t at = cb_item(b);

	cb_item_word(b, from);
	cb_item_word(b, to);
	for (size_t i = 0; as_pairs && i < n; i += 3) {
		const uint64_t begin = from + number[i];

		from = begin + number[i + 1] + number[i + 2];
		cb_item_word(b, begin);
		cb_item_word(b, from);
		for (int k = 0; k < 2 && number[i + 2] > 0; k++)
			cb_item_word(b, from);
	}
	if (!as_pairs)
		cb_numbers(b, number, n);
	cb_item_end(b, at, as_pairs ? ITEM_OFFCPU : ITEM_SWITCHES);
}

/* For some of a chunk's time the thread's switches are known. */
static void put_switches(struct made *m, struct made_thread *t)
{
	struct chunk_build *const b = t->stream[0].build;
	const uint64_t begin = b->header.tick_begin, span = m->now - begin;
	uint64_t from = begin, to = m->now, last;
	uint64_t number[3 * 5];
	size_t n = 0;

	if (made_chance(m, m->watched == 1 ? 40 : 3)) {
		from += made_random(m, span / 2 + 1);
		to -= made_random(m, span / 2 + 1);
	}
	if (from >= to)
		return;
	fprintf(m->log, "known %u %llu %llu\n", t->serial,
		(unsigned long long)from, (unsigned long long)to);
	last = from;
	for (uint64_t i = made_random(m, 5); i > 0 && last + 2 < to; i--) {
		const uint64_t a = last + made_random(m, (to - last) / 2 + 1);
		const uint64_t z = a + 1 + made_random(m, (to - a) / 2 + 1);

		if (z > to)
			break;
		const int is_ready = made_chance(m, 2);

		number[n++] = a - last;
		number[n++] = is_ready ? 0 : z - a;
		number[n++] = is_ready ? z - a : 0;
		fprintf(m->log, "off %u %llu %llu %d\n", t->serial,
			(unsigned long long)a, (unsigned long long)z, is_ready);
		last = z;
	}
	put_aways(b, from, to, number, n, made_chance(m, 4));
}

/* What interrupted a chunk is closed before it. */
void made_chunk_end(struct made *m, struct made_thread *t, int level,
		    int is_last)
{
	struct made_stream *const s = &t->stream[level];
	struct chunk_build *const b = s->build;

	if (!s->is_open)
		return;
	if (level == 0) {
		made_chunk_end(m, t, 1, 0);
		if (t->is_watched)
			put_switches(m, t);
	}
	s->end = level == 0 ? m->now : b->tick;
	s->written += b->header.records;
	s->is_open = 0;
	if (is_last)
		b->header.flags |= CHUNK_LAST;
	cb_end(b, s->end);
	keep(m, b, s);
}

uint64_t made_chunk_gap(struct made *m, struct made_stream *s)
{
	uint64_t gap = m->now - s->build->tick;

	if (gap <= REC_GAP_MAX && !made_chance(m, 50))
		return gap;
	cb_time(s->build, gap - gap % 7);
	return gap % 7;
}

void made_chunk_meta(struct made *m, int is_end)
{
	struct chunk_build *const b = calloc(1, sizeof(*b));

	cb_begin(b, 0, 0, (uint64_t)is_end, m->now);
	b->header.recording = m->recording;
	b->header.flags = CHUNK_META;
	cb_pair(b, ITEM_NOTE, is_end ? "end" : "command",
		is_end ? "1" : "made-up");
	put_label(b, m->label[0]);
	if (is_end)
		cb_pair(b, ITEM_NOTE, "complete", "yes");
	cb_end(b, m->now);
	keep(m, b, m);
	free(b);
}

/* Chunks of a stream stay in order; handlers' chunks come before those they
 * interrupted, or after; streams come as chance has it. */
void made_chunk_write_all(struct made *m)
{
	const int is_mixed = made_chance(m, 2);
	size_t left = m->chunks, first = 0;

	while (left > 0) {
		size_t i = first;

		while (!m->chunk[i].words)
			i++;
		first = i;
		if (is_mixed) {
			const size_t skip = made_random(m, 8);
			const size_t far = i + skip < m->chunks ? i + skip : i;
			const void *const stream = m->chunk[far].stream;

			while (!m->chunk[i].words ||
			       m->chunk[i].stream != stream) {
				if (++i > far) {
					i = first;
					break;
				}
			}
		}
		fwrite(m->chunk[i].words, 8, m->chunk[i].n, m->spill);
		free(m->chunk[i].words);
		m->chunk[i].words = NULL;
		left--;
	}
}
