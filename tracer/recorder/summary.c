/* summary.c - what a recording came to, for the user and for the trace.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/recording.h"
#include "tracer/recorder/diagnose.h"
#include "tracer/recorder/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct {
	const char *name, *meaning, *unit;
} reasons[LOST_REASONS] = {
#define X(name, number, meaning, unit) \
	[number] = { #name, meaning, unit },
	LOST_LIST(X)
#undef X
};

/* Serials the pool gave out. */
static uint32_t given(const _Atomic uint32_t *next)
{
	const uint32_t n = atomic_load(next);

	return n > 0 ? n - 1 : 0;
}

static bool is_complete(const struct recording *r,
			const uint64_t lost[LOST_REASONS])
{
	uint64_t any = r->deliver.lost_chunks + r->deliver.doubtful_chunks +
		       r->drain.damaged + r->left_running +
		       drain_overwritten(&r->drain) +
		       r->arena.pool->unslotted_threads +
		       r->arena.pool->late_calls;

	for (int i = 0; i < LOST_REASONS; i++)
		any += i == LOST_CLOCK ? 0 : lost[i];
	/* A daemon that died is trouble, and yet all may have been delivered. */
	return any == 0 && !r->is_doubtful &&
	       (r->slots.trouble & (TROUBLE_NO_MEMORY |
				    TROUBLE_CONFINED)) == 0;
}

static void note_lost(struct meta *m, const uint64_t lost[LOST_REASONS])
{
	char key[32];

	for (int i = 0; i < LOST_REASONS; i++) {
		snprintf(key, sizeof(key), "lost.%s", reasons[i].name);
		for (char *c = key + 5; *c; c++)
			*c |= ' ';
		meta_print(m, key, "%" PRIu64, lost[i]);
	}
}

static void note_exit(struct meta *m, const struct program *p)
{
	if (!p->has_ended)
		meta_note(m, "exit", "running");
	else if (WIFSIGNALED(p->status))
		meta_print(m, "exit", "signal %d", WTERMSIG(p->status));
	else
		meta_print(m, "exit", "%d", WEXITSTATUS(p->status));
}

static void note_archive(struct meta *m, const struct archive *a)
{
	meta_print(m, "archive", "%u files, %" PRIu64 " bytes; %u missing",
		   a->copied, a->bytes, a->missing + a->unlisted);
	if (a->missing > 0)
		meta_note(m, "archive.missing", archive_missing(a));
}

void summary_notes(struct recording *r, struct meta *m)
{
	const struct pool *const p = r->arena.pool;
	const struct chunk_header *const h = (const void *)m->words;
	uint64_t lost[LOST_REASONS];

	slots_sum_lost(&r->slots, lost);
	meta_print(m, "end", "%" PRIu64, h->pair_real);
	note_exit(m, &r->program);
	note_lost(m, lost);
	meta_print(m, "lost.chunks", "%" PRIu64, r->deliver.lost_chunks);
	meta_print(m, "lost.chunks.doubtful", "%" PRIu64,
		   r->deliver.doubtful_chunks);
	meta_print(m, "lost.overwritten", "%" PRIu64,
		   drain_overwritten(&r->drain));
	meta_print(m, "lost.damaged", "%" PRIu64, r->drain.damaged);
	meta_print(m, "lost.threads", "%" PRIu64, p->unslotted_threads);
	meta_print(m, "lost.late", "%" PRIu64, p->late_calls);
	meta_print(m, "threads", "%u", given(&p->next_thread));
	meta_print(m, "processes", "%u", given(&p->next_process));
	meta_print(m, "vms", "%u", given(&p->next_vm));
	meta_print(m, "coroutines", "%" PRIu64, p->next_coroutine - 1);
	meta_print(m, "records", "%" PRIu64, r->drain.records);
	meta_print(m, "chunks", "%" PRIu64, r->deliver.chunks);
	meta_note(m, "complete", is_complete(r, lost) ? "yes" : "no");
	if (r->deliver.archive)
		note_archive(m, &r->archive);
	if (say_troubles()[0])
		meta_note(m, "trouble", say_troubles());
}

/* "1 thread", "3 threads" into a growing line. */
static void count(char *line, size_t room, uint64_t n, const char *one,
		  const char *many)
{
	const size_t at = strlen(line);

	snprintf(line + at, room - at, "%s%" PRIu64 " %s", at > 0 ? ", " : "",
		 n, n == 1 ? one : many);
}

static void say_counts(const struct recording *r)
{
	const struct pool *const p = r->arena.pool;
	const double s = (double)(r->end_ns - r->begin_ns) / 1e9;
	char line[256] = "";

	count(line, sizeof(line), given(&p->next_process), "process",
	      "processes");
	count(line, sizeof(line), given(&p->next_thread), "thread", "threads");
	count(line, sizeof(line), given(&p->next_vm), "Lua state",
	      "Lua states");
	count(line, sizeof(line), p->next_coroutine - 1, "coroutine",
	      "coroutines");
	say_line("recorded %.3f s: %s", s, line);
}

static void say_size(const struct recording *r)
{
	const uint64_t bytes = folder_bytes(r->folder.absolute) -
			       r->archive.bytes;
	char text[32];

	say_bytes(text, sizeof(text), (double)bytes);
	if (r->drain.records == 0) {
		say_line("no records, %s on disk", text);
		return;
	}
	say_line("%" PRIu64 " records, %s on disk, %.1f bytes a record",
		 r->drain.records, text,
		 (double)bytes / (double)r->drain.records);
}

/* What the program could not record. Clock steps were counted as 0 ticks:
 * nothing is missing for them. */
static uint64_t say_unrecorded(const struct recording *r)
{
	uint64_t lost[LOST_REASONS], any = 0;

	slots_sum_lost(&r->slots, lost);
	for (int i = 0; i < LOST_REASONS; i++) {
		if (lost[i] == 0)
			continue;
		any++;
		say_line("%s: %" PRIu64 " %s (%s)",
			 i == LOST_CLOCK ? "note" : "lost", lost[i],
			 reasons[i].unit, reasons[i].meaning);
	}
	if (lost[LOST_FULL] > 0)
		say_line("      a larger --pool-size, or --on-full wait, loses "
			 "none");
	if (r->arena.pool->unslotted_threads > 0)
		say_line("lost: %" PRIu64 " threads beyond the %u that can "
			 "live at one time", r->arena.pool->unslotted_threads,
			 r->arena.thread_slots);
	if (r->arena.pool->late_calls > 0)
		say_line("lost: %" PRIu64 " calls of threads after their last "
			 "destructor", r->arena.pool->late_calls);
	return any + r->arena.pool->unslotted_threads +
	       r->arena.pool->late_calls;
}

/* What was recorded, and did not get into the trace. */
static uint64_t say_undelivered(const struct recording *r)
{
	const uint64_t overwritten = drain_overwritten(&r->drain);

	if (overwritten > 0)
		say_line("lost: %" PRIu64 " chunk%s, overwritten by later ones "
			 "(--on-full overwrite)", overwritten,
			 overwritten == 1 ? "" : "s");
	if (r->deliver.lost_chunks > 0)
		say_line("lost: %" PRIu64 " chunks with %" PRIu64 " records "
			 "(could be written nowhere)", r->deliver.lost_chunks,
			 r->deliver.lost_records);
	if (r->deliver.doubtful_chunks > 0)
		say_line("lost: perhaps %" PRIu64 " chunks more (LTTng had "
			 "them; weft report tells)",
			 r->deliver.doubtful_chunks);
	if (r->drain.damaged > 0)
		say_line("lost: %" PRIu64 " buffers that the program "
			 "overwrote", r->drain.damaged);
	return overwritten + r->deliver.lost_chunks +
	       r->deliver.doubtful_chunks + r->drain.damaged;
}

static void say_archive(const struct archive *a)
{
	char text[32];

	say_bytes(text, sizeof(text), (double)a->bytes);
	say_line("archived %u files, %s", a->copied, text);
	if (a->missing > 0)
		say_line("not archived: %u, the first of them %s; see "
			 "archive/contents", a->missing, archive_missing(a));
	if (a->unlisted > 0)
		say_line("not archived: %u more than an archive may hold",
			 a->unlisted);
}

/* As a shell takes it back. */
static void quote(char *out, size_t room, const char *path)
{
	const char *const odd = " \t\n'\"\\$`*?[]()<>|&;#~!{}";
	const bool is_plain = path[strcspn(path, odd)] == '\0';
	size_t n = 0;

	if (is_plain) {
		snprintf(out, room, "%s", path);
		return;
	}
	out[n++] = '\'';
	for (; *path && n + 6 < room; path++) {
		if (*path == '\'')
			n += (size_t)snprintf(out + n, room - n, "'\\''");
		else
			out[n++] = *path;
	}
	snprintf(out + n, room - n, "'");
}

void summary_print(struct recording *r)
{
	const struct diagnose_facts facts = {
		.processes = given(&r->arena.pool->next_process),
		.was_paused = r->opt.paused,
		.native_wanted = !r->opt.no_native,
		.lua_wanted = !r->opt.no_lua,
		.lua_init = r->opt.lua_init,
		.vms = given(&r->arena.pool->next_vm),
		.trouble = r->slots.trouble,
		.ran = &r->slots.ran,
		.told = r->outlook != OUTLOOK_GOOD || r->slots.gone.told > 0,
	};

	if (r->drain.records == 0)
		diagnose_empty(r->program_path, r->opt.program, &facts);
	else
		diagnose_partial(r->program_path, &facts);
	if (r->left_running > 0)
		say_line("%u process%s run%s on, unrecorded from now on",
			 r->left_running, r->left_running == 1 ? "" : "es",
			 r->left_running == 1 ? "s" : "");
	say_counts(r);
	say_size(r);
	if (say_unrecorded(r) + say_undelivered(r) == 0)
		say_line("lost: 0");
	if (r->deliver.archive)
		say_archive(&r->archive);
	char path[PATH_MAX];

	quote(path, sizeof(path), r->folder.path);
	say_line("next: weft report %s", path);
}
