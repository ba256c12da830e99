/* test_net.c - net times from samples, where the answer is plain.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/correct/correct.h"
#include "analyzer/tables/flat.h"
#include "tracepoints/chunk.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

#define MS UINT64_C(1000000) /* ticks: the clock has 1 GHz */

enum { PROBE, OTHER, KERNEL, COPY, PLACES };

static struct session *s;
static node_id root;
static uint32_t hides;    /* of the samples to come */

/* One thread; samples every ms. */
static void begin(void)
{
	s = session_new(0);
	s->tick_hz = 1000000000;
	s->places = mem_alloc(PLACES * sizeof(*s->places));
	s->place_count = KERNEL;
	s->places[OTHER].module = s->places[PROBE].module = 1;
	s->places[PROBE].kind = PLACE_PROBE;
	root = cct_root(s->cct, 0);
	cct_collect_samples(s->cct);
}

static void note_cost(const char *cost)
{
	s->notes = mem_alloc(sizeof(*s->notes));
	s->notes[0] = (struct note){ "cost.native", cost };
	s->note_count = cost != NULL;
}

static void sample(node_id id, uint32_t place, unsigned n, uint32_t ms)
{
	while (n-- > 0)
		cct_add_sample(s->cct, &(struct cct_sample){
			.node = id, .place = place,
			.period = ms * (uint32_t)MS, .hides = hides });
}

/* calls: in thousands */
static node_id add(node_id parent, const char *name, uint64_t calls,
		   uint64_t self_ms)
{
	const node_id id = cct_child(s->cct, parent,
				     func_special(s->funcs, name), 0);

	cct_get(s->cct, id)->calls = calls * 1000;
	cct_get(s->cct, id)->self = self_ms * MS;
	return id;
}

static node_id add_sampled(node_id parent, const char *name, uint64_t calls,
			   uint64_t self_ms, unsigned own, unsigned probe)
{
	const node_id id = add(parent, name, calls, self_ms);

	sample(id, OTHER, own, 1);
	sample(id, PROBE, probe, 1);
	return id;
}

static void apply(void)
{
	net_place(s);
	net_apply(s);
	CHECK(cct_valid(s->cct));
}

static uint64_t self_of(node_id id)
{
	return cct_get(s->cct, id)->self;
}

static double error_of(node_id id)
{
	return sqrt(cct_sampled_of(s->cct, id)->variance) / (double)MS;
}

void test_net_self_is_own_samples(void)
{
	node_id f, g;

	begin();
	f = add_sampled(root, "f", 1000, 1000, 600, 400);
	g = add_sampled(root, "g", 1000, 500, 100, 400);
	apply();
	REQUIRE(s->net.is_net && cct_is_net(s->cct));
	CHECK_EQ(s->net.other, 700);
	CHECK_EQ(s->net.probe, 800);
	/* The fitted cost, 0.4 us a call, says the same as the samples. */
	CHECK_EQ(self_of(f) / MS, 600);
	CHECK_EQ(self_of(g) / MS, 100);
	CHECK_EQ(cct_sampled_of(s->cct, f)->raw, 1000 * MS);
	CHECK_EQ(s->net.raw, 1500 * MS);
	/* Half of what the probes cost, and less than the samples alone would
	 * add, whose error is sqrt(600) ms. */
	CHECK(error_of(f) > sqrt(200 * 200 + 15 * 15));
	CHECK(error_of(f) < sqrt(200 * 200 + 600));
	session_free(s);
}

void test_net_few_samples_lean_on_what_calls_cost(void)
{
	node_id few;

	begin();
	add_sampled(root, "f", 100000, 10000, 6000, 4000);
	add_sampled(root, "g", 100000, 5000, 1000, 4000);
	/* 10,000 calls cost 0.4 ms; by chance no sample fell. */
	few = add_sampled(root, "few", 10, 2, 0, 0);
	apply();
	CHECK(self_of(few) > 1 * MS && self_of(few) < 2 * MS);
	CHECK(error_of(few) > 0.4 && error_of(few) < 1);
	CHECK_EQ(s->net.contradicted, 0);
	session_free(s);
}

/* Nothing but 2 ms of hooks: f took ms, raw_ms as recorded. What is more or
 * less stands in ten others that it calls, in which samples are too few to
 * contradict it. */
static void check_sum_is_kept(unsigned ms, uint64_t raw_ms)
{
	char name[] = "A";
	node_id ids[11];
	double sum = 0;

	begin();
	ids[10] = add_sampled(root, "f", 20, raw_ms, ms, 2);
	for (int i = 0; i < 10; i++, name[0]++)
		ids[i] = add_sampled(ids[10], name, 0, (1000 - raw_ms) / 10,
				     (1000 - ms) / 10, 0);
	apply();
	CHECK_EQ(s->net.contradicted, 1);
	for (int i = 0; i < 11; i++)
		sum += (double)self_of(ids[i]) / (double)MS;
	CHECK(fabs(sum - 998) < 5);
	CHECK_EQ(self_of(ids[10]) / MS, ms);
	session_free(s);
}

void test_net_is_together_what_is_not_the_hooks(void)
{
	check_sum_is_kept(520, 400);
	check_sum_is_kept(300, 520);
}

/* A hook reads the clock before the work around it is done: raw time may be the
 * neighbour's by as much as calls cost. */
void test_net_samples_tell_where_the_clock_was_early(void)
{
	node_id moved;

	begin();
	add_sampled(root, "f", 100000, 10000, 6000, 4000);
	/* 40 ms are the hooks' and 30 ms its caller's. */
	moved = add_sampled(root, "moved", 1000, 120, 50, 40);
	apply();
	CHECK(self_of(moved) < 55 * MS);
	CHECK(error_of(moved) > sqrt(45 + 20 * 20));
	CHECK_EQ(s->net.contradicted, 0);
	session_free(s);
}

void test_net_samples_win_where_costs_contradict(void)
{
	node_id odd;

	begin();
	for (char name[] = "a"; name[0] <= 'p'; name[0]++)
		add_sampled(root, name, 1000, 1000, 600, 400);
	/* Calls that cost six times as much as others. */
	odd = add_sampled(root, "odd", 100, 400, 160, 240);
	apply();
	CHECK_EQ(s->net.contradicted, 1);
	CHECK_EQ(self_of(odd), 160 * MS);
	/* That of the samples, and half of what calls should have cost. */
	CHECK(error_of(odd) > sqrt(160 + 10 * 10));
	CHECK(error_of(odd) < sqrt(160 + 40 * 40));
	session_free(s);
}

/* In the kernel no sample is taken. */
void test_net_time_that_cannot_be_sampled_stays(void)
{
	node_id reads, waits;

	begin();
	reads = add_sampled(root, "reads", 1, 1000, 200, 0);
	cct_collect_cpu(s->cct);
	waits = add_sampled(root, "waits", 1, 1000, 100, 0);
	cct_put_cpu(s->cct, reads, (struct cct_cpu){ 0 });
	cct_put_cpu(s->cct, waits, (struct cct_cpu){ .off = 900 * MS });
	apply();
	CHECK_EQ(self_of(reads) / MS, 1000);
	CHECK_EQ(self_of(waits) / MS, 1000);
	session_free(s);
}

/* Where it is, nothing is missing. */
void test_net_time_in_the_kernel_may_be_sampled(void)
{
	node_id reads;

	begin();
	s->place_count = COPY;
	reads = add_sampled(root, "reads", 1, 1000, 200, 0);
	sample(reads, KERNEL, 500, 1);
	apply();
	CHECK_EQ(self_of(reads) / MS, 700);
	session_free(s);
}

/* A hook reads the clock before the caller's wait for memory is over: the
 * callee has that time, and the caller the samples. */
void test_net_waits_are_where_the_samples_are(void)
{
	node_id looks_up, parses, reads;

	begin();
	looks_up = add_sampled(root, "looks_up", 1, 1000, 1700, 100);
	parses = add_sampled(looks_up, "parses", 10, 1000, 100, 100);
	reads = add_sampled(looks_up, "reads", 1, 1000, 1000, 0);
	apply();
	CHECK_EQ(self_of(looks_up) / MS, 1700);
	CHECK(self_of(parses) / MS < 120);
	CHECK(self_of(reads) / MS > 990);
	session_free(s);
}

void test_net_goes_on_where_nothing_was_sampled(void)
{
	node_id f, once;

	begin();
	f = add_sampled(root, "f", 2000, 2000, 660, 440);
	cct_sampled_of(s->cct, f)->unsampled = 900 * MS;
	once = add(root, "once", 1, 50);
	cct_sampled_of(s->cct, once)->unsampled = 50 * MS;
	apply();
	CHECK(s->net.is_net);
	CHECK_EQ(self_of(f) / MS, 1200);
	CHECK_EQ(self_of(once), 50 * MS);
	CHECK_EQ(s->net.unsampled, 950 * MS);
	session_free(s);
}

void test_net_needs_enough_samples(void)
{
	node_id f;

	begin();
	f = add_sampled(root, "f", 10, 100, 50, 49);
	apply();
	CHECK_EQ(s->net.period, MS);
	CHECK(!s->net.is_net && !cct_is_net(s->cct));
	CHECK_EQ(self_of(f), 100 * MS);
	session_free(s);
}

/* What calls cost elsewhere is wrong for each function, but better than
 * nothing. The samples are kept. */
void test_net_few_samples_are_less_than_what_calls_cost_elsewhere(void)
{
	node_id caller, f;

	begin();
	note_cost("20.0 5.0");
	caller = add_sampled(root, "caller", 1, 1000, 40, 20);
	f = add_sampled(caller, "f", 2000, 500, 9, 30);
	apply();
	CHECK_EQ(s->net.is_net, NET_CALIBRATED);
	CHECK_EQ(self_of(f) / MS, 480);
	CHECK_EQ(self_of(caller) / MS, 979);
	CHECK(error_of(f) > 20 && error_of(f) < 60);
	CHECK_EQ(cct_sampled_of(s->cct, f)->probe, 30);
	CHECK_EQ(cct_sampled_of(s->cct, f)->other, 9);
	CHECK_EQ(s->net.raw, 1500 * MS);
	session_free(s);
}

/* Half of the time on the CPU must be sampled: waiting does not count. */
void test_net_needs_samples_of_time_on_the_cpu(void)
{
	node_id f;

	for (int late = 0; late < 2; late++) {
		begin();
		cct_collect_cpu(s->cct);
		f = add_sampled(root, "f", 10, 9000, 400, 100);
		cct_put_cpu(s->cct, f, (struct cct_cpu){ .off = 8000 * MS });
		cct_sampled_of(s->cct, f)->unsampled =
			(500 + (uint64_t)late) * MS;
		apply();
		CHECK_EQ(s->net.raw, 1000 * MS);
		CHECK_EQ(s->net.is_net == 0, late);
		session_free(s);
	}
}

/* None of ten may be chance: the error is not less than a sample. */
void test_net_no_sample_is_not_no_error(void)
{
	node_id f, g;

	begin();
	f = add_sampled(root, "f", 1, 1000, 1000, 0);
	g = add(root, "g", 0, 500);
	cct_get(s->cct, g)->calls = 1;
	sample(f, OTHER, 500, 1);
	apply();
	CHECK(s->net.is_net);
	CHECK_EQ(self_of(g), 0);
	CHECK(cct_sampled_of(s->cct, g)->variance >= (double)MS * (double)MS);
	session_free(s);
}

/* Nothing is left where all samples are of probes: the truth is anything up to
 * what was taken off. */
void test_net_an_error_holds_what_was_taken_off(void)
{
	node_id f, g;

	begin();
	f = add_sampled(root, "f", 1, 1000, 1000, 0);
	g = add_sampled(root, "g", 33000, 1000, 0, 1000);
	apply();
	CHECK(s->net.is_net);
	CHECK_EQ(self_of(g), 0);
	CHECK(error_of(g) >= 1000);
	CHECK(error_of(f) < 40);
	session_free(s);
}

/* Probes' samples fell at the callers' ends alone: that the other end of a call
 * costs nothing is chance. 10 ns of each of f's calls may be elsewhere. */
void test_net_calls_whose_cost_no_sample_shows_are_not_exact(void)
{
	node_id caller, f;

	begin();
	note_cost("40.0 1.0");
	caller = add_sampled(root, "caller", 1, 1000, 600, 400);
	f = add_sampled(caller, "f", 10000, 1000, 1000, 0);
	apply();
	CHECK(s->net.is_net);
	CHECK(error_of(f) >= 100);
	s->note_count = 0;
	session_free(s);
}

/* The calls are in the one, the time in the other. */
void test_net_errors_are_where_the_calls_are(void)
{
	node_id busy, calm;

	begin();
	busy = add_sampled(add(root, "a", 1, 0), "f", 10000, 400, 0, 400);
	calm = add_sampled(add(root, "b", 0, 0), "f", 0, 4000, 4000, 0);
	apply();
	CHECK(s->net.is_net);
	CHECK(error_of(busy) >= 150);
	CHECK(error_of(calm) < error_of(busy));
	session_free(s);
}

/* A function of which no time was sampled has its raw time, and nobody knows
 * how much of it is its own. */
void test_net_time_without_samples_is_not_exact(void)
{
	node_id f, blind;

	begin();
	f = add_sampled(root, "f", 1000, 2000, 1600, 400);
	blind = add(root, "blind", 1000, 500);
	cct_sampled_of(s->cct, blind)->unsampled = 500 * MS;
	apply();
	CHECK(s->net.is_net);
	CHECK_EQ(self_of(blind), 500 * MS);
	CHECK(error_of(blind) >= 400);
	CHECK(error_of(f) < 300);
	session_free(s);
}

/* What may have been a wait is not shown as time on the CPU. */
void test_net_time_that_may_be_off_the_cpu_has_no_error(void)
{
	node_id blind;

	begin();
	add_sampled(root, "f", 1000, 2000, 1600, 400);
	cct_collect_cpu(s->cct);
	blind = add(root, "blind", 1, 500);
	cct_sampled_of(s->cct, blind)->unsampled = 500 * MS;
	cct_put_cpu(s->cct, blind, (struct cct_cpu){ .unknown = 500 * MS });
	apply();
	CHECK(s->net.is_net);
	CHECK(error_of(blind) < 1);
	session_free(s);
}

/* Where Lua has no names, three times what the probes of its calls took may be
 * wrong, here 750 ms: but 600 ms were recorded, and 250 of them taken off. */
void test_net_an_error_is_not_more_than_the_time(void)
{
	const struct func_origin at = { "@x.lua", 6, 6, 0, 3, 9, 0 };
	node_id sort, less;

	begin();
	sort = add_sampled(root, "table.sort", 1, 600, 350, 250);
	less = cct_child(s->cct, sort, func_lua(s->funcs, &at, ""), 0);
	func_get(s->funcs, cct_get(s->cct, less)->func)->name = "less";
	cct_get(s->cct, less)->calls = 1000000;
	cct_get(s->cct, less)->self = 1000 * MS;
	sample(less, OTHER, 1000, 1);
	apply();
	CHECK(self_of(sort) > 345 * MS && self_of(sort) < 360 * MS);
	CHECK(error_of(sort) > 250 && error_of(sort) < 360);
	session_free(s);
}

/* Where the recorder left out every other one for want of room. */
void test_net_a_sample_may_stand_for_several(void)
{
	node_id f;

	begin();
	f = add_sampled(root, "f", 1, 1000, 500, 0);
	sample(f, OTHER, 250, 2);
	apply();
	CHECK_EQ(cct_sampled_of(s->cct, f)->other, 1000);
	CHECK_EQ(self_of(f) / MS, 1000);
	session_free(s);
}

/* A function's nodes share its estimate, and nothing is lost on the way. */
void test_net_nodes_add_up(void)
{
	node_id f[3];
	uint64_t sum = 0;

	begin();
	f[0] = add_sampled(root, "f", 1000, 1000, 590, 390);
	f[1] = add_sampled(add(root, "g", 1, 0), "f", 500, 300, 100, 200);
	f[2] = add_sampled(f[1], "f", 10, 200, 10, 10);
	apply();
	for (int i = 0; i < 3; i++)
		sum += self_of(f[i]);
	CHECK(sum > 650 * MS && sum < 1000 * MS);
	CHECK(self_of(f[0]) > 500 * MS);
	CHECK(self_of(f[1]) > 90 * MS && self_of(f[1]) < 250 * MS);
	session_free(s);
}

/* Its code lies in its caller's; debug information tells whose it is. */
void test_net_a_counted_function_may_be_inlined(void)
{
	elf_id elf;
	func_id inner;
	node_id id, below;

	begin();
	s->place_count = PLACES;
	elf = func_module(s->funcs, "/p", NULL, 0, 0x10000);
	id = cct_child(s->cct, root, func_native(s->funcs, elf, 0x100), 0);
	inner = func_native(s->funcs, elf, 0x200);
	func_get(s->funcs, cct_get(s->cct, id)->func)->name = "outer";
	func_get(s->funcs, inner)->name = "inner";
	cct_add_untimed(s->cct, cct_child(s->cct, id, inner, 0), 7);
	s->places[OTHER] = (struct code_place){ .module = elf, .begin = 0x100,
						.name = "outer" };
	s->places[COPY] = s->places[OTHER];
	s->places[COPY].inlined = "middle\t1\ninner\t2\n";
	cct_get(s->cct, id)->calls = 1;
	cct_get(s->cct, id)->self = 1000 * MS;
	sample(id, OTHER, 600, 1);
	sample(id, COPY, 400, 1);
	apply();
	below = cct_child(s->cct, id, inner, 0);
	CHECK_EQ(self_of(id) / MS, 600);
	CHECK_EQ(self_of(below) / MS, 400);
	CHECK_EQ(s->net.astray, 0);
	session_free(s);
}

/* A session without samples, whose recorder noted this; NULL: nothing. */
static void begin_noted(const char *cost)
{
	s = session_new(0);
	s->tick_hz = 1000000000;
	root = cct_root(s->cct, 0);
	note_cost(cost);
}

/* Ten million calls of a Lua function, whose samples have no probes. Its net
 * self, ms. name: of Lua's code for hooks. */
static uint64_t net_of_lua(const char *name)
{
	const struct func_origin at = { "@x.lua", 6, 6, 0, 3, 9, 0 };
	uint64_t net;
	func_id f;
	node_id id;

	begin();
	note_cost("20.0 5.0");
	s->vms = mem_alloc(sizeof(*s->vms));
	s->vms[0].abi = VM_LUA54;
	s->vm_count = 1;
	s->places[PROBE].name = name;
	f = func_lua(s->funcs, &at, "");
	func_get(s->funcs, f)->name = "f";
	id = cct_child(s->cct, root, f, 0);
	cct_get(s->cct, id)->calls = 10000000;
	cct_get(s->cct, id)->self = 1000 * MS;
	sample(id, OTHER, 1000, 1);
	apply();
	CHECK_EQ(s->net.is_net, NET_SAMPLED);
	net = self_of(id) / MS;
	session_free(s);
	return net;
}

/* Where it has no name, samples in it look like the program's: 16 ns a call. */
void test_net_takes_off_what_a_nameless_lua_does_for_hooks(void)
{
	const uint64_t nameless = net_of_lua(NULL);

	CHECK_EQ(net_of_lua("luaD_hook"), 1000);
	CHECK(nameless > 820 && nameless < 860);
}

/* Half of what a call costs is in it, half in its caller. */
void test_net_without_samples_is_less_a_constant(void)
{
	node_id caller, f;

	begin_noted("20.0 5.0");
	caller = add(root, "caller", 1, 1000);
	f = add(caller, "f", 2000, 500);
	apply();
	CHECK_EQ(s->net.is_net, NET_CALIBRATED);
	CHECK(cct_is_net(s->cct));
	CHECK_EQ(self_of(f) / MS, 480);
	CHECK_EQ(self_of(caller) / MS, 979);
	CHECK_EQ(cct_sampled_of(s->cct, f)->raw, 500 * MS);
	/* Of f's 20 ms, and as much of the caller's. */
	CHECK(error_of(f) > 20 && error_of(f) < 60);
	CHECK(error_of(caller) > 20 && error_of(caller) < 60);
	net_undo(s);
	CHECK_EQ(self_of(f), 500 * MS);
	session_free(s);
}

/* All of what a counted call costs, half of a recorded one's, is its caller's.
 */
void test_net_without_samples_counted_calls_cost_half(void)
{
	node_id caller, f;

	begin_noted("20.0 5.0");
	caller = add(root, "caller", 1, 1000);
	f = add(caller, "f", 0, 0);
	cct_add_untimed(s->cct, f, 10000000);
	apply();
	CHECK_EQ(self_of(caller) / MS, 899);
	session_free(s);
}

/* Nodes that make no calls keep what they took. */
void test_net_without_samples_nodes_pay_for_their_own_calls(void)
{
	node_id idle, busy;

	begin_noted("20.0 5.0");
	idle = add(add(root, "a", 1, 0), "f", 1, 1000);
	busy = add(add(root, "b", 1, 0), "f", 1, 1000);
	add(busy, "leaf", 10000, 500);
	apply();
	CHECK(self_of(idle) > 990 * MS && self_of(idle) < 1010 * MS);
	CHECK(self_of(busy) > 890 * MS && self_of(busy) < 910 * MS);
	session_free(s);
}

/* The calls are in the one, the time in the other. */
void test_net_without_samples_errors_are_where_the_calls_are(void)
{
	node_id busy, calm;

	begin_noted("20.0 5.0");
	busy = add(add(root, "a", 1, 0), "f", 2000, 20);
	calm = add(add(root, "b", 0, 0), "f", 0, 1000);
	apply();
	CHECK(error_of(busy) >= 20);
	CHECK(error_of(calm) < error_of(busy));
	session_free(s);
}

/* Calls may cost more than there is, but a time is never below 0, nor above
 * what was recorded. */
void test_net_without_samples_stays_above_zero(void)
{
	node_id f;

	begin_noted("20.0 5.0");
	f = add(root, "f", 5000, 1);
	apply();
	CHECK(self_of(f) > 0 && self_of(f) <= MS);
	CHECK(error_of(f) >= 1);
	session_free(s);
}

void test_net_costs_that_cannot_be_are_refused(void)
{
	static const char *const costs[] = {
		NULL, "", "x", "nan 1", "-3 1", "inf 1", "20 nan", "20 -1",
		"20 30", "1e9 1", "0 0",
	};

	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		begin_noted(costs[i]);
		add(root, "f", 1000, 500);
		apply();
		CHECK(!s->net.is_net && !cct_is_net(s->cct));
		session_free(s);
	}
}

static const char *name_of(node_id id)
{
	return func_get(s->funcs, cct_get(s->cct, id)->func)->name;
}

/* Code that is not recorded and the kernel get nodes of their own; what has no
 * name stays the caller's. */
void test_net_shows_what_was_sampled_below_calls(void)
{
	struct arena *const names = arena_new();
	node_id f, g, copies, kernel;
	uint64_t before;

	begin();
	s->place_count = PLACES;
	f = add(root, "f", 1, 1000);
	g = add(root, "g", 1, 500);
	sample(f, KERNEL, 200, 1);
	sample(f, OTHER, 300, 1);
	sample(f, COPY, 400, 1);
	sample(f, PROBE, 100, 1);
	sample(g, COPY, 500, 1);
	s->places[COPY] = (struct code_place){ .module = 1, .offset = 0x1234,
		.begin = 0x1200, .name = "memcpy" };
	apply();
	before = self_of(f);
	sampled_calls_add(s, names, true);
	CHECK(cct_valid(s->cct));
	kernel = cct_get(s->cct, f)->child;
	copies = cct_get(s->cct, kernel)->sibling;
	if (strcmp(name_of(kernel), "memcpy [sampled]") == 0) {
		const node_id other = kernel;

		kernel = copies;
		copies = other;
	}
	CHECK_STR(name_of(kernel), "[kernel] [sampled]");
	CHECK_STR(name_of(copies), "memcpy [sampled]");
	CHECK_EQ(cct_get(s->cct, copies)->calls, 0);
	CHECK_EQ((self_of(kernel) + MS / 2) / MS, 200);
	CHECK_EQ((self_of(copies) + MS / 2) / MS, 400);
	CHECK_EQ(self_of(f) + self_of(kernel) + self_of(copies), before);
	CHECK_EQ(self_of(g) / MS, 0);
	CHECK_EQ(cct_sampled_of(s->cct, copies)->other, 400);
	session_free(s);
	arena_free(names);
}

/* f calls what is only counted: nobody knows who called memcpy there. It also
 * has 400 probes of such calls, which its few recorded ones did not cost.
 */
static node_id below_f(struct arena *names)
{
	const elf_id elf = func_module(s->funcs, "/p", NULL, 0, 0x10000);
	const func_id left = func_native(s->funcs, elf, 0x200);
	const struct func_origin at = { "@x.lua", 6, 6, 0, 3, 9, 0 };
	node_id f, tiny, lua;

	s->place_count = PLACES;
	s->places[COPY] = (struct code_place){ .module = elf, .begin = 0x1200,
					       .name = "memcpy" };
	s->places[KERNEL].module = elf;
	s->places[OTHER] = (struct code_place){ .module = elf, .begin = 0x100,
						.name = "f" };
	func_get(s->funcs, left)->name = "left";
	f = cct_child(s->cct, root, func_native(s->funcs, elf, 0x100), 0);
	cct_get(s->cct, f)->calls = 1;
	cct_get(s->cct, f)->self = 2000 * MS;
	tiny = cct_child(s->cct, f, left, 0);
	cct_add_untimed(s->cct, tiny, 1000);
	sample(f, OTHER, 650, 1);
	sample(f, PROBE, 350, 1);
	sample(f, COPY, 200, 1);
	hides = 1;
	sample(f, OTHER, 50, 1);
	sample(f, PROBE, 50, 1);
	sample(f, COPY, 400, 1);
	sample(f, KERNEL, 300, 1);
	sample(add(root, "g", 1, 500), COPY, 500, 1);
	lua = cct_child(s->cct, root, func_lua(s->funcs, &at, ""), 0);
	func_get(s->funcs, cct_get(s->cct, lua)->func)->name = "script";
	cct_get(s->cct, lua)->self = 100 * MS;
	sample(lua, KERNEL, 100, 1);
	cct_child(s->cct, lua, left, 0);
	hides = 0;
	apply();
	counted_calls_time(s);
	sampled_calls_add(s, names, false);
	CHECK(cct_valid(s->cct));
	return f;
}

static uint64_t self_below(node_id parent, const char *name)
{
	for (node_id id = cct_get(s->cct, parent)->child; id;
	     id = cct_get(s->cct, id)->sibling)
		if (strcmp(name_of(id), name) == 0)
			return (self_of(id) + MS / 2) / MS;
	return 0;
}

void test_net_code_below_counted_calls_is_not_the_recorded_callers(void)
{
	struct arena *const names = arena_new();
	node_id f;

	begin();
	note_cost("20.0 5.0");
	s->counted = 1007;
	s->calls = 1100;
	f = below_f(names);
	CHECK_EQ(s->counted, 7);
	CHECK_EQ(cct_counted_sum(s->cct).untimed, 0);
	CHECK_EQ(self_below(f, "memcpy [sampled]"), 400);
	CHECK_EQ(self_below(f, "[p] [sampled]"), 300);
	/* Its own 700, and 200 when it was certain. */
	CHECK_EQ((self_of(f) + MS / 2) / MS, 900);
	/* g calls no such function. */
	CHECK_EQ(self_below(root, "g"), 500);
	/* Its own time is in Lua's library. */
	CHECK_EQ(self_below(root, "script"), 100);
	/* That of 900 samples: 1,000 calls of 20 ns are little beside it. */
	CHECK(error_of(f) > 29 && error_of(f) < 31);
	session_free(s);
	arena_free(names);
}

/* What a thread used is known, but not in which calls. */
void test_net_calls_that_were_only_counted_have_no_times(void)
{
	begin();
	add_sampled(root, "f", 1000, 1000, 600, 400);
	s->calls = s->counted = 1000000;
	apply();
	CHECK(!s->net.is_net && !cct_is_net(s->cct));
	session_free(s);
}

/* Samples do not tell which counted call was open: what is in no function's
 * code has rows of its own, and nothing of it stays the thread's, which has no
 * row. */
void test_net_code_that_is_not_recorded_has_rows_where_all_was_counted(void)
{
	struct note mode = { "mode", "count-only" };
	struct arena *const names = arena_new();
	const elf_id elf = (begin(), func_module(s->funcs, "/lib/p", NULL, 0,
						 0x10000));
	const func_id f = func_native(s->funcs, elf, 0x100);

	s->notes = &mode;
	s->note_count = 1;
	s->place_count = PLACES;
	s->places[OTHER] = (struct code_place){ .module = elf, .begin = 0x100,
						.name = "f" };
	s->places[COPY] = (struct code_place){ .module = elf, .begin = 0x1200,
					       .name = "memcpy" };
	s->places[KERNEL] = (struct code_place){ .offset = 0x7f1234 };
	s->places[PROBE].module = elf;
	s->places[PROBE].kind = PLACE_OTHER;
	func_get(s->funcs, f)->name = "f";
	cct_add_untimed(s->cct, cct_child(s->cct, root, f, 0), 1000);
	s->calls = s->counted = 1000;
	cct_get(s->cct, root)->self = 1000 * MS;
	sample(root, OTHER, 40, 1);
	sample(root, COPY, 360, 1);
	sample(root, PROBE, 400, 1);
	sample(root, KERNEL, 200, 1);
	apply();
	reference_apply(s, names);
	sampled_calls_add(s, names, false);
	CHECK_EQ(self_below(root, "f"), 40);
	CHECK_EQ(self_below(root, "memcpy [sampled]"), 360);
	CHECK_EQ(self_below(root, "[p] [sampled]"), 400);
	CHECK_EQ(self_below(root, "[elsewhere] [sampled]"), 200);
	CHECK(self_of(root) < MS);
	s->notes = NULL;
	s->note_count = 0;
	session_free(s);
	arena_free(names);
}

/* ---- a reference ---- */

static double uniform(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

/* How many events, of so many on average. */
static unsigned poisson(double mean)
{
	double t = -log(uniform());
	unsigned n = 0;

	for (; t < mean; n++)
		t -= log(uniform());
	return n;
}

/* Calls that cost 40 ns, of a function that takes ms; what is seen of both. */
static node_id add_drawn(node_id parent, func_id f, double calls, double ms)
{
	const node_id id = cct_child(s->cct, parent, f, 0);
	const double cost = calls * 40e-6;

	cct_get(s->cct, id)->calls = (uint64_t)calls;
	cct_get(s->cct, id)->self = (uint64_t)((ms + cost) * (double)MS);
	sample(id, OTHER, poisson(ms), 1);
	sample(id, PROBE, poisson(cost), 1);
	return id;
}

enum { STACKS = 6, OFTEN = 50 }; /* OFTEN: samples a ms of the reference */

/* A function is called by STACKS others. */
static void draw(node_id id[STACKS], double truth[STACKS])
{
	static const char *const by[STACKS] = { "a", "b", "c", "d", "e", "f" };
	static const uint8_t build[20] = { 1 };
	const elf_id elf = func_module(s->funcs, "/bin/made-up", build,
				       sizeof(build), 4096);
	const func_id f = func_native(s->funcs, elf, 16);
	struct reference *const r = &s->reference;
	double all = 0;

	s->places[OTHER].kind = PLACE_OWN;
	s->places[OTHER].func = f;
	for (int i = 0; i < STACKS; i++) {
		truth[i] = 20 * exp(3 * uniform());
		all += truth[i];
		id[i] = add_drawn(add(root, by[i], 1, 0), f, 1e6 * uniform(),
				  truth[i]);
	}
	r->kind = REFERENCE_RUN;
	r->samples = poisson(OFTEN * all);
	r->ns = (double)r->samples * (double)MS / OFTEN;
	r->at = mem_alloc(sizeof(*r->at));
	r->at[0] = (struct reference_count){ 1, 0, r->samples, r->ns, OTHER,
					     0 };
	r->count = 1;
}

/* The times of one function's stacks, which a long reference and the recording
 * tell by chance: nearly all lie inside twice the error that a stack has, and
 * not only since that is too large. */
void test_net_division_has_an_error(void)
{
	enum { TIMES = 300, ALL = TIMES * STACKS };
	unsigned inside = 0, near = 0;

	for (int time = 0; time < TIMES; time++) {
		double truth[STACKS];
		node_id id[STACKS];

		begin();
		draw(id, truth);
		apply();
		reference_apply(s, s->text);
		REQUIRE(s->net.is_net == NET_REFERENCE);
		for (int i = 0; i < STACKS; i++) {
			const struct cct_sampled *const of =
				cct_sampled_of(s->cct, id[i]);
			const double off = fabs((double)self_of(id[i]) -
						truth[i] * (double)MS);
			const double error = sqrt(of->variance +
				cct_division_variance(&of->division));

			inside += off <= 2 * error;
			near += off <= error / 4;
		}
		session_free(s);
	}
	printf("note: %u of %d inside 2 errors, %u inside 1/4\n", inside, ALL,
	       near);
	CHECK(inside >= ALL * 19 / 20);
	CHECK(near < ALL / 2);
}

/* ---- sampled Lua ---- */

/* A sampled state noted a function, of that name, for so long. */
static node_id add_noted(node_id parent, const char *name, unsigned notes,
			 uint64_t ms)
{
	const node_id id = cct_child(s->cct, parent,
				     func_special(s->funcs, name), CCT_NOTED);

	cct_note(s->cct, id, notes, ms * MS);
	return id;
}

/* What is left of a call when Lua has its part is a difference, and what was
 * taken off is as uncertain as what it was taken from. */
void test_net_noted_a_difference_is_not_exact(void)
{
	node_id host, lua;

	begin();
	host = add_sampled(root, "host", 1, 1000, 1000, 0);
	lua = add_noted(host, "lua", 250, 990);
	apply();
	REQUIRE(s->net.is_net == NET_SAMPLED);
	noted_apply(s);
	CHECK(self_of(lua) > 980 * MS && self_of(host) < 20 * MS);
	CHECK(error_of(host) > 0.9 * 990 / sqrt(250));
	CHECK(error_of(host) < 1.2 * 990 / sqrt(250));
	CHECK(error_of(lua) > error_of(host));
	session_free(s);
}

/* Lua has nothing less than what a note says, though it says too much. */
void test_net_noted_all_that_it_ran_has_an_error(void)
{
	node_id host, lua;

	begin();
	host = add_sampled(root, "host", 1, 1000, 1000, 0);
	lua = add_noted(host, "lua", 100, 2000);
	apply();
	noted_apply(s);
	CHECK_EQ(self_of(host), 0);
	CHECK(error_of(host) > 50 && error_of(lua) > 50);
	session_free(s);
}

/* A reference of ms of the program in places that these samples show. */
static void refer(const unsigned ms[PLACES])
{
	struct reference *const r = &s->reference;

	r->kind = REFERENCE_RUN;
	r->at = mem_alloc(PLACES * sizeof(*r->at));
	for (uint32_t i = 0; i < s->place_count; i++) {
		if (ms[i] == 0)
			continue;
		r->at[r->count++] = (struct reference_count){
			s->places[i].module, s->places[i].offset, ms[i],
			(double)(ms[i] * MS), i, 0 };
		r->samples += ms[i];
		r->ns += (double)(ms[i] * MS);
	}
}

/* Code that Lua compiled is in no file. Notes say whose it is, whether samples
 * of the recording met it or not; code of Lua's library is Lua's, too. */
static void check_compiled(bool is_seen)
{
	static const uint8_t build[20] = { 1 };
	const unsigned ms[PLACES] = { [OTHER] = 200, [COPY] = 600 };
	node_id host, other, hot, cold;
	elf_id elf;

	begin();
	elf = func_module(s->funcs, "/lib/liblua5.so", build, sizeof(build),
			  4096);
	CHECK_EQ(elf, 1);
	s->place_count = PLACES;
	s->places[COPY].offset = is_seen ? 0x7f1234 : 1;
	host = add_sampled(root, "host", 1, 1600, 400, 0);
	other = add_sampled(root, "other", 1, 400, 0, 0);
	sample(other, KERNEL, 400, 1);
	sample(host, is_seen ? COPY : KERNEL, 1200, 1);
	hot = add_noted(host, "hot", 150, 150);
	cold = add_noted(hot, "cold", 50, 50);
	refer(ms);
	apply();
	reference_apply(s, s->text);
	REQUIRE(s->net.is_net == NET_REFERENCE);
	noted_apply(s);
	CHECK(cct_valid(s->cct));
	CHECK_EQ((self_of(hot) + MS / 2) / MS, 600);
	CHECK_EQ((self_of(cold) + MS / 2) / MS, 200);
	CHECK(self_of(host) < MS && error_of(host) > 0.9);
	CHECK_EQ(self_of(other), 0);
	CHECK_EQ(s->reference.unknown, 0);
	session_free(s);
}

void test_net_noted_compiled_code_is_of_who_was_noted(void)
{
	check_compiled(true);
	check_compiled(false);
}

/* A function that took as many ms while LuaJIT's compiler was off. */
static node_id add_interpreted(node_id parent, uint32_t line, unsigned ms)
{
	const struct func_origin at = { "@x.lua", 6, 6, 0, line, line, 0 };
	const node_id id = cct_child(s->cct, parent,
				     func_lua(s->funcs, &at, ""), 0);

	func_get(s->funcs, cct_get(s->cct, id)->func)->file =
		line < 9 ? "x.lua" : "y.lua";
	cct_get(s->cct, id)->calls = 1;
	cct_get(s->cct, id)->self = ms * MS;
	sample(id, KERNEL, ms, 1);
	return id;
}

static node_id begin_interpreted(void)
{
	node_id host;

	begin();
	s->vms = mem_alloc(sizeof(*s->vms));
	s->vms[0] = (struct vm){ .abi = VM_LUAJIT, .flags = VM_JIT_OFF };
	s->vm_count = 1;
	s->place_count = PLACES;
	s->places[COPY].offset = 1;
	s->places[OTHER].module = s->places[PROBE].module =
		func_module(s->funcs, "/bin/host", NULL, 0, 4096);
	host = add_sampled(root, "host", 1, 700, 0, 0);
	sample(host, OTHER, 700, 1);
	return host;
}

/* Twice the error of the self time of a row of these. */
static double doubt_of(const node_id *at, size_t count)
{
	struct figures f = { .func = 0 };

	for (size_t i = 0; i < count; i++)
		figures_add_division(&f, s->cct, at[i]);
	return 2 * sqrt(cct_division_variance(&f.division) +
			cct_division_variance(&f.given));
}

/* In the reference, Lua takes 300 ms, nearly all of it in compiled code. */
void test_net_interpreted_lua_may_have_taken_anything_of_its_sum(void)
{
	const unsigned ms[PLACES] = { [OTHER] = 700, [COPY] = 280,
				      [KERNEL] = 20 };
	node_id host, at[2];
	double *below, other, is;

	host = begin_interpreted();
	at[0] = add_interpreted(host, 3, 600);
	at[1] = add_interpreted(host, 9, 200);
	refer(ms);
	apply();
	reference_apply(s, s->text);
	REQUIRE(s->net.is_net == NET_REFERENCE);
	CHECK_EQ((self_of(at[0]) + MS / 2) / MS, 225);
	CHECK_EQ((self_of(at[1]) + MS / 2) / MS, 75);
	for (int i = 0; i < 2; i++) {
		other = (double)self_of(at[!i]) / (double)MS;
		other = fmax(other, (double)self_of(at[i]) / (double)MS);
		is = doubt_of(&at[i], 1);
		CHECK(is >= 0.99 * other * (double)MS &&
		      is <= 1.01 * other * (double)MS);
	}
	below = cct_division_below(s->cct);
	CHECK(sqrt(below[host]) < 0.01 * (double)MS);
	mem_free(below);
	CHECK_EQ(s->reference.unknown, 0);
	session_free(s);
}

/* One of 101 functions takes half of 400 ms, in 1 stack or in 10: it may have
 * taken nothing, or all. So may all the others together. */
static void check_many(unsigned stacks)
{
	const unsigned ms[PLACES] = { [OTHER] = 700, [COPY] = 400 };
	const struct flat_options by_file = { .by = GROUP_FILE,
					      .thread = CCT_ALL_THREADS };
	node_id host, at[10], others[100];
	struct flat *flat;
	double is = 0;

	host = begin_interpreted();
	for (unsigned i = 0; i < stacks; i++)
		at[i] = add_interpreted(i > 0 ? at[i - 1] : host, 3,
					200 / stacks);
	for (unsigned i = 0; i < 100; i++)
		others[i] = add_interpreted(host, 9 + i, 2);
	refer(ms);
	apply();
	reference_apply(s, s->text);
	REQUIRE(s->net.is_net == NET_REFERENCE);
	CHECK(doubt_of(at, stacks) >= 198 * (double)MS &&
	      doubt_of(at, stacks) <= 202 * (double)MS);
	CHECK(doubt_of(others, 100) >= 198 * (double)MS &&
	      doubt_of(others, 100) <= 202 * (double)MS);
	CHECK(doubt_of(others, 1) >= 394 * (double)MS &&
	      doubt_of(others, 1) <= 400 * (double)MS);
	flat = flat_new(s, &by_file);
	for (size_t i = 0; i < flat->count; i++) {
		const struct flat_row *const row = &flat->rows[i];

		if (strcmp(flat->groups->group[row->group].name, "y.lua") == 0)
			is = 2 * sqrt(cct_division_variance(&row->f.given));
	}
	CHECK(is >= 198 * (double)MS && is <= 202 * (double)MS);
	flat_free(flat);
	session_free(s);
}

void test_net_interpreted_lua_may_not_have_taken_more_than_its_sum(void)
{
	check_many(1);
	check_many(10);
}

/* ---- Lua that no tick noted ---- */

/* A function that runs Lua of a sampled state: its samples, and those of code
 * of Lua's library and of other libraries; they are all its time. */
static node_id add_host(unsigned own, unsigned lua, unsigned other, double ms)
{
	static const uint8_t build[20] = { 1 };
	const node_id id = add(root, "host", 1, 0);

	cct_get(s->cct, id)->self = (uint64_t)(ms * (double)MS);
	s->vms = mem_alloc(sizeof(*s->vms));
	s->vms[0] = (struct vm){ .abi = VM_LUA54, .flags = VM_SAMPLED };
	s->vm_count = 1;
	s->place_count = PLACES;
	s->places[COPY].module = func_module(s->funcs, "/lib/liblua5.so",
					     build, sizeof(build), 4096);
	s->places[OTHER].module = 0;
	s->places[OTHER].kind = PLACE_OWN;
	s->places[OTHER].func = cct_get(s->cct, id)->func;
	sample(id, OTHER, own, 1);
	sample(id, COPY, lua, 1);
	sample(id, KERNEL, other, 1);
	return id;
}

/* What runs below a function without a note of it is not the function's. */
void test_net_lua_that_is_not_noted_is_not_its_callers(void)
{
	node_id host, lua;

	begin();
	host = add_host(20, 480, 0, 500);
	lua = add_noted(host, "lua", 75, 300);
	apply();
	noted_apply(s);
	sampled_calls_add(s, s->text, true);
	CHECK(cct_valid(s->cct));
	CHECK_EQ((self_of(host) + MS / 2) / MS, 20);
	CHECK_EQ((self_of(lua) + MS / 2) / MS, 300);
	CHECK_EQ(self_below(host, "[Lua, not noted]"), 180);
	CHECK(error_of(host) > 4 && error_of(host) < 6);
	session_free(s);
}

/* No tick may have met it at all. */
void test_net_lua_is_told_by_its_code_alone(void)
{
	node_id host;

	begin();
	host = add_host(0, 200, 0, 200);
	apply();
	noted_apply(s);
	CHECK(self_of(host) < MS);
	CHECK_EQ(self_below(host, "[Lua, not noted]"), 200);
	CHECK(error_of(host) > 0.5 && error_of(host) < 2);
	session_free(s);
}

/* Without samples nobody knows; the error says so. */
void test_net_lua_without_samples_has_an_error(void)
{
	node_id host;

	begin();
	add_sampled(root, "other", 1, 200, 200, 0);
	host = add_host(0, 0, 0, 10);
	add_noted(host, "lua", 1, 4);
	apply();
	noted_apply(s);
	CHECK_EQ((self_of(host) + MS / 2) / MS, 6);
	CHECK(error_of(host) >= 3);
	session_free(s);
}

/* Draw a function that runs Lua, as it does elsewhere: ms of its own and of
 * Lua's code, and what each calls in other libraries. Some ticks are not noted.
 * Is the truth inside twice the error? */
static unsigned draw_host(unsigned *near)
{
	const double own = 0.2 * exp(6 * uniform());
	const double lua = exp(6 * uniform());
	const double calls = uniform() < 0.5 ? 0 : 0.3 * own * uniform();
	const double lua_calls = uniform() < 0.5 ? 0 : 0.3 * lua * uniform();
	const double noted = uniform() < 0.3 ? 0 : uniform();
	const unsigned notes = poisson((lua + lua_calls) * noted / 4);
	node_id host, in;
	double off, error;

	begin();
	add_sampled(root, "other", 1, 200, 200, 0);
	host = add_host(poisson(own), poisson(lua), poisson(calls + lua_calls),
			own + calls + lua + lua_calls);
	sample(add(add(root, "elsewhere", 1, 0), "host", 1, 50), COPY, 50, 1);
	in = notes > 0 ? add_noted(host, "lua", notes, 4 * notes) : 0;
	apply();
	noted_apply(s);
	off = fabs((double)self_of(host) / (double)MS - own - calls);
	error = error_of(host);
	*near += off <= error / 4;
	CHECK(in == 0 || self_of(in) <= 4 * notes * MS);
	session_free(s);
	return off <= 2 * error;
}

void test_net_self_of_what_runs_lua_has_an_error(void)
{
	enum { ALL = 2000 };
	unsigned inside = 0, near = 0;

	for (int i = 0; i < ALL; i++)
		inside += draw_host(&near);
	printf("note: %u of %d inside 2 errors, %u inside 1/4\n", inside, ALL,
	       near);
	CHECK(inside >= ALL * 19 / 20);
	CHECK(near < ALL / 2);
}
