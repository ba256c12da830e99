/* identities.c - which process, thread, coroutine, VM and function of the
 * session a chunk's numbers stand for; and what its items tell about them.
 * Knows no stacks.
 *
 * Serials are unique in a process or recording. The maps turn them into indices
 * of the session + 1, where 0 means that nothing is known yet.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

#include <stdio.h>
#include <string.h>

/* The index of the chunk's process; added when it is new. */
static uint32_t find_process(struct replay *r, const struct chunk_header *h)
{
	struct session *const s = r->session;
	uint32_t *const id = map_put(r->process_of, h->recording, h->process);

	if (!*id) {
		*vec_add(&s->processes, &r->process_room, &s->process_count) =
			(struct process){
				.recording = h->recording, .serial = h->process,
				.pid = h->pid, .start = h->process_start,
				.path = "" };
		*id = (uint32_t)s->process_count;
	}
	return *id - 1;
}

/* A thread may change its name: the latest one in the order of the chunks
 * stays. Each thread has a root in the tree from the beginning. */
uint32_t replay_identities_thread(struct replay *r,
				  const struct chunk_header *h)
{
	struct session *const s = r->session;
	const uint32_t process = find_process(r, h);
	uint32_t *const id = map_put(r->thread_of, process, h->thread);
	struct thread *t;

	if (!*id) {
		*vec_add(&s->threads, &r->thread_room, &s->thread_count) =
			(struct thread){
				.process = process, .serial = h->thread,
				.tid = h->tid, .first = h->tick_begin };
		*id = (uint32_t)s->thread_count;
		cct_root(s->cct, *id - 1);
	}
	t = &s->threads[*id - 1];
	if (h->thread_name[0])
		memcpy(t->name, h->thread_name, sizeof(h->thread_name));
	return *id - 1;
}

void replay_number_as(struct replay *r, const struct session *other)
{
	for (size_t i = 0; i < other->process_count; i++) {
		const struct process *const p = &other->processes[i];

		find_process(r, &(struct chunk_header){
			.recording = p->recording, .process = p->serial,
			.pid = p->pid, .process_start = p->start });
	}
	for (size_t i = 0; i < other->thread_count; i++) {
		const struct thread *const t = &other->threads[i];
		const struct process *const p = &other->processes[t->process];

		replay_identities_thread(r, &(struct chunk_header){
			.recording = p->recording, .process = p->serial,
			.thread = t->serial, .tid = t->tid,
			.tick_begin = t->first });
	}
}

uint32_t replay_identities_coroutine(struct replay *r, uint32_t process,
			      uint64_t serial)
{
	struct session *const s = r->session;
	uint32_t *const id = map_put(r->co_of, process, serial);

	if (!*id) {
		vec_need(&s->coroutines, &r->co_room, s->coroutine_count + 1);
		vec_need(&r->co_kept, &r->co_kept_room, s->coroutine_count + 1);
		r->co_kept[s->coroutine_count] = (struct co_kept){ 0 };
		s->coroutines[s->coroutine_count++] = (struct coroutine){
			.process = process, .serial = serial };
		*id = (uint32_t)s->coroutine_count;
	}
	return *id;
}

/* The native coroutine that a VM belongs to. */
static void book_vm(struct replay *r, uint32_t process,
		    const struct chunk_vm *vm)
{
	const uint32_t co = replay_identities_coroutine(r, process, vm->fiber);
	struct coroutine *const c = &r->session->coroutines[co - 1];

	c->is_native = true;
	if (c->vm == 0)
		c->vm = vm->serial;
}

/* A VM's flags may become more with time. */
static void add_vm(struct replay *r, uint32_t process,
		   const struct chunk_item *item)
{
	struct session *const s = r->session;
	struct chunk_vm vm;
	uint32_t *id;

	decode_vm(item, &vm);
	if (vm.fiber != 0)
		book_vm(r, process, &vm);
	id = map_put(r->vm_of, process, vm.serial);
	if (*id) {
		s->vms[*id - 1].flags |= vm.flags;
		return;
	}
	*vec_add(&s->vms, &r->vm_room, &s->vm_count) =
		(struct vm){ process, vm.serial, vm.abi, vm.flags };
	*id = (uint32_t)s->vm_count;
}

/* The first path that is known stays. */
static void set_process(struct replay *r, uint32_t process, uint32_t thread,
			const struct chunk_item *item)
{
	struct process *const p = &r->session->processes[process];
	struct chunk_string path;

	p->parent = decode_process(item, &path,
				   &r->session->threads[thread].handle);
	if (!*p->path && path.stored > 0)
		p->path = arena_copy(r->session->text, path.bytes,
				     path.stored);
}

/* Numbers of modules hold in one chunk only. */
static void add_module(struct replay *r, const struct chunk_item *item)
{
	struct chunk_module m;
	char path[CHUNK_STRING_MAX + 1];

	decode_module(item, &m);
	decode_text(&m.path, path);
	r->module[m.number] = func_module(r->session->funcs, path, m.build_id,
					  m.build_id_size, m.size);
}

/* The function that an ITEM_LUA describes; *name: what it is called there. */
static func_id find_lua(struct replay *r, const struct chunk_item *item,
			struct chunk_string *name)
{
	struct chunk_lua l;

	decode_lua(item, &l);
	*name = l.name;
	return func_lua(r->session->funcs, &(struct func_origin){
		l.source.bytes, l.source.stored, l.source.length,
		l.source.hash, l.line, l.last_line, l.ordinal }, "");
}

/* In a chunk of the recorder's own it has the name that its source gives it. */
static void define(struct replay *r, const struct chunk_item *item)
{
	char name[CHUNK_STRING_MAX + 1];
	struct chunk_string s;
	const func_id id = find_lua(r, item, &s);

	func_define(r->session->funcs, id, decode_text(&s, name));
}

/* The function that a word of the dictionary stands for. *hint: what a Lua
 * function is called there. */
static func_id find_func(struct replay *r, const struct chunk *chunk,
			 uint64_t word, struct chunk_string *hint)
{
	struct func_table *const t = r->session->funcs;
	struct chunk_item item;
	struct chunk_string s;
	char name[CHUNK_STRING_MAX + 1];

	switch (dict_kind(word)) {
	case DICT_NATIVE:
		return func_native(t, r->module[dict_module(word)],
				   dict_offset(word));
	case DICT_CODE:
		return func_code(t, dict_offset(word));
	case DICT_LUA:
		decode_dict_item(chunk, word, &item);
		return find_lua(r, &item, hint);
	default:
		decode_dict_item(chunk, word, &item);
		decode_name(&item, &s);
		return func_name(t, decode_text(&s, name));
	}
}

/* The length of what both spans have. */
static ticks common(ticks a, ticks a_end, ticks b, ticks b_end)
{
	const ticks from = a > b ? a : b, to = a_end < b_end ? a_end : b_end;

	return to > from ? to - from : 0;
}

uint64_t replay_ns(const struct chunk_header *h, ticks n)
{
	const double ns = h->tick_hz == 0 ? 0 :
			  (double)n / (double)h->tick_hz * 1e9;

	return ns < 0x1p63 ? (uint64_t)ns : UINT64_C(1) << 63;
}

/* How long the thread ran between these times, by its switches, in ns. */
static uint64_t ran(const struct chunk_header *h, struct chunk_switches s,
		    ticks from, ticks to)
{
	ticks on = common(s.from, s.to, from, to);
	struct chunk_away away;

	while (decode_next_away(&s, &away))
		on -= common(away.from, away.to, from, to);
	return replay_ns(h, on);
}

/* Whether so long on the CPU is more than the CPU clock can have left out: what
 * the machine's host took, and what lies between two readings. */
static bool is_too_long(uint64_t on, uint64_t cpu)
{
	return on > cpu && on - cpu > on / 4 + 1000000;
}

/* Whether the thread ran for less than its switches say, by its CPU clock. That
 * was read with the chunk's clock pair, and when the chunk was closed. The time
 * of that is not known: the CPU time that is left belongs to the time before
 * the next chunk's pair. */
static bool contradicts_clock(struct stream *st, const struct chunk_header *h,
			      const struct chunk_switches *s)
{
	const ticks middle = h->pair_tick < h->tick_begin ? h->tick_begin :
			     h->pair_tick;
	const uint64_t before = ran(h, *s, h->tick_begin, middle);
	const uint64_t after = ran(h, *s, middle, h->tick_end);
	const uint64_t cpu = h->cpu_end > h->cpu_begin ?
			     h->cpu_end - h->cpu_begin : 0;
	const bool follows = st->cpu_at != 0 && st->cpu_at == h->cpu_begin &&
			     (h->flags & CHUNK_GAP) == 0;
	const bool is_wrong = (follows && is_too_long(before, st->cpu_left)) ||
			      (h->cpu_end != 0 && is_too_long(after, cpu));

	st->cpu_at = h->cpu_end;
	st->cpu_left = cpu > after ? cpu - after : 0;
	return is_wrong;
}

/* A thread's switches become edges of its time. */
static void add_offcpu(struct replay *r, struct stream *st,
		       const struct chunk_header *h,
		       const struct chunk_item *item)
{
	struct thread *const t = &r->session->threads[st->thread];
	struct chunk_switches s;
	struct chunk_away away;

	if (!decode_switches(item, &s) || contradicts_clock(st, h, &s))
		return;
	cct_collect_cpu(r->session->cct);
	t->known += s.to - s.from;
	replay_time_add_edge(&st->own, s.from, CPU_ON);
	while (decode_next_away(&s, &away)) {
		t->offcpu += away.to - away.from;
		if (away.from < away.ready)
			replay_time_add_edge(&st->own, away.from, CPU_OFF);
		if (away.ready < away.to)
			replay_time_add_edge(&st->own, away.ready, CPU_READY);
		replay_time_add_edge(&st->own, away.to, CPU_ON);
	}
	replay_time_add_edge(&st->own, s.to, CPU_UNKNOWN);
}

/* The dictionary, and what its functions are called: each has one hint a chunk,
 * which is the last one in it. */
static void find_all(struct replay *r, const struct chunk *chunk)
{
	const uint32_t n = chunk->header.funcs;
	struct chunk_item item = { 0 };
	struct chunk_string s;
	char name[CHUNK_STRING_MAX + 1];

	memset(r->hint, 0, n * sizeof(*r->hint));
	for (uint32_t i = 0; i < n; i++)
		r->func[i] = find_func(r, chunk, chunk->dict[i], &r->hint[i]);
	while (decode_next_item(chunk, &item)) {
		if (item.type == ITEM_HINT) {
			const uint32_t i = decode_hint(&item, &s);

			r->hint[i] = s;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (r->hint[i].stored > 0)
			func_hint(r->session->funcs, r->func[i],
				  decode_text(&r->hint[i], name));
}

/* ---- notes and labels ---- */

/* So many are kept. Each new one is compared with all others, so their number
 * must be bounded. */
enum { MAX_NOTES = 4096, MAX_LABELS = 256 };

/* The same note may come in several chunks; it is kept once. */
static void add_note(struct replay *r, const char *prefix,
		     const struct chunk_item *item)
{
	struct session *const s = r->session;
	struct chunk_string k, v;
	char key[CHUNK_STRING_MAX + 16], bytes[CHUNK_STRING_MAX + 1];
	const char *value;

	decode_pair(item, &k, &v);
	snprintf(key, sizeof(key), "%s%s", prefix, decode_text(&k, bytes));
	value = decode_text(&v, bytes);
	for (size_t i = 0; i < s->note_count; i++)
		if (!strcmp(s->notes[i].key, key) &&
		    !strcmp(s->notes[i].value, value))
			return;
	if (s->note_count >= MAX_NOTES)
		return;
	*vec_add(&s->notes, &r->note_room, &s->note_count) = (struct note){
		arena_copy(s->text, key, strlen(key)),
		arena_copy(s->text, value, strlen(value)) };
}

/* process: its index + 1; 0: the whole recording. */
static void add_label(struct replay *r, uint64_t recording, uint32_t process,
		      const struct chunk_item *item)
{
	struct session *const s = r->session;
	struct chunk_string k, v;
	char key[CHUNK_STRING_MAX + 1], value[CHUNK_STRING_MAX + 1];

	add_note(r, "label.", item);
	decode_pair(item, &k, &v);
	decode_text(&k, key);
	decode_text(&v, value);
	for (size_t i = 0; i < s->label_count; i++)
		if (s->labels[i].recording == recording &&
		    s->labels[i].process == process &&
		    !strcmp(s->labels[i].key, key) &&
		    !strcmp(s->labels[i].value, value))
			return;
	if (s->label_count >= MAX_LABELS)
		return;
	vec_need(&s->labels, &r->label_room, s->label_count + 1);
	label_insert(s, &(struct label){
		recording, process, arena_copy(s->text, key, strlen(key)),
		arena_copy(s->text, value, strlen(value)) });
}

static void add_reference(struct replay *r, const struct chunk_item *item)
{
	struct reference *const to = &r->session->reference;
	struct chunk_reference from;

	decode_reference(item, &from);
	to->kind = from.kind;
	to->lost += from.lost;
	for (size_t i = 0; i < from.n; i++) {
		const uint64_t word = from.pair[2 * i];
		const uint64_t n = from.pair[2 * i + 1];

		to->samples += n;
		to->ns += (double)n * (double)from.ns;
		*vec_add(&to->at, &to->room, &to->count) =
			(struct reference_count){
				dict_kind(word) == DICT_NATIVE ?
				r->module[dict_module(word)] : 0,
				dict_offset(word), n,
				(double)n * (double)from.ns, 0, 0 };
	}
}

void replay_identities_notes(struct replay *r, const struct chunk *chunk)
{
	struct chunk_item item = { 0 };

	while (decode_next_item(chunk, &item))
		if (item.type == ITEM_NOTE)
			add_note(r, "", &item);
		else if (item.type == ITEM_LABEL)
			add_label(r, chunk->header.recording, 0, &item);
		else if (item.type == ITEM_LUA)
			define(r, &item);
		else if (item.type == ITEM_MODULE)
			add_module(r, &item);
		else if (item.type == ITEM_REFERENCE)
			add_reference(r, &item);
}

/* ---- items of a chunk ---- */

/* The dictionary needs the modules; hints need the dictionary. That is why the
 * items are gone through twice. */
void replay_identities_items(struct replay *r, uint32_t thread,
			     const struct chunk *chunk)
{
	const uint32_t process = r->session->threads[thread].process;
	struct chunk_item item = { 0 };

	while (decode_next_item(chunk, &item))
		if (item.type == ITEM_MODULE)
			add_module(r, &item);
		else if (item.type == ITEM_PROCESS)
			set_process(r, process, thread, &item);
		else if (item.type == ITEM_VM)
			add_vm(r, process, &item);
		else if (item.type == ITEM_LABEL)
			add_label(r, chunk->header.recording, process + 1,
				  &item);
	find_all(r, chunk);
	item = (struct chunk_item){ 0 };
	while (decode_next_item(chunk, &item))
		if (item.type == ITEM_UNTOLD_RETURN)
			func_set_untold_return(r->session->funcs,
				r->func[decode_untold_return(&item)]);
}

/* Handlers' chunks have the switches of the chunk that they interrupted. */
void replay_identities_switches(struct replay *r, struct stream *st,
				const struct chunk *chunk)
{
	struct chunk_item item = { 0 };

	if (st->level > 0 || (r->want.only_events && !r->sink->off))
		return;
	st->own.count = 0;
	while (decode_next_item(chunk, &item))
		add_offcpu(r, st, &chunk->header, &item);
}
