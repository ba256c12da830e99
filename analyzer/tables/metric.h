/* metric.h - the columns of tables. A row of a metric table is all there is to
 * know about a column: the table, the CSV, --sort, --columns and their help are
 * made from it.
 *
 * analyzer/tables: a session's tree becomes rows here: the flat table, callers,
 * trees, coroutines. The folder may use base and model; it knows no file, no
 * terminal and no option.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* How a value is shown; "-" stands for a time of 0. */
enum metric_unit {
	METRIC_TIME,   /* ticks, shown as "1.234 ms"; in CSV ns */
	METRIC_MEAN,   /* the same, exact in the table; in CSV whole ns, unless
	                * the metric has decimals */
	METRIC_BYTES,  /* "1.5 MB"; in CSV the count */
	METRIC_COUNT,  /* "12,345" */
	METRIC_REAL,   /* "1.5"; a whole number if it is large; in CSV the
	                * count, unless the metric has decimals */
	METRIC_NUMBER, /* not grouped: an identity, or a position */
	METRIC_SHARE,  /* a part of a whole, "12.3%"; in CSV "12.3456" */
	METRIC_TEXT,
};

enum metric_flag {
	METRIC_SORTS = 1,       /* rows can be sorted by it: figures fall,
	                         * texts rise */
	METRIC_NAME = 2,        /* names the row: the last column of a table */
	METRIC_DASH = 4,        /* 0 is shown as "-" */
	METRIC_DROP_EMPTY = 8,  /* no column if all its cells are empty */
	METRIC_KEEP_END = 16,   /* is cut at its start instead of its end */
	/* What a row may lack: */
	METRIC_OF_FUNC = 32,    /* it is known of single functions */
	METRIC_OF_THREAD = 64,  /* it is known of single threads */
	METRIC_SWITCHES = 128,  /* it takes context switches */
	METRIC_QUANTILE = 256,  /* it takes histograms */
	METRIC_REREAD = 512,    /* it takes reading the trace once more */
	METRIC_RISES = 1024,    /* figures rise when rows are sorted by it */
	METRIC_CLOCKED = 2048,  /* known, too, where calls were only counted */
	METRIC_OF_TIME = 4096,  /* a share of time */
	METRIC_NET = 8192,      /* it takes net times */
	METRIC_KNOWN = 16384,   /* it takes times of the row's calls: the row
	                         * begins with struct figures */
	METRIC_HEAP = 65536,    /* it takes memory to have been recorded */
	METRIC_SEEN = 32768,    /* it takes calls, or times without a core: 0
	                         * is not known where a sampled VM was in the
	                         * function, and all else is the least;
	                         * likewise */
};

/* What getters need beside the row. */
struct metric_source {
	struct session *session;
	const void *table;      /* the table that the rows are of */
	bool has_switches;      /* cct_knows_switches, of the session */
};

/* A row's value in a column. A getter finds all of it 0 but the unit and, if
 * the metric has a numeric field, count. */
struct metric_value {
	enum metric_unit unit;  /* that of the metric; a getter may choose
	                         * another one for the table */
	uint64_t count;         /* the ticks, count, number or part */
	uint64_t whole;         /* METRIC_SHARE: of this */
	double real;            /* METRIC_REAL; METRIC_MEAN: ticks. Without
	                         * decimals, count has them rounded, for
	                         * sorting and CSV */
	const char *text;       /* METRIC_TEXT: whole, untrusted */
	const char *brief;      /* what the table has instead; NULL: nothing */
	bool is_none;           /* the table has "-", CSV has the value */
	bool is_unknown;        /* the table has "-", CSV has nothing */
	bool is_blank;          /* the table has nothing */
	bool is_least;          /* the table has ">" before it */
	char room[2200];         /* for texts; not zeroed */
};

struct metric;
typedef void (*metric_fn)(const struct metric_source *, const struct metric *,
			  const void *row, struct metric_value *);

/* A column. Either a field of the row (METRIC_AT), or what get makes of the
 * row, or both: then get finds the field and changes what is to be changed. */
struct metric {
	const char *name;       /* in --columns and --sort; NULL: table's end */
	enum metric_unit unit;
	unsigned flags;         /* enum metric_flag */
	const char *title;      /* above the column; NULL: the name */
	const char *key;        /* in CSV; NULL: the name with _ for each -, and
	                         * _ns after a time */
	const char *help;       /* what it is: a few words, no full stop; not
	                         * needed if --columns does not offer it */
	size_t at, size;        /* METRIC_AT: a field of the row, an unsigned
	                         * number, bool or text */
	metric_fn get;          /* sets the value; finds the field, if it is a
	                         * number, in count */
	unsigned drop, shrink;  /* see struct out_column */
	unsigned decimals;      /* METRIC_REAL, METRIC_MEAN: in CSV */
};

/* The head of a getter: the source s, the metric m, the row and the value v. */
#define METRIC_GETTER(name) \
	void name(const struct metric_source *s __attribute__((unused)), \
		  const struct metric *m __attribute__((unused)), \
		  const void *row __attribute__((unused)), \
		  struct metric_value *v)

#define METRIC_AT(row, field) \
	.at = offsetof(row, field), .size = sizeof(((const row *)NULL)->field)

/* What rows are ranked by: elapsed time, the part of it on the CPU, or the part
 * off it. A table that has rankings has a view for each. */
enum metric_ranking {
	METRIC_BY_TIME, METRIC_BY_CPU, METRIC_BY_WAITING, METRIC_RANKINGS
};

/* A table of metrics and what is shown of it unless the user says otherwise:
 * names separated by commas. Rows are sorted by the first one of a table. */
struct metric_view {
	const struct metric *metrics;
	const char *table, *csv;
};

/* In a getter: what the table shows instead of the figure; it is cut if it does
 * not fit. */
__attribute__((format(printf, 2, 3)))
void metric_show(struct metric_value *, const char *format, ...);

/* Read a row's value, which may point into the row, the session and its own
 * room: it is valid until any of them changes. */
void metric_get(const struct metric *, const struct metric_source *,
		const void *row, struct metric_value *);

/* Is it a time, or a share of one, which rows lack whose calls were only
 * counted? */
static inline bool metric_is_timed(const struct metric *m)
{
	return (m->flags & METRIC_OF_TIME) ||
	       ((m->unit == METRIC_TIME || m->unit == METRIC_MEAN) &&
		(m->flags & METRIC_CLOCKED) == 0);
}

/* The view's metric of that name, or NULL; nothing is put into the chain of
 * causes. */
const struct metric *metric_find(const struct metric_view *, const char *name);

/* What rows are sorted by unless the user says otherwise. */
const struct metric *metric_first(const struct metric_view *);

/* Negative if row x comes before row y, 0 if the metric does not tell. It must
 * be one that sorts; the source may be NULL if its getter does not use it. */
int metric_compare(const struct metric *, const struct metric_source *,
		   const void *x, const void *y);

/* The i-th metric that has all these flags and none that rows lack, counted
 * from 0; NULL after the last one. */
const struct metric *metric_offered(const struct metric *, unsigned flags,
				    unsigned lacks, size_t i);
/* The i-th metric that rows can be sorted by. */
const struct metric *metric_sorting(const struct metric *, size_t i);

/* ---- columns ------------------------------------------------------------ */

enum { METRIC_COLUMNS = 50 };

/* A column as it is shown: its title in tables, its key in CSV. */
struct metric_column {
	const struct metric *metric;
	const char *title;
	char key[40];
};

/* The columns of one table, from left to right. */
struct metric_columns {
	struct metric_column column[METRIC_COLUMNS];
	size_t count;
};

/* What columns the user wants, and what there is. */
struct metric_choice {
	const char *names;      /* "a,b": these; "+a,b": beside the usual ones;
	                         * "all"; NULL: the usual ones */
	const struct metric *sort; /* shown, too, unless names say what is;
	                         * or NULL */
	unsigned lacks;         /* flags of metrics that the rows lack */
	bool csv;
};

/* Choose columns. A table ends with the metric that names the row; CSV has its
 * columns in the order in which they are named. 0, or -1 with the cause in the
 * chain if a name is unknown, or is that of a metric that the rows lack. */
int metric_choose(struct metric_columns *, const struct metric_view *,
		  const struct metric_choice *);

/* Is a metric with one of these flags among them? */
bool metric_has(const struct metric_columns *, unsigned flags);
/* Remove metrics with one of these flags. */
void metric_remove(struct metric_columns *, unsigned flags);
/* Give a metric another title and key; NULL leaves them. The texts are
 * borrowed. */
void metric_rename(struct metric_columns *, const char *name,
		   const char *title, const char *key);

/* ---- what rows of functions have in common ------------------------------ */

/* Such rows begin with these. */
struct figures {
	func_id func;           /* 0: the row is of no function */
	uint64_t calls;
	uint64_t recursive;     /* those of the calls that began while the
	                         * function was open already */
	struct cct_counted counted; /* those of the calls without records */
	ticks self, total, suspended;
	/* Where self and total are net, what they are with the probes, and
	 * the variances of the net ones, in ticks squared; else 0. */
	ticks raw_self, raw_total;
	double self_variance, total_variance;
	/* Beside them, of how functions' times are divided among stacks: of
	 * self, and of what total has of other functions'. */
	struct cct_division division, given; /* the latter: to its nodes */
	double below_variance;
	/* On and off the CPU: parts of self, and of total; 0 without switches.
	 * The rest of them is time for which switches are not known. */
	ticks cpu, off, total_cpu, total_off;
	ticks ready, total_ready; /* of off and total_off: without a core */
	struct cct_heap heap, total_heap; /* of its own code, and of all */
};

/* By node: total and suspended, as cct_totals says. For the node and all below
 * it: the raw total and the variance of the net one, NULL where the tree is not
 * net; time off the CPU, that of it without a core, and time for which switches
 * are not known, NULL where they are for none; memory, NULL where that is not
 * collected. */
struct node_totals {
	uint64_t *total, *suspended, *raw, *off, *ready, *unknown;
	double *variance, *below; /* the latter is cct_division_below's */
	struct cct_heap *heap;
};
void node_totals_init(struct node_totals *, struct cct *);
void node_totals_fini(struct node_totals *);
/* Only the node's own count for its total, or nothing. */
void node_totals_cut(struct node_totals *, struct cct *, node_id,
		     bool own);
/* Add a node's self, or its total, with what is known of it beside itself. */
void figures_add_self(struct figures *, struct cct *, node_id);
void figures_add_total(struct figures *, const struct node_totals *, node_id);
/* Add its calls, with those of them that have no records, and its self. */
void figures_add_own(struct figures *, struct cct *, node_id);
/* Add how exactly its self is known as a part of its function's, to a row of
 * this function alone. */
void figures_add_division(struct figures *, struct cct *, node_id);
/* Add all of the other figures but func. */
void figures_add(struct figures *, const struct figures *);

/* Were all of its calls only counted, so that its times are not known? */
static inline bool figures_are_untimed(const struct figures *f)
{
	return f->calls > 0 && f->counted.untimed == f->calls && f->total == 0;
}

/* Its calls whose time is known, of all or of each. */
static inline uint64_t figures_timed(const struct figures *f)
{
	return f->calls - f->counted.untimed;
}

/* What of the time off the CPU was spent asleep. */
static inline ticks figures_blocked(ticks off, ticks ready)
{
	return off > ready ? off - ready : 0;
}

#define METRIC_CALLS \
	{ "calls", METRIC_COUNT, METRIC_SORTS | METRIC_SEEN, NULL, NULL, \
	  "how often it was called", METRIC_AT(struct figures, calls) }
#define METRIC_RECURSIVE \
	{ "recursive", METRIC_COUNT, METRIC_DASH | METRIC_DROP_EMPTY, NULL, \
	  NULL, "calls while it was already open", \
	  METRIC_AT(struct figures, recursive), .drop = 4 }
#define METRIC_SELF \
	{ "self", METRIC_TIME, METRIC_SORTS | METRIC_KNOWN, NULL, NULL, \
	  "total less the total of its callees", \
	  METRIC_AT(struct figures, self) }
#define METRIC_TOTAL \
	{ "total", METRIC_TIME, METRIC_SORTS | METRIC_KNOWN, NULL, NULL, \
	  "from entry to exit, less suspended", \
	  METRIC_AT(struct figures, total) }
/* Beside them, where they are net. */
#define METRIC_SELF_ERROR \
	{ "self-error", METRIC_TIME, METRIC_NET | METRIC_KNOWN, \
	  "\302\261", NULL, \
	  "standard error of a net self", .get = metric_error, .drop = 7 }
#define METRIC_TOTAL_ERROR \
	{ "total-error", METRIC_TIME, METRIC_NET | METRIC_KNOWN, \
	  "\302\261", NULL, \
	  "standard error of a net total", .get = metric_error, .drop = 7 }
#define METRIC_CPU_ERROR(name, help) \
	{ name, METRIC_TIME, \
	  METRIC_NET | METRIC_SWITCHES | METRIC_KNOWN, "\302\261", NULL, \
	  help, .get = metric_error, .drop = 7 }
#define METRIC_RAW_SELF \
	{ "raw-self", METRIC_TIME, \
	  METRIC_SORTS | METRIC_NET | METRIC_KNOWN, "raw self", \
	  NULL, "self as recorded, not net", \
	  METRIC_AT(struct figures, raw_self) }
#define METRIC_RAW_TOTAL \
	{ "raw-total", METRIC_TIME, \
	  METRIC_SORTS | METRIC_NET | METRIC_KNOWN, "raw total", \
	  NULL, "total as recorded, not net", \
	  METRIC_AT(struct figures, raw_total) }
/* All of them in a CSV. */
#define METRICS_NET_CSV ",self-error,total-error,raw-self,raw-total"
/* Where context switches are known. */
#define METRIC_SWITCH(name, flags, title, field, help, ...) \
	{ name, METRIC_TIME, \
	  METRIC_SORTS | METRIC_SWITCHES | METRIC_KNOWN | (flags), title, \
	  NULL, help, METRIC_AT(struct figures, field), metric_if_known, \
	  __VA_ARGS__ }
#define METRIC_BLOCKED(name, title, help, ...) \
	{ name, METRIC_TIME, \
	  METRIC_SORTS | METRIC_SWITCHES | METRIC_KNOWN, title, NULL, \
	  help, .get = metric_blocked, __VA_ARGS__ }
#define METRICS_CPU \
	METRIC_SWITCH("cpu", 0, NULL, cpu, \
		      "part of self in which the thread ran", .drop = 0), \
	METRIC_CPU_ERROR("cpu-error", "standard error of a net cpu"), \
	METRIC_SWITCH("run-wait", METRIC_SEEN, "run wait", ready, \
		      "part of self in which it had no core", .drop = 2), \
	METRIC_BLOCKED("blocked", NULL, \
		       "part of self in which it slept", .drop = 1), \
	METRIC_SWITCH("off-cpu", METRIC_SEEN, NULL, off, \
		      "run-wait and blocked", .drop = 1), \
	METRIC_SWITCH("total-cpu", 0, "total cpu", total_cpu, \
		      "part of total in which the thread ran", .drop = 0), \
	METRIC_CPU_ERROR("total-cpu-error", \
			 "standard error of a net total-cpu"), \
	METRIC_SWITCH("total-run-wait", METRIC_SEEN, "total run wait", \
		      total_ready, \
		      "part of total in which it had no core", .drop = 2), \
	METRIC_BLOCKED("total-blocked", "total blocked", \
		       "part of total in which it slept", .drop = 0), \
	METRIC_SWITCH("total-off-cpu", METRIC_SEEN, "total off", total_off, \
		      "total-run-wait and total-blocked", .drop = 0)
/* All of them in a CSV. */
#define METRICS_CPU_CSV ",cpu,run-wait,blocked,off-cpu,total-cpu," \
	"total-run-wait,total-blocked,total-off-cpu"
/* Where memory was recorded. */
#define METRIC_OF_HEAP(name, unit, title, help, ...) \
	{ name, unit, METRIC_HEAP | METRIC_DASH | METRIC_SORTS, title, NULL, \
	  help, __VA_ARGS__ }
#define METRIC_HEAP_ERROR(name, help, ...) \
	{ name, METRIC_BYTES, METRIC_HEAP | METRIC_DASH | METRIC_DROP_EMPTY, \
	  "\302\261", NULL, help, .drop = 7, __VA_ARGS__ }
#define METRICS_OWN_HEAP(getter) \
	METRIC_OF_HEAP("allocated", METRIC_BYTES, NULL, \
		       "bytes of memory that it took itself", .get = getter), \
	METRIC_HEAP_ERROR("allocated-error", "standard error of allocated, " \
			  "where only samples were recorded", .get = getter), \
	METRIC_OF_HEAP("allocations", METRIC_COUNT, NULL, \
		       "how often it took memory, or moved it", \
		       .get = getter, .drop = 1), \
	METRIC_OF_HEAP("in-use", METRIC_BYTES, "in use", \
		       "what of allocated was in use at the end", \
		       .get = getter), \
	METRIC_HEAP_ERROR("in-use-error", "standard error of in-use", \
			  .get = getter), \
	METRIC_OF_HEAP("in-use-blocks", METRIC_COUNT, "blocks", \
		       "how many blocks that is", .get = getter, .drop = 1), \
	METRIC_OF_HEAP("freed", METRIC_BYTES, NULL, \
		       "what of allocated was given back", .get = getter, \
		       .drop = 2)
#define METRICS_HEAP \
	METRICS_OWN_HEAP(metric_heap), \
	METRIC_OF_HEAP("total-allocated", METRIC_BYTES, "total allocated", \
		       "allocated, with that of its callees", \
		       .get = metric_heap), \
	METRIC_OF_HEAP("total-in-use", METRIC_BYTES, "total in use", \
		       "in-use, with that of its callees", .get = metric_heap)
#define METRICS_HEAP_CSV ",allocated,allocated-error,allocations,in-use," \
	"in-use-error,in-use-blocks,freed"
#define METRIC_WALL \
	{ "wall", METRIC_TIME, METRIC_SORTS | METRIC_KNOWN, NULL, NULL, \
	  "total and suspended", .get = metric_wall }
#define METRIC_SUSPENDED \
	{ "suspended", METRIC_TIME, \
	  METRIC_SORTS | METRIC_DROP_EMPTY | METRIC_KNOWN, NULL, \
	  NULL, "time suspended while a call was open", \
	  METRIC_AT(struct figures, suspended), .drop = 2 }

/* Where a function is from; field is its func_id. The names begin with of, the
 * keys with key. */
#define METRIC_PLACE(row, field, of, key) \
	{ of "language", METRIC_TEXT, METRIC_OF_FUNC, "lang", key "language", \
	  "native or lua", METRIC_AT(row, field), metric_language, \
	  .drop = 1 }, \
	{ of "module", METRIC_TEXT, METRIC_OF_FUNC | METRIC_KEEP_END, NULL, \
	  key "module", "the program or library it is in", \
	  METRIC_AT(row, field), metric_module, .shrink = 12 }, \
	{ of "file", METRIC_TEXT, METRIC_OF_FUNC | METRIC_KEEP_END, \
	  "file:line", key "file", "its source file", METRIC_AT(row, field), \
	  metric_file, .drop = 3, .shrink = 12 }, \
	{ of "line", METRIC_NUMBER, METRIC_OF_FUNC, NULL, key "line", \
	  "the line it begins on", METRIC_AT(row, field), metric_line }

/* A figure of memory, by the metric's name and unit. */
uint64_t metric_of_heap(const struct metric *, const struct cct_heap *);

METRIC_GETTER(metric_wall);
METRIC_GETTER(metric_error);     /* by the metric's name */
METRIC_GETTER(metric_if_known);  /* of context switches: by the source */
METRIC_GETTER(metric_blocked);   /* the same, and by the metric's name */
METRIC_GETTER(metric_heap);      /* by the metric's name */
METRIC_GETTER(metric_function);  /* its name, by its id */
METRIC_GETTER(metric_language);
METRIC_GETTER(metric_module);
METRIC_GETTER(metric_file);
METRIC_GETTER(metric_line);

/* "file.c:12" with the file's base name, "" without a file. Returns to. */
const char *metric_place(char *to, size_t size, const struct func *);
