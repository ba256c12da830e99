/* cmd_validate.c - "weft validate": runs a program with and without recording,
 * and tells how far the recorded times agree with samples of runs in which
 * no call was recorded. tables/agreement compares them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/table.h"
#include "analyzer/findings/agreement.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_number.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The options. */
static const char *arg_output, *arg_rate;
static const char *arg_budget = "5%";
static size_t arg_top = 20;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "DIR",
	  .to = &arg_output, .help = "keep the traces in the folder DIR, which "
	  "must not exist" },
	{ .type = OPT_TEXT, .name = "budget", .arg = "P%", .to = &arg_budget,
	  .help = "the budget of the second run; none: without that run" },
	{ .type = OPT_TEXT, .name = "sample-rate", .arg = "HZ",
	  .to = &arg_rate, .help = "samples a second, as in weft record" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "functions to show, 0 for all" },
	TABLE_CSV("rows for scripts: the shares in percent"),
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* The runs: one that is recorded, one with a budget, and two in which calls are
 * only counted, which differ by chance alone. A thread's samples come with its
 * chunks, and only threads with calls have any: so they are counted, at
 * least. */
enum { RECORDED, BUDGET, ONE, OTHER, RUNS };
static const char *const run_names[RUNS] = { "recorded", "budget", "one",
					     "other" };

static bool is_made(int run)
{
	return run != BUDGET || strcmp(arg_budget, "none") != 0;
}

/* What is known of a function of the recorded run: how much of its own code the
 * runs have. */
struct row {
	func_id func;
	double share[RUNS];      /* of all; of those with records: net */
	double raw;
};

struct comparison {
	char dir[PATH_MAX];
	struct load load[RUNS];
	size_t count;            /* functions + 1 */
	double *own[RUNS], *raw; /* by func_id of the recorded run */
};

/* ---- running ------------------------------------------------------------ */

/* The recorder is installed beside this program. */
static int find_recorder(char path[PATH_MAX])
{
	const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return err_add("cannot find out where weft is installed");
	strcpy(slash + 1, "weft-record");
	return access(path, X_OK) == 0 ? 0 : err_add("the recorder is not "
		"installed: install the package weft-record");
}

/* In the child: what the program prints goes to stderr, away from our table. */
static void be_recorder(const char *recorder, const char *trace, int run,
			int count, char **program)
{
	const char **const argv = mem_alloc((size_t)(count + 12) *
					    sizeof(*argv));
	size_t n = 0;

	argv[n++] = "weft record";
	argv[n++] = "-q";
	argv[n++] = "-o";
	argv[n++] = trace;
	if (arg_rate) {
		argv[n++] = "--sample-rate";
		argv[n++] = arg_rate;
	}
	if (run == BUDGET) {
		argv[n++] = "--budget";
		argv[n++] = arg_budget;
	} else if (run != RECORDED) {
		argv[n++] = "--count-only";
		argv[n++] = "--no-lua";
	}
	argv[n++] = "--";
	for (int i = 0; i < count; i++)
		argv[n++] = program[i];
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execv(recorder, (char **)argv);
	_exit(127);
}

static int run_once(const struct comparison *c, const char *recorder, int run,
		    int count, char **program)
{
	char trace[PATH_MAX + 16];
	pid_t child;
	int status = 0;

	snprintf(trace, sizeof(trace), "%s/%s", c->dir, run_names[run]);
	fflush(NULL);
	child = fork();
	if (child == 0)
		be_recorder(recorder, trace, run, count, program);
	if (child < 0)
		return err_add("no process: %s", strerror(errno));
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return err_add("the run was ended by signal %d",
			       WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		fprintf(stderr, "weft: validate: the run ended with status "
			"%d\n", WEXITSTATUS(status));
	return access(trace, R_OK) == 0 ? 0 : err_add("nothing was recorded");
}

static int make_dir(struct comparison *c)
{
	const char *const tmp = getenv("TMPDIR");

	if (arg_output)
		snprintf(c->dir, sizeof(c->dir), "%s", arg_output);
	else
		snprintf(c->dir, sizeof(c->dir), "%s/weft-validate-XXXXXX",
			 tmp && tmp[0] ? tmp : "/var/tmp");
	if (arg_output ? mkdir(c->dir, 0777) == 0 : mkdtemp(c->dir) != NULL)
		return 0;
	err_add("cannot make the folder \"%s\": %s", c->dir, strerror(errno));
	c->dir[0] = '\0';
	return -1;
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *where)
{
	(void)status, (void)type, (void)where;
	return remove(path);
}

/* ---- shares ------------------------------------------------------------- */

/* A module is told by its build-id, or by its path. */
static uint64_t module_key(struct func_table *t, elf_id id)
{
	const struct elf_module *const m = func_elf(t, id);

	return m->build_id_size > 0 ?
	       text_hash_bytes(1, m->build_id, m->build_id_size) :
	       text_hash(2, m->path);
}

/* Recorded functions: by module and offset, and by module and name. */
static struct map *map_functions(struct func_table *t)
{
	struct map *const of = map_new();

	for (func_id id = 1; id <= func_count(t); id++) {
		const struct func *const f = func_get(t, id);
		uint32_t *by_name;

		if (f->kind != FUNC_NATIVE)
			continue;
		*map_put(of, module_key(t, f->module), f->offset) = id;
		by_name = map_put(of, ~module_key(t, f->module),
				  text_hash(0, f->name));
		*by_name = *by_name == 0 ? id : *by_name;
	}
	return of;
}

/* The recorded function that the code at a place is of, inlined or not: the
 * innermost one. 0: none. */
static func_id function_at(const struct map *of, uint64_t module,
			   const struct code_place *p)
{
	const char *const lines = p->inlined ? p->inlined : "";
	func_id id = map_find(of, module, p->begin);
	char name[1024];

	if (id == 0 && p->begin % 2 != 0)
		id = map_find(of, module, p->begin - 1);
	for (const char *at = lines, *end; (end = strchr(at, '\n'));
	     at = end + 1) {
		func_id inner;

		if ((size_t)(end - at) >= sizeof(name))
			continue;
		memcpy(name, at, (size_t)(end - at));
		name[end - at] = '\0';
		inner = map_find(of, ~module, text_hash(0, name));
		id = inner != 0 ? inner : id;
	}
	return id;
}

/* Samples of a run in which no call was recorded. */
static void take_samples(struct comparison *c, int run, const struct map *of)
{
	struct session *const s = c->load[run].session;

	for (size_t i = 0; i < cct_sample_count(s->cct); i++) {
		const struct cct_sample *const at = cct_sample_get(s->cct, i);
		const struct code_place *const p = &s->places[at->place];

		if (p->name && p->kind != PLACE_PROBE)
			c->own[run][function_at(of, module_key(s->funcs,
				p->module), p)] += at->period;
	}
	c->own[run][0] = 0;
}

/* Of a recorded node, only time in its own code is comparable: in the other
 * runs nobody knows who called memcpy. */
static void take_node(struct comparison *c, int run, node_id id,
		      const struct map *of)
{
	struct session *const s = c->load[run].session;
	const struct cct_node *const n = cct_get(s->cct, id);
	const struct cct_sampled *const at = cct_sampled_of(s->cct, id);
	const uint64_t off = cct_cpu_of(s->cct, id).off;
	const double all = (double)at->own + (double)at->other;
	const double own = all > 0 ? (double)at->own / all : 1;

	const struct func *const f = func_get(s->funcs, n->func);
	func_id func;

	if (f->kind != FUNC_NATIVE)
		return;
	func = map_find(of, module_key(s->funcs, f->module), f->offset);
	c->own[run][func] += n->self < off ? 0 : (double)(n->self - off) * own;
	if (run == RECORDED)
		c->raw[func] += at->raw < off ? 0 :
				(double)(at->raw - off) * own;
}

static int take_nodes(struct comparison *c, int run, const struct map *of)
{
	struct cct *const t = c->load[run].session->cct;

	if (!(c->load[run].session->net.is_net & NET_SAMPLED))
		return err_add("the kernel takes no samples, or too few: weft "
			       "info of a trace says why");
	for (node_id id = 1; id <= cct_count(t); id++)
		take_node(c, run, id, of);
	c->own[run][0] = 0;
	return 0;
}

static int take_all(struct comparison *c)
{
	struct session *const s = c->load[RECORDED].session;
	struct map *const of = map_functions(s->funcs);
	int status = 0;

	c->count = func_count(s->funcs) + 1;
	for (int i = 0; i < RUNS; i++)
		c->own[i] = mem_alloc(c->count * sizeof(*c->own[i]));
	c->raw = mem_alloc(c->count * sizeof(*c->raw));
	take_samples(c, ONE, of);
	take_samples(c, OTHER, of);
	for (int i = RECORDED; i <= BUDGET && status == 0; i++)
		status = is_made(i) ? take_nodes(c, i, of) : 0;
	map_free(of);
	return status;
}

/* ---- output ------------------------------------------------------------- */

static METRIC_GETTER(get_share)
{
	memcpy(&v->real, (const char *)row + m->at, sizeof(v->real));
	metric_show(v, "%.1f%%", v->real);
}

/* The two runs in which nothing was recorded are one here. */
static METRIC_GETTER(get_truth)
{
	const struct row *const r = row;

	v->real = (r->share[ONE] + r->share[OTHER]) / 2;
	metric_show(v, "%.1f%%", v->real);
}

static METRIC_GETTER(get_budget)
{
	get_share(s, m, row, v);
	v->is_unknown = !is_made(BUDGET);
}

static const struct metric metrics[] = {
	{ "unrecorded", METRIC_REAL, .get = get_truth, .decimals = 4 },
	{ "net", METRIC_REAL, .get = get_share, .decimals = 4,
	  .at = offsetof(struct row, share[RECORDED]) },
	{ "raw", METRIC_REAL, .get = get_share, .decimals = 4,
	  .at = offsetof(struct row, raw) },
	{ "budget", METRIC_REAL, .get = get_budget, .decimals = 4,
	  .at = offsetof(struct row, share[BUDGET]) },
	METRIC_PLACE(struct row, func, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  .at = offsetof(struct row, func), .size = sizeof(func_id),
	  .get = metric_function, .shrink = 24 },
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics, "unrecorded,net,raw,budget,file,name",
	"name,language,module,file,line,unrecorded,net,raw,budget"
};

static double sum_of(const double *of, size_t n)
{
	double sum = 0;

	for (size_t i = 1; i < n; i++)
		sum += of[i];
	return sum > 0 ? sum : 1;
}

ORDER_BY(by_truth, struct row, ORDER(y->share[ONE] + y->share[OTHER],
	x->share[ONE] + x->share[OTHER]) ?: UP(func))

static void print_rows(const struct comparison *c)
{
	struct table t = { .csv = table_args.csv,
			   .source.session = c->load[RECORDED].session };
	const size_t top = table_limit(arg_top, 0);
	struct row *const rows = mem_alloc(c->count * sizeof(*rows));
	size_t n = 0;
	double sums[RUNS];
	const double raw = sum_of(c->raw, c->count);

	for (int i = 0; i < RUNS; i++)
		sums[i] = sum_of(c->own[i], c->count);
	for (func_id f = 1; f < c->count; f++) {
		struct row *const r = &rows[n];

		if (func_get(t.source.session->funcs, f)->kind != FUNC_NATIVE)
			continue;
		*r = (struct row){ .func = f, .raw = 100 * c->raw[f] / raw };
		for (int i = 0; i < RUNS; i++)
			r->share[i] = 100 * c->own[i][f] / sums[i];
		n++;
	}
	qsort(rows, n, sizeof(*rows), by_truth);
	table_choose_fixed(&t, &view, NULL);
	table_begin(&t);
	for (size_t i = 0; i < n && (t.csv || i < top); i++)
		table_row(&t, &rows[i]);
	table_end(&t);
	table_print_rest(n > top ? n - top : 0, "functions");
	mem_free(rows);
}

/* What the samples' own noise leaves: both are like sums of independent
 * differences. */
static double without(double misplaced, double noise)
{
	return misplaced > noise ?
	       sqrt(misplaced * misplaced - noise * noise) : 0;
}

static void print_agreement(FILE *to, const char *what, struct agreement g,
			    double noise)
{
	fprintf(to, "%-26s %2zu of %-2zu  %6.2f %10.1f%%", what, g.shared,
		g.top, g.tau, 100 * g.misplaced);
	if (noise >= 0)
		fprintf(to, " %15.1f%%", 100 * without(g.misplaced, noise));
	putc('\n', to);
}

static void validate_print(const struct comparison *c)
{
	FILE *const to = table_notes();
	const struct session *const s = c->load[ONE].session;
	const size_t n = c->count;
	const struct agreement noise = agreement_of(c->own[ONE],
						    c->own[OTHER], n);
	char text[OUT_NUMBER];

	header_print_losses(&c->load[RECORDED]);
	table_note("agreement with a run in which no call was recorded (%s)",
		   out_number_many(text, cct_sample_count(s->cct), "samples"));
	fprintf(to, "%-26s %8s  %6s %11s %16s\n", "", "top 10", "tau 30",
		"misplaced", "noise taken out");
	print_agreement(to, "raw self", agreement_of(c->own[ONE], c->raw,
						     n), noise.misplaced);
	print_agreement(to, "net self", agreement_of(c->own[ONE],
						     c->own[RECORDED], n),
			noise.misplaced);
	if (is_made(BUDGET))
		print_agreement(to, "net self, with a budget",
				agreement_of(c->own[ONE], c->own[BUDGET], n),
				noise.misplaced);
	print_agreement(to, "the same run once more", noise, -1);
	if (!table_args.csv)
		putchar('\n');
	print_rows(c);
}

/* ---- the command -------------------------------------------------------- */

/* Make a run and read it. */
static enum cmd_exit run_and_load(struct comparison *c, const char *recorder,
				  int run, int count, char **program)
{
	char trace[PATH_MAX + 16], *operand = trace;
	enum cmd_exit status;

	if (run_once(c, recorder, run, count, program) != 0)
		return CMD_UNREADABLE;
	snprintf(trace, sizeof(trace), "%s/%s", c->dir, run_names[run]);
	status = load_open(&c->load[run], 1, &operand);
	c->load[run].path = run_names[run];
	if (status == CMD_OK)
		status = header_need_calls(&c->load[run]);
	return status;
}

static enum cmd_exit compare(struct comparison *c, const char *recorder,
			     int count, char **program)
{
	enum cmd_exit status = CMD_OK;

	load_want_net(true);
	for (int i = 0; i < RUNS && status == CMD_OK; i++)
		if (is_made(i))
			status = run_and_load(c, recorder, i, count, program);
	if (status == CMD_OK && take_all(c) != 0)
		status = CMD_UNREADABLE;
	if (status == CMD_OK)
		validate_print(c);
	for (int i = 0; i < RUNS; i++) {
		mem_free(c->own[i]);
		load_close(&c->load[i]);
	}
	mem_free(c->raw);
	return status;
}

/* The recorder would refuse it only after the first run. */
static bool is_budget(const char *text)
{
	char *end;
	const double percent = strtod(text, &end);

	return !is_made(BUDGET) ||
	       (percent > 0 && percent <= 90 && strcmp(end, "%") == 0);
}

static int check_command_line(int count)
{
	if (count == 0)
		return err_add("a program is needed: weft validate -- PROGRAM "
			       "ARGUMENT...");
	if (!is_budget(arg_budget))
		return err_add("--budget wants a share of the CPU time such as "
			       "5%%, above 0%% and at most 90%%, or none");
	if (arg_rate && strcmp(arg_rate, "0") == 0)
		return err_add("--sample-rate 0 leaves no samples to compare "
			       "with; give another rate");
	return 0;
}

static enum cmd_exit validate_run(int count, char **operands)
{
	enum cmd_exit status = CMD_UNREADABLE;
	struct comparison *c;
	char recorder[PATH_MAX];

	if (check_command_line(count) != 0)
		return CMD_USAGE;
	c = mem_alloc(sizeof(*c));
	if (find_recorder(recorder) == 0 && make_dir(c) == 0) {
		status = compare(c, recorder, count, operands);
		if (!arg_output)
			nftw(c->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	mem_free(c);
	return status;
}

const struct cmd cmd_validate = {
	.name = "validate",
	.args = "-- PROGRAM ARGUMENT...",
	.summary = "say how far the times of a program can be trusted",
	.about =
	"Runs the program four times: recorded, recorded with a budget, and\n"
	"then twice with calls only counted, so that samples of the kernel\n"
	"alone say where its time goes. Then says how far the recorded times\n"
	"agree with these samples: how many of the ten functions with most\n"
	"self time are the same, Kendall's tau of the first 30 (1: the same\n"
	"order), and how much of all self time is given to other functions.\n"
	"The samples have noise, too: the last line compares the two runs\n"
	"that only counted, and the last column takes that noise out.\n"
	"\n"
	"Only time in native functions' own code is compared: nobody knows\n"
	"who called libc's functions where no call is recorded. The program\n"
	"must run for some seconds at least, and do the same each time. What\n"
	"it prints goes to stderr.",
	.opts = opts,
	.run = validate_run,
	.is_unpaged = true,
};
