/* session.h - all that one or more traces tell: who ran, what they did, and
 * what is missing. The replay fills it, every table reads it.
 *
 * analyzer/model: sessions, functions, the calling-context tree, and figures.
 * Uses base and chunk's format; must not know how a trace is read or replayed,
 * nor how anything is printed.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/cct.h"
#include "analyzer/model/func.h"
#include "analyzer/model/statistics.h"
#include "tracepoints/chunk.h"
#include "tracepoints/record.h"

struct arena;
struct map;

typedef uint64_t ticks;

struct process {
	uint64_t recording;
	uint32_t serial, parent;   /* serials; parent 0: none known */
	uint32_t pid;
	uint64_t start;            /* CLOCK_REALTIME ns */
	const char *path;          /* program; untrusted, never NULL */
};

struct thread {
	uint32_t process;          /* index in processes */
	uint32_t serial, tid;
	char name[17];             /* untrusted */
	uint64_t handle;           /* its pthread_self; 0: not known */
	uint64_t chunks, records, calls, marks;
	ticks first, last;         /* first tick_begin, last tick_end */
	ticks traced;              /* sum of tick_end - tick_begin of the chunks
	                            * at level 0 = sum of self in its trees */
	uint64_t cpu_ns;           /* sum of cpu_end - cpu_begin; a chunk that
	                            * nobody closed has no cpu_end: there, what
	                            * its switches tell */
	ticks cpu_unknown;         /* of traced: in such chunks, where these do
	                            * not tell */
	uint64_t lost[LOST_REASONS];
	uint64_t missing_chunks;   /* numbers that never came */
	uint64_t missing_records;  /* in them, as far as that is known */
	uint64_t unnested;         /* records that contradict the stack */
	uint64_t unplaced;         /* runs of handlers whose interrupted call is
	                            * not known: they stand under the thread */
	uint64_t skipped;          /* native calls of which only a later event
	                            * shows that they had ended */
	uint64_t noted, unnoted;   /* ns in which Lua noted where it was, and
	                            * in which it could not */
	uint64_t open;             /* calls still open at the end */
	uint64_t gaps;             /* places where records are missing */
	ticks known;               /* time at level 0 for which its switches
	                            * are known */
	ticks offcpu;              /* of that, time in which it did not run */
	ticks missing;             /* in gaps whose two ends are known */
	uint32_t headless;         /* 1: its first chunks are missing */
	func_id start;             /* with which it began, if it has no name of
	                            * its own; 0: that is not known
	                            * (group_find_starts) */
};

/* Where records of a thread are missing. from 0: before its first chunk; when
 * that gap began is not known. */
struct gap {
	uint32_t thread;           /* index */
	ticks from, to;
	uint64_t chunks, records;  /* known to be missing there: by the chunks'
	                            * numbers, and by the thread's own count of
	                            * records */
};

enum { SESSION_GAPS = 32 };

enum coroutine_state { COROUTINE_NEW, COROUTINE_SUSPENDED, COROUTINE_RUNNING,
		       COROUTINE_RETURNED, COROUTINE_ERROR,
		       COROUTINE_CLOSED };

/* Two threads may do something at the same tick: that of the later one, by
 * their indices, counts as later. So the order in which threads are replayed
 * does not matter. */
struct instant { ticks at; uint32_t thread; };

struct coroutine {
	uint32_t process;          /* index */
	uint64_t serial;           /* unique in the recording and process */
	uint64_t vm;               /* serial; 0: unknown. A native coroutine:
	                            * the first that ran in it; 0: none */
	bool is_native;            /* a stack of native code, not Lua's */
	uint64_t creator;          /* coroutine that made it; 0: a thread, or
	                            * unknown */
	func_id body;              /* its outermost function; 0: never ran */
	bool has_lua_body;
	struct instant body_at;     /* when that was first seen */
	uint64_t resumes;
	ticks active;              /* from resume to suspend, nested coroutines
	                            * it resumed included */
	ticks suspended;           /* between its resumes */
	uint32_t threads[4];       /* the threads it ran on, which rise: the
	                            * first four of all threads */
	uint32_t thread_count;     /* all distinct ones; 5: five or more */
	enum coroutine_state state;
	struct instant last;        /* when it was last resumed or suspended */
	uint32_t inferred;         /* resumes and suspends that were not seen
	                            * themselves, but at the next event */
};

/* What a coroutine did itself while it was the topmost one of a thread; the
 * rest of its active time was that of coroutines it resumed. */
struct coroutine_own {
	ticks lua, native;         /* by its innermost frame */
	ticks off, ready;          /* of both: off the CPU, and of that, without
	                            * a core; where switches are known */
};

struct vm {
	uint32_t process;
	uint64_t serial;
	uint32_t abi, flags;       /* enum vm_abi, enum vm_flag */
};

/* The recorder's notes, and labels under the key "label.KEY"; untrusted. */
struct note { const char *key, *value; };

/* A label of a whole recording (process 0) or of one process (its index + 1).
 * A session's labels are in the order of processes, then in that in which they
 * came. Untrusted. */
struct label {
	uint64_t recording;
	uint32_t process;
	const char *key, *value;
};

/* What the code at a sample's place is. */
enum place_kind {
	PLACE_OTHER,   /* not known, or of no function that is recorded */
	PLACE_OWN,     /* code of the recorded function func */
	PLACE_PROBE,   /* weft's: its library, what leads to its hooks, and
	                * what Lua does to call them */
	PLACE_LUA,     /* of sampled Lua: its library but for its API, and what
	                * it compiled */
};

/* Where samples found a program counter. Identity: module and offset. */
struct code_place {
	elf_id module;             /* 0: in no module */
	uint64_t offset;           /* in it, without the load bias; without a
	                            * module, the address; 0: in the kernel */
	/* Filled in by analyzer/sym and net_apply: */
	enum place_kind kind;
	func_id func;              /* PLACE_OWN */
	const char *name;          /* of the symbol that it lies in, demangled;
	                            * NULL: none */
	uint64_t begin;            /* and where its function begins, if there
	                            * is a name */
	uint32_t line;             /* where that is declared; 0: not known */
	const char *inlined;       /* functions whose code was inlined there,
	                            * the outermost first, a line for each: the
	                            * name, a tab, where it is declared; NULL:
	                            * not known */
};

/* What self and total are, if they are not raw. Merged sessions may have
 * several of these. */
enum { NET_SAMPLED = 1,            /* net, estimated from samples */
       NET_CALIBRATED = 2,         /* net, by what a call costs elsewhere */
       NET_REFERENCE = 4,          /* of the program as it runs unrecorded; */
       NET_FITTED = 8 };           /* and they are as long as calls were
                                    * recorded, not of a run with others */

/* In which line of a Lua function sampled VMs were, or what they did that it
 * had caused. */
struct noted_line {
	func_id func;              /* the innermost one, FUNC_LUA */
	uint32_t line;             /* 0: not known */
	enum noted why;            /* NOTED_COLLECTOR, NOTED_COMPILER, or 0: the
	                            * function itself */
	uint64_t notes, ns;        /* so often; CPU time that they stand for */
};

/* Where samples of the program fell while no hook was at work. */
struct reference_count {
	elf_id module;             /* and offset: as in struct code_place */
	uint64_t offset;
	uint64_t samples;
	double ns;                 /* that they stand for, of CPU time */
	uint32_t place;            /* index in places, once these are known */
	func_id func;              /* whose own code it is, once times are of
	                            * the reference; 0: no recorded one's */
};

/* The samples of the run itself, in which calls were only counted. */
#define REFERENCE_COUNTED ((enum reference_kind)0)

struct reference {
	struct reference_count *at; size_t count, room;
	enum reference_kind kind;  /* or REFERENCE_COUNTED */
	uint64_t samples, lost;
	double ns;                 /* of all samples */
	/* By correct/reference.c: what a ns of it is of the recorded part of
	 * the program; one standard error of that; how much of ns is code
	 * that the trace does not have. */
	double scale, error, unknown;
	double compiled;           /* ns of code that Lua compiled: until
	                            * noted_apply, no function has it */
	bool is_same_run;          /* REFERENCE_ONLY: of the same command, each
	                            * from begin to end, and its work is as long
	                            * (until reference_apply: it may be) */
	bool is_by_time;           /* its scale is that of CPU time, not of long
	                            * calls */
	bool is_refused;           /* it is of other work, or nothing tells how
	                            * much of its time was recorded */
};

/* How a session's times were made. */
struct net {
	uint32_t is_net;           /* of the above; 0: raw */
	uint32_t has_raw;          /* of merged sessions, some are raw */
	uint64_t period;           /* ns; 0: no samples */
	uint64_t own, other, probe;/* samples, counted in periods: of the
	                            * sessions with NET_SAMPLED, if there are
	                            * some; so are the figures below */
	uint64_t astray;           /* of them, in the code of a recorded
	                            * function that was not open */
	uint64_t contradicted;     /* functions whose samples contradict what
	                            * its calls should have cost */
	ticks raw, unsampled;      /* all self times on the CPU as far as that
	                            * is known, and the part of them for which
	                            * there are no samples */
};

/* How far the native functions of an ELF module got names when analyzer/sym
 * looked for them; kept in profiles. Texts are untrusted, never NULL. */
struct naming {
	const char *file;          /* that named it; "": none */
	const char *why;           /* what is wrong or missing; "": nothing */
	uint64_t asked, named;     /* functions; those that got a name */
	uint64_t hinted;           /* those named as Lua calls them */
	uint64_t is_refused;       /* 1: only other builds were found */
};

/* One of the sessions that were merged into this one. */
struct part {
	uint64_t recording;        /* its number, as in struct process */
	uint64_t start, duration;  /* CLOCK_REALTIME ns; ns */
	uint64_t calls;
	uint32_t complete;         /* 1: nothing was lost */
	uint32_t cpu;              /* 1: times off the CPU are known */
	uint64_t work, error;      /* of all functions, on the CPU as far as
	                            * that is known, and its standard error by
	                            * samples, ns; older wefts: 0 */
	const char *command, *host;/* untrusted, never NULL */
};

/* How many more there were than are listed: a profile lists no coroutines, and
 * merged sessions list one thread for all of a program's threads of a name. */
struct beyond {
	uint64_t processes, threads, vms, vms_jit_off, coroutines, inferred;
	uint64_t folded;           /* see cct_deeper */
};

struct session {
	struct func_table *funcs;
	struct cct *cct;
	struct process *processes; size_t process_count;
	struct thread *threads; size_t thread_count;
	struct coroutine *coroutines; size_t coroutine_count;
	struct vm *vms; size_t vm_count;
	struct note *notes; size_t note_count;
	struct label *labels; size_t label_count;
	/* What merging leaves (merge/merge.h); a session of one trace has none
	 * of these. */
	struct part *parts; size_t part_count;
	struct func_statistics *statistics; size_t statistics_count; /* by
	                            * rising func */
	struct edge_statistics *edges; size_t edge_count; /* by caller, func */
	struct beyond beyond;
	struct naming *namings; size_t naming_count; /* by elf_id - 1, or
	                            * none */
	struct code_place *places; size_t place_count; /* of samples */
	struct noted_line *lines; size_t line_count; /* each once */
	struct net net;
	struct reference reference;
	uint64_t tick_hz;          /* with the least known error; never 0 */
	/* The clock: tick t was at base_mono + (t - base_tick) / tick_hz. */
	uint64_t base_tick, base_mono, base_real;
	uint64_t chunks, records, calls, words;
	uint64_t counted;          /* of the calls: those that have no records,
	                            * and no times of their own */
	uint64_t duplicate_chunks; /* with the number of one before: ignored */
	uint64_t bad_chunks;       /* refused by the decoder */
	uint64_t unnested;         /* sum over threads */
	uint64_t hz_error;         /* of tick_hz, parts per billion */
	struct gap gaps[SESSION_GAPS]; size_t gap_count; /* the longest,
	                            * longest first */
	uint64_t gap_total;        /* all */
	struct arena *text;        /* holds the strings above */
};

/* An empty session whose tree has at most max_nodes nodes (0: 2^20). */
struct session *session_new(size_t max_nodes);
void session_free(struct session *);     /* NULL is allowed */

/* Are the indices in range, sums right and lists in order, and is the tree
 * valid? Looks at everything. */
bool session_valid(const struct session *);

/* Ticks as nanoseconds, rounded to nearest. */
uint64_t session_ns(const struct session *, ticks);
/* The CLOCK_MONOTONIC and CLOCK_REALTIME ns of a tick. */
uint64_t session_mono(const struct session *, ticks);
uint64_t session_real(const struct session *, ticks);

/* The value of the last note with that key, or NULL. Where the recorder died,
 * there is no note "end". */
const char *session_note(const struct session *, const char *key);
/* A count among them, such as "lost.full"; 0: no such note. */
uint64_t session_noted(const struct session *, const char *key);
/* Threads that are known only by their number: all their records were lost. */
uint64_t session_lost_threads(const struct session *);

/* Take from a chunk's header what it says about the clock. */
void session_set_clock(struct session *, const struct chunk_header *);

/* When the first chunk of all threads began; base_tick if there is none. */
ticks session_first_tick(const struct session *);
/* When the last chunk of all threads ended; not before the first one began. */
ticks session_last_tick(const struct session *);

/* Nanoseconds from the first chunk's begin to the last chunk's end; of merged
 * sessions, the sum of theirs. */
uint64_t session_duration(const struct session *);

/* The flags of a node with CCT_BODY tell which VM (Lua state) its coroutine
 * belongs to, where the replay collects that. A body whose VM is not known yet
 * bears the number of its coroutine instead: SESSION_OF_COROUTINE and its index
 * + 1, or 0 for none. */
#define SESSION_OF_COROUTINE (UINT32_C(1) << (31 - CCT_OF_SHIFT))
/* The VM's index + 1; 0: not known. */
uint32_t session_body_vm(const struct session *, uint32_t flags);

/* The largest sum of a figure over its tree, be it in ticks or in ns. Beyond
 * SESSION_SUM_MAX, which leaves room for a sum of two, nothing is shown. */
#define SESSION_SUM_MAX (UINT64_MAX / 2)
uint64_t session_largest_sum(const struct session *);

/* Add the counts of chunks, records and calls of a session, or of a part of
 * this one. */
void session_add_sums(struct session *to, const struct session *from);

/* Were times taken of any call? Not if all calls were only counted. */
bool session_has_times(const struct session *);
/* Are any of its times as recorded? Of merged sessions, some may be. */
bool session_is_raw(const struct session *);
/* Is a Lua state of it one that was sampled? */
bool session_has_sampled_vm(const struct session *);

/* Count a gap, and keep it if it is one of the longest. */
void session_add_gap(struct session *, const struct gap *);
/* Only the latter. */
void session_keep_gap(struct session *, const struct gap *);

/* Take over the reference of another session, in place of its own. */
void session_take_reference(struct session *, struct session *from);

/* Find or add a place by the map of module and offset to its index + 1, and
 * return its index. room: that of the array. */
uint32_t session_place(struct session *, struct map *, size_t *room, elf_id,
		       uint64_t offset);

/* Add to the line's notes. of: the map of its function, and of its line and
 * reason, to its index + 1. room: that of the array. */
void session_note_line(struct session *, struct map *of, size_t *room,
		       const struct noted_line *);

/* Is nothing known to be missing? False after loss of any kind, missing or bad
 * chunks, contradictions, or if the recorder says so. */
bool session_complete(const struct session *);

/* ---- coroutines ---- */

/* It ran on a thread. */
void coroutine_ran(struct coroutine *, uint32_t thread);
/* It was in that state then; the latest one stays. */
void coroutine_was(struct coroutine *, enum coroutine_state, struct instant);
/* Its outermost function at that moment. Of several, the first one is its body;
 * but a native one may have been a signal handler's, which ended before the
 * body, a Lua function, began. */
void coroutine_began(struct coroutine *, func_id, bool is_lua, struct instant);

/* ---- labels ---- */

/* The labels of a process and of its recording, each key once, by rising key: a
 * process's own label is preferred to its recording's, a later one to an
 * earlier. The caller frees the array; the session owns the labels. */
const struct label **label_list(const struct session *, uint32_t process,
				size_t *count);

/* Compare the labels of two processes: below 0, 0, above 0. */
int label_compare(const struct session *, uint32_t process,
		  const struct session *, uint32_t other);

/* Processes with equal labels have the same hash. */
uint64_t label_hash(const struct session *, uint32_t process);

/* Insert a label after those of its process; the array must have room. */
void label_insert(struct session *, const struct label *);
