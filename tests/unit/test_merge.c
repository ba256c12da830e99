/* test_merge.c - sums of random sessions: in any order and grouping the same
 * profile, byte for byte; and counts as added up by hand.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/merge/merge.h"
#include "analyzer/model/hist.h"
#include "analyzer/model/session.h"
#include "analyzer/profile/profile.h"
#include "analyzer/profile/profile_session.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

#include <stdlib.h>
#include <unistd.h>

enum { SESSIONS = 5, ROUNDS = 40, FUNCS = 11 };

static uint64_t random_state = 1;

static uint64_t below(uint64_t n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return (random_state >> 33) % n;
}

static func_id random_func(struct session *s)
{
	const uint64_t k = below(FUNCS);
	char name[16];

	snprintf(name, sizeof(name), "f%d", (int)k);
	if (k < 5)
		return sessions_func(s, (uint8_t)(k % 2), 16 * k,
				     below(2) ? name : "another name");
	if (k < 9) {
		const struct func_origin at = { "@x.lua", 6, 6, k / 2, 3, 9,
						k % 2 };
		const func_id f = func_lua(s->funcs, &at,
					   below(2) ? "hint" : "");

		/* analyzer/sym leaves no function without a name. */
		func_get(s->funcs, f)->name = below(2) ? "hint <x.lua:3>" :
					      "function <x.lua:3>";
		return f;
	}
	return func_special(s->funcs, name);
}

static void add_note(struct session *s, const char *key, const char *value)
{
	s->notes = mem_grow(s->notes, s->note_count + 1, sizeof(*s->notes));
	s->notes[s->note_count++] = (struct note){ key, value };
}

/* Lua states, bodies of theirs, and labels. */
static void add_states(struct session *s, node_id at)
{
	const uint32_t states = (uint32_t)below(4);

	s->vms = mem_alloc(4 * sizeof(*s->vms));
	s->labels = mem_alloc(2 * sizeof(*s->labels));
	for (uint32_t i = 0; i < states; i++) {
		const node_id body = cct_child(s->cct, at, random_func(s),
			CCT_BODY | (i + 1) << CCT_OF_SHIFT);

		cct_get(s->cct, body)->self += below(1000);
		s->vms[s->vm_count++] = (struct vm){ 0, states - i,
			below(2) ? VM_LUA54 : VM_LUAJIT,
			below(2) ? VM_JIT_OFF : 0 };
	}
	for (uint32_t i = 0; i < 2; i++)
		if (below(2))
			label_insert(s, &(struct label){
				s->processes[0].recording, i, "zone",
				below(2) ? "east" : "west" });
}

static struct session *random_session(void)
{
	static const char *const names[] = { "main", "worker", "" };
	struct session *const s = sessions_new(1000 + below(3000000000),
					       names[below(3)]);
	node_id at = cct_root(s->cct, 0);

	if (below(2))
		cct_collect_hist(s->cct);
	if (below(2))
		cct_collect_cpu(s->cct);
	for (uint64_t i = below(60); i > 0; i--) {
		const node_id next = sessions_calls(s, at, random_func(s),
			1 + below(9), below(UINT64_C(1) << below(30)));

		if (below(5) == 0)
			cct_get(s->cct, next)->suspended += below(1000);
		at = below(4) ? next : cct_root(s->cct, 0);
	}
	add_states(s, at);
	add_note(s, "complete", below(2) ? "yes" : "no");
	if (below(2))
		add_note(s, "end", below(2) ? "10" : "9");
	add_note(s, "lost.full", below(2) ? "12" : "0");
	add_note(s, "host", below(2) ? "a" : "b");
	s->threads[0].lost[0] = below(3);
	s->records = below(100);
	s->gap_total = below(3);
	return s;
}

/* Also those that only damage makes so long. */
void test_merge_keeps_lengths_of_any_size(void)
{
	struct session *const s = sessions_new(1000, "main");
	struct merge *const m = merge_new();
	uint64_t counts[HIST_STEPS] = { 0 }, sum = 0;
	struct session *all;

	cct_collect_hist(s->cct);
	cct_time(s->cct, cct_child(s->cct, cct_root(s->cct, 0),
				   sessions_func(s, 1, 16, "f"), 0),
		 UINT64_MAX);
	CHECK_EQ(merge_add(m, s), 0);
	all = merge_end(m);
	CHECK(cct_hist_counts(all->cct, 2, counts));
	for (size_t i = 0; i < HIST_STEPS; i++)
		sum += counts[i];
	CHECK_EQ(sum, 1);
	session_free(s);
	session_free(all);
}

/* A damaged profile: each count fits a histogram, but not their sum. */
void test_merge_refuses_too_many_lengths(void)
{
	struct profile_session *const p = profile_session_new();
	const struct process process = { .path = "" };
	const struct thread thread = { .process = 0 };
	const struct cct_node root = { .thread = 0 };
	const struct profile_collected collected = { .hist = 1 };
	const struct profile_length lengths[] = {
		{ 1, 7, UINT64_C(1) << 49 }, { 0, 7, UINT64_C(1) << 49 } };

	CHECK_EQ(profile_session_add(p, PROFILE_PROCESS, &process), 0);
	CHECK_EQ(profile_session_add(p, PROFILE_THREAD, &thread), 0);
	CHECK_EQ(profile_session_add(p, PROFILE_NODE, &root), 0);
	CHECK_EQ(profile_session_add(p, PROFILE_COLLECTED, &collected), 0);
	CHECK_EQ(profile_session_add(p, PROFILE_LENGTH, lengths), 0);
	CHECK_EQ(profile_session_add(p, PROFILE_LENGTH, &lengths[1]), -1);
	CHECK(!profile_session_end(p, -1));
	err_clear();
}

/* Is a profile of this node, below a root of no time, read? */
static bool is_read(const struct cct_node *node, const struct profile_cpu *cpu,
		    const struct profile_sampled *sampled)
{
	struct profile_session *const p = profile_session_new();
	const struct session head = { .tick_hz = 1000000000 };
	const struct process process = { .path = "" };
	const struct thread thread = { .process = 0 };
	const struct profile_collected collected = { .cpu = 1 };
	const struct net net = { .period = 1, .is_net = NET_SAMPLED };
	const struct func func = { .kind = FUNC_NAME, .name = "f", .file = "",
				   .source = "f", .hint = "" };
	const struct cct_node root = { .thread = 0 };
	int status = profile_session_add(p, PROFILE_HEAD, &head);
	struct session *s;

	status |= profile_session_add(p, PROFILE_FUNC, &func);
	status |= profile_session_add(p, PROFILE_PROCESS, &process);
	status |= profile_session_add(p, PROFILE_THREAD, &thread);
	status |= profile_session_add(p, PROFILE_NODE, &root);
	CHECK_EQ(status, 0);
	status |= profile_session_add(p, PROFILE_NODE, node);
	status |= profile_session_add(p, PROFILE_COLLECTED, &collected);
	status |= profile_session_add(p, PROFILE_NET, &net);
	status |= profile_session_add(p, PROFILE_CPU, cpu);
	status |= profile_session_add(p, PROFILE_SAMPLED, sampled);
	s = profile_session_end(p, status);
	session_free(s);
	err_clear();
	return s;
}

/* Whatever is added up, no table may say more than there is. */
void test_merge_refuses_profiles_whose_figures_wrap(void)
{
	const uint64_t large = UINT64_MAX - 5;
	const struct profile_cpu cpu = { .back = 2 };
	const struct profile_sampled sampled = { .back = 2 };
	const struct cct_node plain = { .parent = 1, .func = 2, .calls = 1 };
	struct cct_node n = plain;

	CHECK(is_read(&n, &cpu, &sampled));
	n.self = large;
	CHECK(!is_read(&n, &cpu, &sampled));
	n = plain;
	n.calls = large;
	CHECK(!is_read(&n, &cpu, &sampled));
	n = plain;
	n.suspended = large;
	CHECK(!is_read(&n, &cpu, &sampled));
	n = plain;
	n.flags = CCT_TIMED;
	n.min = 7;
	n.max = 6;
	CHECK(!is_read(&n, &cpu, &sampled));
	n.max = 7;
	CHECK(is_read(&n, &cpu, &sampled));
	CHECK(!is_read(&plain, &(struct profile_cpu){
		.back = 2, .off = large }, &sampled));
	CHECK(!is_read(&plain, &(struct profile_cpu){
		.back = 2, .unknown = large }, &sampled));
	CHECK(!is_read(&plain, &cpu, &(struct profile_sampled){
		.back = 2, .raw = large }));
	CHECK(!is_read(&plain, &cpu, &(struct profile_sampled){
		.back = 2, .unsampled = large }));
}

/* Each may be shown, but their sum would wrap. */
void test_merge_refuses_sums_that_wrap(void)
{
	struct session *const s = sessions_new(1000000000, "main");
	struct merge *const m = merge_new();
	struct session *all;

	sessions_calls(s, cct_root(s->cct, 0), sessions_func(s, 1, 16, "f"), 1,
		       UINT64_C(3) << 61);
	CHECK_EQ(merge_add(m, s), 0);
	CHECK_EQ(merge_add(m, s), -1);
	err_clear();
	all = merge_end(m);
	CHECK_EQ(all->calls, s->calls);
	session_free(all);
	session_free(s);
}

static struct session *sum_of(struct session **list, size_t n)
{
	struct merge *const c = merge_new();

	for (size_t i = 0; i < n; i++)
		CHECK_EQ(merge_add(c, list[i]), 0);
	return merge_end(c);
}

/* A session's profile, as bytes. */
static char *bytes_of(struct session *s, size_t *size)
{
	const struct profile_about about = { .comment_count = 0 };
	FILE *const file = tmpfile();
	char *bytes = NULL;

	if (file && CHECK(profile_write(file, s, &about) == 0)) {
		*size = (size_t)lseek(fileno(file), 0, SEEK_END);
		bytes = mem_alloc(*size + 1);
		CHECK_EQ(pread(fileno(file), bytes, *size, 0), *size);
	}
	if (file)
		fclose(file);
	return bytes;
}

static void same(struct session *a, struct session *b)
{
	size_t na = 0, nb = 1;
	char *const x = bytes_of(a, &na), *const y = bytes_of(b, &nb);

	if (x && y && CHECK_EQ(na, nb))
		CHECK_MEM(x, y, na);
	mem_free(x);
	mem_free(y);
}

void test_merge_is_the_same_in_any_order_and_grouping(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct session *s[SESSIONS], *other[SESSIONS], *parts[3];
		struct session *all, *turned, *grouped;
		uint64_t calls = 0;

		for (int i = 0; i < SESSIONS; i++) {
			s[i] = random_session();
			other[SESSIONS - 1 - i] = s[i];
			calls += s[i]->calls;
		}
		all = sum_of(s, SESSIONS);
		turned = sum_of(other, SESSIONS);
		parts[0] = sum_of(s + 3, 2);
		parts[1] = s[1];
		parts[2] = sum_of((struct session *[]){ s[2], s[0] }, 2);
		grouped = sum_of(parts, 3);
		same(all, turned);
		same(all, grouped);
		CHECK(cct_valid(all->cct));
		CHECK_EQ(all->calls, calls);
		CHECK_EQ(all->part_count, SESSIONS);
		session_free(parts[0]);
		session_free(parts[2]);
		session_free(all);
		session_free(turned);
		session_free(grouped);
		for (int i = 0; i < SESSIONS; i++)
			session_free(s[i]);
	}
}

void test_merge_a_profile_read_back_is_the_session(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct session *const one = random_session();
		struct session *const s = below(2) ? sum_of(
			(struct session *[]){ one }, 1) : one;
		size_t size = 0;
		char *const bytes = bytes_of(s, &size);
		struct session *back;

		if (!bytes)
			return;
		back = profile_read(test_file(bytes, size));
		if (CHECK(back)) {
			same(s, back);
			CHECK(cct_valid(back->cct));
		}
		session_free(back);
		mem_free(bytes);
		if (s != one)
			session_free(s);
		session_free(one);
	}
}

void test_merge_adds_calls_and_nanoseconds(void)
{
	struct session *const a = sessions_new(UINT64_C(2000000000), "t");
	struct session *const b = sessions_new(UINT64_C(500000000), "t");
	struct session *sum;
	const struct cct_node *n;

	sessions_calls(a, cct_root(a->cct, 0), sessions_func(a, 1, 64, "f"), 7,
		       4000);
	sessions_calls(b, cct_root(b->cct, 0), sessions_func(b, 1, 64, "f"), 5,
		       4000);
	sum = sum_of((struct session *[]){ a, b }, 2);
	REQUIRE(sum->statistics_count == 1 && cct_count(sum->cct) == 2);
	n = cct_get(sum->cct, 2);
	CHECK_EQ(n->calls, 12);
	CHECK_EQ(n->self, 2000 + 8000);
	CHECK_EQ(sum->statistics[0].self.min, 2000);
	CHECK_EQ(sum->statistics[0].self.max, 8000);
	CHECK_EQ(sum->statistics[0].calls.sum, 12);
	CHECK_EQ(sum->statistics[0].cost.max, 1600000);
	CHECK_EQ(sum->thread_count, 1);
	CHECK_EQ(sum->beyond.threads, 1);
	CHECK_EQ(sum->tick_hz, 1000000000);
	session_free(a);
	session_free(b);
	session_free(sum);
}

static struct session *session_of(bool is_net, bool is_counted)
{
	struct session *const s = sessions_new(UINT64_C(2000000000), "t");

	sessions_calls(s, cct_root(s->cct, 0), sessions_func(s, 1, 64, "f"), 7,
		       4000);
	s->counted = is_counted ? s->calls : 0;
	if (is_net) {
		cct_collect_samples(s->cct);
		cct_set_net(s->cct, true);
		s->net.is_net = NET_CALIBRATED;
	}
	return s;
}

/* The sum is told again what it was made of. */
static bool is_raw_in_a_profile(struct session *a, struct session *b)
{
	struct session *const sum = sum_of((struct session *[]){ a, b }, 2);
	struct session *const more = sum_of((struct session *[]){ b, sum }, 2);
	size_t size = 0;
	char *const bytes = bytes_of(more, &size);
	struct session *const back = bytes ?
		profile_read(test_file(bytes, size)) : NULL;
	const bool is_raw = back && session_is_raw(back);

	CHECK(back && back->net.is_net == NET_CALIBRATED);
	session_free(sum);
	session_free(more);
	session_free(back);
	mem_free(bytes);
	return is_raw;
}

/* Calls that were only counted have no times, raw or net. */
void test_merge_keeps_that_some_times_are_raw(void)
{
	struct session *const raw = session_of(false, false);
	struct session *const counted = session_of(false, true);
	struct session *const net = session_of(true, false);

	CHECK(session_is_raw(raw) && !session_is_raw(net));
	CHECK(is_raw_in_a_profile(raw, net));
	CHECK(!is_raw_in_a_profile(net, net));
	CHECK(!is_raw_in_a_profile(counted, net));
	session_free(raw);
	session_free(counted);
	session_free(net);
}

/* A trace without samples lacks them while it was on the CPU, whether it comes
 * first or last. */
void test_merge_knows_what_has_no_samples(void)
{
	struct session *const raw = session_of(false, false);
	struct session *const net = session_of(true, false);

	cct_collect_cpu(raw->cct);
	for (node_id id = 1; id <= cct_count(raw->cct); id++)
		if (cct_get(raw->cct, id)->self == 4000)
			cct_put_cpu(raw->cct, id,
				    (struct cct_cpu){ .off = 1000 });
	for (int first = 0; first < 2; first++) {
		struct session *const sum = sum_of((struct session *[]){
			first ? net : raw, first ? raw : net }, 2);
		uint64_t ns = 0;

		for (node_id id = 1; id <= cct_count(sum->cct); id++)
			ns += cct_sampled_of(sum->cct, id)->unsampled;
		CHECK_EQ(ns, 1500 + 2000); /* 2 ticks each */
		session_free(sum);
	}
	session_free(raw);
	session_free(net);
}

static struct session *sampled_of(uint32_t is_net, uint64_t samples,
				  ticks unsampled)
{
	struct session *const s = session_of(true, false);

	s->net = (struct net){ .is_net = is_net, .period = 1000,
			       .own = samples, .other = samples + 1,
			       .probe = samples + 2, .astray = samples + 3,
			       .raw = 2000, .unsampled = unsampled };
	return s;
}

/* Samples from which no time was made are not counted with those from which
 * some were, in whatever order the sessions come. */
void test_merge_counts_the_samples_that_times_are_made_of(void)
{
	struct session *s[] = {
		sampled_of(NET_SAMPLED, 100, 20),
		sampled_of(NET_CALIBRATED, 7, 2000), sampled_of(0, 9, 2000),
		sampled_of(NET_SAMPLED, 200, 40),
	};

	for (int first = 0; first < 4; first++) {
		struct session *const a = sum_of((struct session *[]){
			s[first], s[(first + 1) % 4] }, 2);
		struct session *const all = sum_of((struct session *[]){
			a, s[(first + 2) % 4], s[(first + 3) % 4] }, 3);

		CHECK_EQ(all->net.is_net, NET_SAMPLED | NET_CALIBRATED);
		CHECK_EQ(all->net.has_raw, 1);
		CHECK_EQ(all->net.own, 300);
		CHECK_EQ(all->net.other, 302);
		CHECK_EQ(all->net.probe, 304);
		CHECK_EQ(all->net.astray, 306);
		CHECK_EQ(all->net.raw, 2000);     /* ns: 2 ticks each */
		CHECK_EQ(all->net.unsampled, 30);
		session_free(a);
		session_free(all);
	}
	for (int i = 0; i < 4; i++)
		session_free(s[i]);
}

/* A session that could read the source knows more than one that could not. */
void test_merge_takes_a_name_rather_than_a_place(void)
{
	static const char *const names[] = { "zip <x.lua:3>",
					     "function <x.lua:3>" };
	struct session *s[2], *sum;

	for (int i = 0; i < 2; i++) {
		const struct func_origin at = { "@x.lua", 6, 6, 1, 3, 9, 0 };
		func_id f;

		s[i] = sessions_new(1000000000, "t");
		f = func_lua(s[i]->funcs, &at, i == 0 ? "zip" : "");
		func_get(s[i]->funcs, f)->name = names[i];
		sessions_calls(s[i], cct_root(s[i]->cct, 0), f, 7, 10);
	}
	sum = sum_of(s, 2);
	CHECK_STR(func_get(sum->funcs, cct_get(sum->cct, 2)->func)->name,
		  names[0]);
	session_free(s[0]);
	session_free(s[1]);
	session_free(sum);
}

/* Sessions with other labels are other processes; Lua states have numbers. */
void test_merge_keeps_labels_and_lua_states_apart(void)
{
	static const char *const zones[] = { "east", "west", "east" };
	struct session *s[3], *sum;

	for (int i = 0; i < 3; i++) {
		s[i] = sessions_new(1000000000, "t");
		sessions_calls(s[i], cct_root(s[i]->cct, 0),
			       sessions_func(s[i], 1, 64, "f"), 7, 10);
		s[i]->labels = mem_alloc(sizeof(*s[i]->labels));
		s[i]->labels[s[i]->label_count++] = (struct label){
			s[i]->processes[0].recording, 0, "zone", zones[i] };
		s[i]->vms = mem_alloc(sizeof(*s[i]->vms));
		s[i]->vms[s[i]->vm_count++] = (struct vm){ 0, 1, VM_LUAJIT,
			i == 1 ? 0 : VM_JIT_OFF };
	}
	sum = sum_of(s, 3);
	CHECK_EQ(sum->process_count, 2);
	CHECK_EQ(sum->beyond.processes, 1);
	REQUIRE(sum->label_count == 2);
	CHECK_STR(sum->labels[0].value, "east");
	CHECK_EQ(sum->labels[0].process, 1);
	CHECK_STR(sum->labels[1].value, "west");
	CHECK_EQ(sum->vm_count, 2);
	CHECK_EQ(sum->beyond.vms, 1);
	CHECK_EQ(sum->beyond.vms_jit_off, 1);
	CHECK_EQ(sum->vms[0].flags, VM_JIT_OFF);
	CHECK_EQ(sum->vms[1].flags, 0);
	for (int i = 0; i < 3; i++)
		session_free(s[i]);
	session_free(sum);
}
