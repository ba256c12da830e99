/* completeness_times.c - where the times of a report come from, and what
 * sampled Lua could not note, in sentences.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/completeness_times.h"
#include "analyzer/base/mem.h"
#include "analyzer/correct/correct.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

/* ---- times -------------------------------------------------------------- */

static bool is_hardly_sampled(const struct net *n)
{
	return n->unsampled > n->raw / 2;
}

/* How many samples the recorder has lost, if those are why some are missing:
 * one may stand for several. */
static uint64_t lost_samples(const struct session *s)
{
	const uint64_t lost = session_noted(s, "samples.lost");
	const uint64_t period = s->net.period > 0 ? s->net.period : 1000000;

	return lost > session_ns(s, s->net.unsampled) / period / 4 ? lost : 0;
}

/* How times were made without samples. Merged sessions need not agree on what a
 * call costs. */
static void tell_calibrated(struct teller *t, const struct load *load)
{
	const struct session *const s = load->session;
	const struct net *const n = &s->net;
	const bool is_part = load->is_raw || n->is_net != NET_CALIBRATED;
	const uint64_t lost = is_part ? 0 : lost_samples(s);
	char of[64] = "", lua[64] = "", why[OUT_NUMBER + 160] = "there are ";
	struct call_cost c;

	if (!(n->is_net & NET_CALIBRATED))
		return;
	if (is_part || n->period == 0)
		strcat(why, is_part ? "no samples, or too few" : "no samples");
	else if (is_hardly_sampled(n) && lost > 0)
		strcat(out_number_many(why, lost, "samples"), " were lost, as "
		       "the recorder got too little of the CPU");
	else if (is_hardly_sampled(n))
		strcpy(why, "little of the CPU time was sampled, as threads "
		       "that often sleep are sampled now and then; "
		       "--sample-rate 4000 samples more");
	else
		strcat(out_number_many(why + strlen(why),
				       n->own + n->other + n->probe,
				       "samples"), " only");
	if (net_calibrated_cost(s, &c)) {
		if (s->vm_count > 0)
			snprintf(lua, sizeof(lua), ", %.0f ns one of Lua's",
				 c.lua_received + c.lua_made);
		snprintf(of, sizeof(of), " of %.0f \302\261 %.0f ns a call",
			 c.native, c.error);
	}
	say(t, "%sself and total are net, raw times less a calibrated cost%s%s,"
	    " \302\261 one standard error (--raw: as recorded): %s",
	    is_part ? "of some sessions, " : "", of, lua, why);
}

/* Why times were left as they are, though there are samples. */
static void tell_raw(struct teller *t, const struct session *s)
{
	const uint64_t all = s->net.own + s->net.other + s->net.probe;
	char share[OUT_NUMBER], count[OUT_NUMBER];

	out_number_share(share, s->net.probe, all);
	out_number_many(count, all, "samples");
	if (net_hides_calls(s))
		say(t, "times hold weft's own part, %s by %s: samples do not "
		    "tell calls without records from their callers", share,
		    count);
	else
		say(t, "times hold weft's own part, %s by %s: too %s to take "
		    "it off", share, count, is_hardly_sampled(&s->net) ?
		    "little of the CPU time was sampled" : "few");
}

/* How times were made, where there are samples. */
static void tell_net(struct teller *t, const struct load *load)
{
	const struct net *const n = &load->session->net;
	const uint64_t all = n->own + n->other + n->probe;
	const bool is_part = load->is_raw || n->is_net != NET_SAMPLED;
	const uint64_t lost = is_part ? 0 : lost_samples(load->session);
	char share[OUT_NUMBER], count[OUT_NUMBER], text[OUT_NUMBER];
	char why[OUT_NUMBER + 20] = "";

	if (n->period > 0 && !n->is_net && load->is_raw)
		tell_raw(t, load->session);
	if (!(n->is_net & NET_SAMPLED))
		return;
	out_number_share(share, n->probe, all);
	out_number_many(count, all, "samples");
	say(t, "%sprobes took %s of the run: self and total are net, estimated "
	    "from %s, \302\261 one standard error (--raw: as recorded)%s",
	    is_part ? "in some sessions, " : "", share, count,
	    n->probe > all / 4 ? "; times of short calls may be wrong by more: "
	    "weft record --reference measures them, weft trim leaves "
	    "them out" : "");
	if (lost > 0)
		snprintf(why, sizeof(why), ", as %s were lost",
			 out_number_many(text, lost, "samples"));
	if (n->unsampled > n->raw / 100)
		say(t, "%s of the%s CPU time has no samples%s: there, "
		    "functions have the same share of net time as elsewhere",
		    out_number_share(text, n->unsampled, n->raw),
		    is_part ? "ir" : "", why);
	say_count(t, n->contradicted, "functions", " with another time by "
		  "samples than by calls: that of the samples is shown");
	say_count(t, n->astray > all / 100 ? n->astray : 0, "samples",
		  " in functions that were not open");
}

static const char *why_refused(const struct session *s)
{
	const bool is_jit_off = completeness_jit_off(s) > 0;

	if (s->reference.kind == REFERENCE_RUN)
		return is_jit_off ?
		       "the recorded run took another CPU time, as LuaJIT's "
		       "compiler was off" :
		       "the recorded run did not do the same work, by its CPU "
		       "time, or the machine was too busy: record again";
	if (is_jit_off)
		return "nothing tells how much of that time was recorded, as "
		       "LuaJIT's compiler was off; weft record --lua sampled "
		       "leaves it on";
	if (s->reference.kind == REFERENCE_OFF)
		return "nothing tells how much of that time was recorded: no "
		       "call is long, and recording took most of the CPU "
		       "time; weft trim names what to leave out";
	return "no call is long enough to tell how much of that time was "
	       "recorded; weft record --reference makes one that fits";
}

/* Where times come from, if the program told them while it was not recorded;
 * and why not, though there is a reference. */
static void tell_as_it_runs(struct teller *t, const struct session *s,
			    const char *count, const char *cpu)
{
	static const char *const of[] = {
		[REFERENCE_RUN] = " of a run before", [REFERENCE_ONLY] = "",
		[REFERENCE_OFF] = " while recording was off"
	};
	const struct reference *const r = &s->reference;
	char unknown[OUT_NUMBER];

	if (r->is_refused)
		say(t, "the reference (%s, %s of CPU time) is not used: %s",
		    count, cpu, why_refused(s));
	if (!(s->net.is_net & NET_REFERENCE))
		return;
	say(t, "self and total are those of the program as it runs unrecorded, "
	    "but for waits, by %s of %s of CPU time%s, \302\261 one standard "
	    "error (--raw: as recorded)", count, cpu, r->is_same_run ?
	    " of a run of the same command" : of[r->kind]);
	if (r->kind != REFERENCE_RUN && !r->is_same_run)
		say(t, "the recorded part is %.3g \302\261 %.2g of that time, "
		    "by its %s", r->scale, r->error, r->is_by_time ?
		    "CPU time" : "long calls");
	if (r->unknown > r->ns / 1000)
		say(t, "%s of the reference is code that the recording did "
		    "not see: NAME [sampled]",
		    out_number_share(unknown, (uint64_t)r->unknown,
				     (uint64_t)r->ns));
}

static void tell_reference(struct teller *t, const struct load *load)
{
	const struct session *const s = load->session;
	const struct reference *const r = &s->reference;
	char count[OUT_NUMBER], cpu[OUT_NUMBER];

	if (load->is_raw || r->samples == 0)
		return;
	out_number_many(count, r->samples, "samples");
	out_number_time(cpu, r->ns);
	if (s->net.is_net & NET_REFERENCE && r->kind == REFERENCE_COUNTED)
		say(t, "self and total are those of the run that counted "
		    "calls, which bends them, by %s of %s of CPU time, "
		    "\302\261 one standard error", count, cpu);
	else
		tell_as_it_runs(t, s, count, cpu);
}

void completeness_times(struct teller *t, const struct load *load)
{
	tell_reference(t, load);
	tell_net(t, load);
	tell_calibrated(t, load);
	if (load->session->net.is_net && load->is_raw)
		say(t, "the times of other sessions are as recorded");
}

/* ---- sampled Lua -------------------------------------------------------- */

/* What tables have of sampled Lua; *rest: of that, what no tick noted. */
static ticks noted_time(const struct session *s, ticks *rest)
{
	ticks all = 0;

	*rest = 0;
	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const n = cct_get(s->cct, id);

		if (!(n->flags & CCT_NOTED))
			continue;
		all += n->self;
		if (func_is_special(s->funcs, n->func, "[Lua, not noted]"))
			*rest += n->self;
	}
	return all;
}

/* LuaJIT's profiler makes compiled code slower. */
static void tell_price(struct teller *t, const struct session *s,
		       uint64_t noted, uint64_t shown)
{
	char price[OUT_NUMBER], with[OUT_NUMBER], without[OUT_NUMBER];
	bool is_jit = false;

	for (size_t i = 0; i < s->vm_count; i++)
		is_jit |= s->vms[i].abi == VM_LUAJIT &&
			  (s->vms[i].flags & VM_SAMPLED);
	if (!is_jit || noted == 0)
		return;
	if (!(s->net.is_net & NET_REFERENCE))
		say(t, "the times of LuaJIT's functions include what ticks "
		    "cost, which is up to half of a hot loop's time; weft "
		    "record --reference tells how much it is in all");
	else if (noted > shown + shown / 20)
		say(t, "ticks cost LuaJIT %s: it took %s in the recording and "
		    "%s in the reference. Which functions became slower is "
		    "not known, so their times may be wrong by as much",
		    out_number_time(price, (double)(noted - shown)),
		    out_number_time(with, (double)noted),
		    out_number_time(without, (double)shown));
}

/* Of a process, LuaJIT's profiler serves one state at a time. */
static uint64_t jit_beside(const struct session *s)
{
	uint64_t all = 0, served = 0;
	bool *const has = mem_alloc(s->process_count + 1);

	for (size_t i = 0; i < s->vm_count; i++) {
		const struct vm *const vm = &s->vms[i];

		if (vm->abi != VM_LUAJIT || !(vm->flags & VM_SAMPLED) ||
		    vm->process >= s->process_count)
			continue;
		all++;
		served += !has[vm->process];
		has[vm->process] = true;
	}
	mem_free(has);
	return all - served;
}

/* They may have lived one after the other. */
static void tell_beside(struct teller *t, uint64_t states)
{
	char text[OUT_NUMBER];

	if (states > 0)
		say(t, "up to %s may have noted nothing: LuaJIT's profiler "
		    "serves one state of a process at a time; weft record "
		    "--lua exact records all",
		    out_number_many(text, states, "LuaJIT states"));
}

/* Sampled Lua. */
void completeness_noted(struct teller *t, const struct session *s)
{
	const uint64_t noted = SUM(s, noted), unnoted = SUM(s, unnoted);
	const char *const at_times = session_note(s, "budget.lua");
	char time[OUT_NUMBER], lacks[OUT_NUMBER];
	ticks rest;
	const ticks shown = noted_time(s, &rest);

	out_number_time(time, (double)noted);
	if (at_times)
		say(t, "Lua was sampled at times, as the budget asked "
		    "(%.400s): calls of its functions then are not counted, so "
		    "that there were more than are shown (%s of CPU time was "
		    "noted); weft record --lua exact counts all", at_times,
		    time);
	if (noted + unnoted == 0 && (at_times || !session_has_sampled_vm(s)))
		return;
	if (!at_times)
		say(t, "Lua was sampled: its functions have times (%s of CPU "
		    "time was noted, each tick as uncertain as its count; "
		    "time without a core is with what runs Lua), and their "
		    "calls are not known; weft record --lua exact counts "
		    "them", time);
	if (!at_times)
		tell_price(t, s, noted, session_ns(s, shown));
	if (unnoted <= (noted + unnoted) / 100)
		return;
	tell_beside(t, jit_beside(s));
	if (rest > 0)
		say(t, "for %s more Lua ran, by samples, and did not note "
		    "where: [Lua, not noted]",
		    out_number_time(lacks, (double)session_ns(s, rest)));
	else
		say(t, "for %s more Lua may have run and could not note where: "
		    "its callers have that time",
		    out_number_time(lacks, (double)unnoted));
}
