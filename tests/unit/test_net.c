/* test_net.c - net times from samples, where the answer is plain.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/model/net.h"
#include "tests/test.h"

#include <math.h>

#define MS UINT64_C(1000000) /* ticks: the clock has 1 GHz */

enum { PROBE, OTHER, PLACES };

static struct session *s;
static node_id root;

/* One thread; samples every ms. */
static void begin(void)
{
	s = session_new(0);
	s->tick_hz = 1000000000;
	s->places = mem_alloc(PLACES * sizeof(*s->places));
	s->place_count = PLACES;
	s->places[PROBE].kind = PLACE_PROBE;
	root = cct_root(s->cct, 0);
	cct_collect_samples(s->cct);
}

static void sample(node_id id, uint32_t place, unsigned n, uint32_t ms)
{
	while (n-- > 0)
		cct_add_sample(s->cct, &(struct cct_sample){
			.node = id, .place = place,
			.period = ms * (uint32_t)MS });
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
	/* 100,000 calls cost 4 ms; by chance no sample fell. */
	few = add_sampled(root, "few", 100, 6, 0, 0);
	apply();
	CHECK(self_of(few) > 1 * MS && self_of(few) < 3 * MS);
	CHECK(error_of(few) > 1.9 && error_of(few) < 2.5);
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
