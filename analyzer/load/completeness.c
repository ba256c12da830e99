/* completeness.c - what a trace lacks, in sentences. Every way in which records
 * can be missing has its sentence here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/completeness.h"
#include "analyzer/load/completeness_say.h"
#include "analyzer/load/completeness_times.h"
#include "analyzer/correct/correct.h"
#include "analyzer/load/left_out.h"
#include "analyzer/load/lumped.h"

#include "analyzer/base/text.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void completeness_print(void *ctx, const char *sentence)
{
	const struct completeness_line *const line = ctx;

	out_print(line->to, "%s%s\n", line->begin, sentence);
}

/* ---- losses ------------------------------------------------------------- */

/* What the threads themselves counted ends with their last chunk. The
 * recorder's total, if there is one, does not. */
static void tell_reason(struct teller *t, const struct session *s, int reason)
{
	const struct lost_reason *const its = lost_reason(reason);
	const uint64_t count = completeness_sum(s,
		offsetof(struct thread, lost) +
		(size_t)reason * sizeof(uint64_t));
	const uint64_t said = session_noted(s, its->key);
	char words[200];

	snprintf(words, sizeof(words), ": %s", its->meaning);
	say_count(t, count < said ? said : count, its->unit, words);
}

/* What no thread could count in a chunk of its own. */
static void tell_unrecorded(struct teller *t, const struct session *s)
{
	static const struct {
		const char *key, *nouns, *words;
	} reasons[] = {
		{ "lost.processes", "processes",
		  " that could not be recorded" },
		{ "lost.threads", "threads",
		  " beyond those that can live at one time" },
		{ "lost.unheard", "threads",
		  " of which nothing is here: no buffer was ever free" },
		{ "lost.unrecorded", "calls",
		  " that could not be recorded: no memory or no room, "
		  "or made by the loader before the program began" },
		{ "lost.late", "calls",
		  " of threads after their last destructor" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		say_count(t, session_noted(s, reasons[i].key), reasons[i].nouns,
			  reasons[i].words);
}

/* Threads number their chunks. How many records were in those that are missing
 * is known only as far as the thread counted them itself. */
static void tell_missing(struct teller *t, const struct session *s)
{
	const uint64_t chunks = SUM(s, missing_chunks);
	const uint64_t records = SUM(s, missing_records);
	char text[OUT_NUMBER], many[OUT_NUMBER];

	if (chunks == 0)
		return;
	say(t, "%s missing: their numbers never came%s%s",
	    out_number_many(text, chunks, "chunks"),
	    records > 0 ? ", with " : "",
	    records > 0 ? out_number_many(many, records, "records") : "");
}

/* What the reader found damaged may be more than the replay was given. */
static void tell_chunks(struct teller *t, const struct load *load)
{
	const struct session *const s = load->session;
	const uint64_t written = session_noted(s, "records");

	tell_missing(t, s);
	say_count(t, session_noted(s, "lost.overwritten"), "chunks",
		  " overwritten by newer ones, as --on-full=overwrite asked");
	say_count(t, load->in.bad > s->bad_chunks ? load->in.bad :
		  s->bad_chunks, "chunks", " damaged and not used");
	/* The ends of streams are missed by nothing but these. */
	if (written > s->records)
		say_count(t, written - s->records, "records",
			  " written by the recorder, but not here");
	else
		say_count(t, session_noted(s, "lost.absent"), "chunks",
			  " written by the recorder, but not here");
	say_count(t, session_noted(s, "lost.chunks"), "chunks",
		  " could not be written anywhere");
	if (session_note(s, "lost.reference"))
		say(t, "a part of the reference, maybe: its trace is not "
		    "whole, see weft check of it");
}

/* A recorder that ended well left the note "end"; one that knows of losses left
 * "complete" with another value than yes. */
static void tell_recorder(struct teller *t, const struct session *s)
{
	const char *const complete = session_note(s, "complete");
	const char *const trouble = session_note(s, "trouble");
	const char *const recovered = session_note(s, "recovered");

	if (recovered)
		say(t, "the recorder ended before the recording did; weft "
		    "recover found %s", recovered);
	else if (!session_note(s, "end"))
		say(t, "the recorder ended before the recording did: what it "
		    "had not written is missing, see weft recover");
	if (recovered || !complete || strcmp(complete, "yes") == 0)
		return; /* its trouble is a note then */
	if (trouble && trouble[0])
		say(t, "the recorder says: %s", trouble);
	else if (t->count == 0)
		say(t, "the recorder says that it is not complete");
}

/* How much time is missing in all, and how many threads lack their first
 * chunks. */
static void tell_gaps(struct teller *t, const struct session *s)
{
	char places[OUT_NUMBER], time[OUT_NUMBER], threads[OUT_NUMBER];
	const ticks missing = SUM(s, missing);
	uint64_t headless = 0;

	for (size_t i = 0; i < s->thread_count; i++)
		headless += s->threads[i].headless;
	if (s->gap_total > headless && missing > 0)
		say(t, "%s of threads' time missing in %s, see weft check",
		    out_number_time(time, (double)session_ns(s, missing)),
		    out_number_many(places, s->gap_total - headless,
				    "places"));
	if (headless > 0)
		say(t, "the beginning of %s",
		    out_number_many(threads, headless, "threads"));
}

void completeness_gap(const struct session *s, const struct gap *g,
		      completeness_fn fn, void *ctx)
{
	const struct thread *const thread = &s->threads[g->thread];
	const ticks at = (g->from ? g->from : g->to) - session_first_tick(s);
	struct teller t = { fn, ctx, 0 };
	char chunks[OUT_NUMBER] = "", records[OUT_NUMBER] = "";
	char begin[OUT_NUMBER], length[OUT_NUMBER];

	if (g->chunks > 0)
		out_number_many(chunks, g->chunks, "chunks");
	if (g->records > 0)
		out_number_many(records, g->records, "records");
	out_number_time(begin, (double)session_ns(s, at));
	out_number_time(length, (double)session_ns(s, g->to - g->from));
	say(&t, "thread %" PRIu32 " %s of process %" PRIu32
	    ": %s%s%s %s +%s%s%s", thread->tid, thread->name,
	    s->processes[thread->process].pid, chunks,
	    g->chunks > 0 && g->records > 0 ? " and " : "", records,
	    g->from ? "at" : "before", begin, g->from ? " for " : "",
	    g->from ? length : "");
}

/* The order is that of importance to the figures: what threads could not
 * write, what is missing, what does not fit together. */
size_t completeness_each(const struct load *load, completeness_fn fn, void *ctx)
{
	const struct session *const s = load->session;
	struct teller t = { fn, ctx, 0 };

	for (int i = 0; i < LOST_REASONS; i++)
		tell_reason(&t, s, i);
	tell_unrecorded(&t, s);
	tell_chunks(&t, load);
	tell_gaps(&t, s);
	tell_recorder(&t, s);
	say_count(&t, s->unnested, "records",
		  " contradicting the stack, not used");
	if (t.count == 0 && !session_complete(s))
		say(&t, "the trace is not complete");
	return t.count;
}

/* ---- functions without names -------------------------------------------- */

/* A sentence for each module whose file is there and of no use, and one for all
 * modules whose files are not. Only names that could be had if somebody did
 * something are worth a word: a library with a few local functions is not. */

/* Functions that have neither a symbol nor the name Lua calls them by. */
static size_t count_unnamed(const struct naming *m)
{
	return m->asked - m->named - m->hinted;
}

/* How analyzer/sym begins to say that a module's file was not found; why may
 * follow. */
static const char absent_why[] = "its file is not there";

static bool is_absent(const struct naming *m)
{
	return !m->file[0] &&
	       strncmp(m->why, absent_why, sizeof(absent_why) - 1) == 0;
}

/* Modules whose files are not here: how many, and the one with the most. */
struct absent { size_t modules, funcs, most; const char *path, *why; };

static void add_absent(struct absent *a, const char *path,
		       const struct naming *m)
{
	a->modules++;
	a->funcs += count_unnamed(m);
	if (count_unnamed(m) <= a->most)
		return;
	a->most = count_unnamed(m);
	a->path = path;
	a->why = m->why;
}

static void tell_absent(struct teller *t, const struct absent *a)
{
	char count[OUT_NUMBER], others[OUT_NUMBER];

	if (a->modules == 0)
		return;
	out_number_many(count, a->funcs, "functions");
	if (a->modules == 1)
		say(t, "%s of %.60s without a name: its file is gone%s, see "
		    "--debug-dir", count, load_file_name(a->path),
		    a->why + sizeof(absent_why) - 1);
	else
		say(t, "%s of %.60s and %s without a name: their files are "
		    "gone, see --debug-dir", count, load_file_name(a->path),
		    out_number_many(others, a->modules - 1, "other modules"));
}

/* A file that named at least half of its module's functions is no news; nor is
 * a module of which no reason is known. */
static void tell_unnamed(struct teller *t, const struct session *s)
{
	struct absent absent = { 0 };
	char count[OUT_NUMBER];

	for (elf_id i = 1; i <= s->naming_count; i++) {
		const struct naming *const m = &s->namings[i - 1];
		const char *const path = func_elf(s->funcs, i)->path;
		const size_t unnamed = count_unnamed(m);

		if (unnamed == 0 || !m->why[0] ||
		    (m->file[0] && unnamed <= m->named + m->hinted))
			continue;
		if (is_absent(m))
			add_absent(&absent, path, m);
		else
			say(t, "%s of %.60s without a name: %s",
			    out_number_many(count, unnamed, "functions"),
			    load_file_name(path), m->why);
	}
	tell_absent(t, &absent);
}

/* ---- notes -------------------------------------------------------------- */

/* The CPU time of a run before says how much slower that makes the program.
 * Profiles do not have the error of how Lua's sum is divided. */
static void tell_jit(struct teller *t, const struct load *load)
{
	const struct session *const s = load->session;
	const struct reference *const r = &s->reference;
	const double recorded = (double)session_ns(s, s->net.raw);
	const uint64_t off = completeness_jit_off(s);
	char slower[80] = "";
	const char *const sum = !(s->net.is_net & NET_REFERENCE) ? "" :
		"; the reference knows the sum of Lua's time, and it is "
		"divided as the interpreter's: ";
	const char *const error = !sum[0] ? "" : load->is_profile ?
		"± does not contain what that changes" :
		"twice ± of a Lua function reaches from 0 to this sum";

	if (r->kind == REFERENCE_RUN && r->ns > 0 && recorded > r->ns)
		snprintf(slower, sizeof(slower), "; recorded, the program took "
			 "%.1f times the CPU time", recorded / r->ns);
	if (off > 0)
		say(t, "LuaJIT's compiler was off in %" PRIu64 " of %" PRIu64
		    " Lua states: counts are exact; times are the "
		    "interpreter's, which ranks functions otherwise (weft "
		    "record --lua sampled leaves it on)%s%s%s", off,
		    s->vm_count + s->beyond.vms, sum, error, slower);
}

/* Only functions that are in the figures count. */
static void tell_late(struct teller *t, const struct session *s)
{
	char text[OUT_NUMBER];
	uint64_t late = 0;

	for (func_id id = 1; id <= func_count(s->funcs); id++)
		late += func_get(s->funcs, id)->untold_return != 0;
	if (late > 0)
		say(t, "LuaJIT does not tell when C functions return: times of "
		    "%s, marked ~ in weft report, last until the next Lua "
		    "event",
		    out_number_many(text, late, "C functions"));
}

/* Rows of many functions whose sources have one name. */
static void tell_lumped(struct teller *t, const struct session *s)
{
	const struct func *first;
	const size_t count = lumped_count(s, &first);
	char text[OUT_NUMBER];

	if (count == 1)
		say(t, "%.200s may stand for several functions: their sources "
		    "have one name, of which only the first 1,000 functions "
		    "are told apart", first->name);
	else if (count > 1)
		say(t, "%s, such as %.200s, may each stand for several: their "
		    "sources have one name, of which only the first 1,000 "
		    "functions are told apart",
		    out_number_many(text, count, "functions"), first->name);
}

static void tell_lua(struct teller *t, const struct load *load)
{
	tell_jit(t, load);
	tell_late(t, load->session);
	tell_lumped(t, load->session);
}

/* Switches that no hook saw, but that followed from what came after. */
static uint64_t count_inferred(const struct session *s)
{
	uint64_t inferred = s->beyond.inferred;

	for (size_t i = 0; i < s->coroutine_count; i++)
		inferred += s->coroutines[i].inferred;
	return inferred;
}

/* Counters of processors other than x86 may take steps that are long next to a
 * call. */
static void tell_tick(struct teller *t, const struct session *s)
{
	enum { LONG_NS = 20 };
	char tick[OUT_NUMBER];

	if (s->tick_hz < 1000000000 / LONG_NS)
		say(t, "a tick of this machine's clock is %s: no time is more "
		    "exact than that, but sums of many are",
		    out_number_time(tick, 1e9 / (double)s->tick_hz));
}

/* Nothing was lost in the end, whatever the trouble was. */
static void tell_trouble(struct teller *t, const struct session *s)
{
	const char *const complete = session_note(s, "complete");
	const char *const trouble = session_note(s, "trouble");

	if (trouble && trouble[0] &&
	    (!complete || strcmp(complete, "yes") == 0))
		say(t, "the recorder says: %s", trouble);
}

/* Whoever names a folder of recordings may have meant one of them. Each has a
 * note of when it began. */
static void tell_recordings(struct teller *t, const struct session *s)
{
	uint64_t recordings = 0;

	for (size_t i = 0; i < s->note_count; i++)
		recordings += strcmp(s->notes[i].key, "start") == 0;
	if (recordings > 1)
		say(t, "%" PRIu64 " recordings were found there and are read "
		    "as one", recordings);
}

/* Why that much is whole. */
static void asked_text(const struct session *s, uint64_t whole, char *to,
		       size_t size)
{
	const uint64_t asked = session_noted(s, "snapshot.asked");
	const uint64_t bytes = session_noted(s, "snapshot.bytes");
	char time[OUT_NUMBER], most[OUT_NUMBER];

	out_number_time(time, (double)asked);
	out_number_bytes(most, bytes);
	if (asked == 0 && bytes > 0)
		snprintf(to, size, ", which is what %s held", most);
	else if (whole < asked - asked / 20)
		snprintf(to, size, ", not the %s asked for, as %s held no "
			 "more", time, most);
}

/* Which part of the recording a flight recorder has kept. */
static void tell_snapshot(struct teller *t, const struct session *s)
{
	const char *const reason = session_note(s, "snapshot.reason");
	const uint64_t from = session_noted(s, "snapshot.from"),
		       begin = session_noted(s, "start"),
		       end = session_noted(s, "end");
	const uint64_t shown = session_ns(s, session_last_tick(s) -
					  session_first_tick(s));
	char last[OUT_NUMBER], all[OUT_NUMBER], more[OUT_NUMBER + 80] = "",
	     why[2 * OUT_NUMBER + 80] = "", time[OUT_NUMBER];

	if (!reason || from < begin || end < from)
		return;
	out_number_time(last, (double)(end - from));
	out_number_time(all, (double)(end - begin));
	asked_text(s, end - from, why, sizeof(why));
	if (shown > (end - from) + (end - from) / 20)
		snprintf(more, sizeof(more), "; of threads that recorded "
			 "little, there is more, %s in all",
			 out_number_time(time, (double)shown));
	if (from == begin)
		say(t, "a snapshot (%.200s): all of the %s since recording "
		    "began", reason, all);
	else
		say(t, "a snapshot (%.200s): the last %s, whole%s%s; recording "
		    "began %s before its end, what came earlier is not here",
		    reason, last, why, more, all);
}

/* One piece read alone, or those that --max-files has kept. */
static void tell_pieces(struct teller *t, const struct session *s)
{
	const char *const piece = session_note(s, "piece");

	if (piece)
		say(t, "piece %.20s of a recording: what came before and after "
		    "is not here", piece);
	else
		say_count(t, session_noted(s, "pieces.removed"), "pieces",
			  " removed, as --max-files asked: what was recorded "
			  "first is not here");
}

/* Turned off by hand or by --duty, or not on at first. */
static void tell_off(struct teller *t, const struct session *s)
{
	const uint64_t ms = session_noted(s, "off.ms");
	char time[OUT_NUMBER];

	if (ms >= 100)
		say(t, "recording was off for %s of the whole time: what "
		    "happened then is not in the trace",
		    out_number_time(time, (double)ms * 1e6));
}

static void tell_left_out(struct teller *t, const struct session *s)
{
	char sentence[512];

	for (int i = 0; i < LEFT_OUT_SENTENCES; i++)
		if (left_out_describe(s, i, sentence, sizeof(sentence)))
			say(t, "%s", sentence);
}

enum { NAMES_SHOWN = 3 };

/* Names of those that were only counted, at times or always. Returns how many
 * these are. */
static size_t list_counted(const struct session *s, char *to, size_t size)
{
	size_t n = 0;

	to[0] = '\0';
	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (f->counted && n++ < NAMES_SHOWN)
			text_addf(to, size, "%s%.60s", n > 1 ? ", " : "",
				  f->name);
	}
	if (n > NAMES_SHOWN)
		text_addf(to, size, " and %zu more", n - NAMES_SHOWN);
	return n;
}

/* What a budget has counted, and whether it was kept. Earlier versions had a
 * note of another name, and left calls out. */
static void tell_budget(struct teller *t, const struct session *s)
{
	const char *const budget = session_note(s, "budget.limit");
	const char *const share = session_note(s, "budget.share");

	if (session_note(s, "budget"))
		say(t, "recorded with --budget by an earlier version of weft, "
		    "which left calls out: their number and their times are "
		    "not in the figures");
	if (!budget)
		return;
	say(t, "recorded with --budget %.16s: all %s are there", budget,
	    session_note(s, "budget.lua") ? "native calls" : "calls");
	if (share && strtod(share, NULL) > strtod(budget, NULL) * 1.2)
		say(t, "the budget was not kept%s: at the end, recording some "
		    "calls and counting the others took %.16s of the CPU time; "
		    "--skip (weft trim lists functions) and --no-lua cost less",
		    session_note(s, "samples.why-not") ?
		    ", as far as that is known without samples" : "", share);
	say_count(t, session_noted(s, "budget.no-room"), "times", " a function "
		  "or a verdict had no room in the budget's tables: such "
		  "functions are always recorded");
}

/* Calls without records. */
static void tell_counted(struct teller *t, const struct session *s)
{
	char names[300], text[OUT_NUMBER];
	const size_t n = list_counted(s, names, sizeof(names));

	if (!session_has_times(s))
		say(t, "calls were only counted, as --count-only asks: there "
		    "are no times");
	else if (counted_calls_are_all(s) && s->net.is_net & NET_REFERENCE)
		say(t, "calls were only counted: it is not known which of them "
		    "ran code that is not recorded, so that this has rows of "
		    "its own, NAME [sampled], and is in no total");
	else
		say_count(t, s->counted, "calls", " only counted: the time is "
			  "their callers'");
	if (n > 0 && s->net.is_net & NET_SAMPLED)
		say(t, "calls of %s were at times only counted (%s): their "
		    "self comes from samples, and code below them that is not "
		    "recorded has rows of its own, NAME [sampled]",
		    out_number_many(text, n, "functions"), names);
}

size_t completeness_notes(const struct load *load, completeness_fn fn,
			  void *ctx)
{
	const struct session *const s = load->session;
	struct teller t = { fn, ctx, 0 };

	say_count(&t, SUM(s, skipped), "native calls", " ended without a "
		  "call of the exit hook, as where an exception passes code "
		  "of clang++: what ran next may stand under them");
	tell_snapshot(&t, s);
	tell_pieces(&t, s);
	tell_left_out(&t, s);
	completeness_noted(&t, s);
	tell_off(&t, s);
	tell_budget(&t, s);
	tell_recordings(&t, s);
	tell_counted(&t, s);
	say_count(&t, SUM(s, open), "calls",
		  " still open at the end: counted until then");
	say_count(&t, count_inferred(s), "switches",
		  " of coroutines seen only at the next event");
	say_count(&t, SUM(s, unplaced), "runs", " of signal handlers put "
		  "below their thread: what was interrupted is not known");
	say_count(&t, cct_deeper(s->cct), "distinct stacks", " beyond "
		  "--max-nodes, in \"(deeper)\": calls and self are exact, "
		  "totals may be too small");
	tell_tick(&t, s);
	completeness_times(&t, load);
	tell_lua(&t, load);
	tell_trouble(&t, s);
	tell_unnamed(&t, s);
	if (load->in.trouble[0])
		say(&t, "%s", load->in.trouble);
	return t.count;
}
