/* cmd_validate.c - "weft validate": runs a program with and without recording,
 * and tells how far the recorded times agree with samples of runs without weft
 * in them. findings/agreement compares them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/named.h"
#include "analyzer/base/child.h"
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
static const char *arg_output, *arg_rate, *arg_plain, *arg_slow_down,
		  *arg_slowed;
static size_t arg_top = 20;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "DIR",
	  .to = &arg_output, .help = "keep the traces in the folder DIR, which "
	  "must not exist" },
	{ .type = OPT_TEXT, .name = "plain", .arg = "PROGRAM",
	  .to = &arg_plain, .help = "compare with this program, such as its "
	  "build without -finstrument-functions" },
	{ .type = OPT_TEXT, .name = "slow-down", .arg = "FUNCTION=NS",
	  .to = &arg_slow_down, .help = "instead, check that this function "
	  "alone takes that much longer a call in the build of --slowed" },
	{ .type = OPT_TEXT, .name = "slowed", .arg = "PROGRAM",
	  .to = &arg_slowed, .help = "the program, built with "
	  "-DWEFT_DELAY_NS=NS (weft.h: WEFT_DELAY)" },
	{ .type = OPT_TEXT, .name = "sample-rate", .arg = "HZ",
	  .to = &arg_rate, .help = "samples a second, as in weft record" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "functions to show, 0 for all" },
	TABLE_CSV("rows for scripts: the shares in percent"),
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* The runs: one that is recorded, one that is recorded with a reference, and
 * two that are only sampled, which differ by chance alone. With --slow-down,
 * one with a reference, and one more of the program with a delay. */
enum { RECORDED, REFERENCED, ONE, OTHER, RUNS, SLOWED = RUNS, ALL_RUNS };
static const char *const run_names[ALL_RUNS] = { "recorded", "referenced",
						 "one", "other", "slowed" };

static bool has_reference(int run)
{
	return run == REFERENCED || run == SLOWED;
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
	struct load load[ALL_RUNS];
	size_t count;            /* functions + 1 */
	double *own[RUNS], *raw; /* by func_id of the recorded run */
	/* Of the runs that were only sampled: */
	uint64_t samples;        /* in the first one */
	double told, blind;      /* ns of functions; and where nothing says
				  * what was inlined there */
};

/* ---- running ------------------------------------------------------------ */

/* In the child: what the program prints goes to stderr, away from our table. */
static void be_recorder(const char *recorder, const char *trace, int run,
			int count, char **program)
{
	const char **const argv = mem_alloc((size_t)(count + 12) *
					    sizeof(*argv));
	char reference[PATH_MAX + 16] = "--reference";
	size_t n = 0;

	argv[n++] = "weft record";
	argv[n++] = "-q";
	argv[n++] = "-o";
	argv[n++] = trace;
	if (arg_rate) {
		argv[n++] = "--sample-rate";
		argv[n++] = arg_rate;
	}
	if (run == REFERENCED && arg_plain)
		snprintf(reference, sizeof(reference), "--reference=%s",
			 arg_plain);
	if (run != RECORDED || has_reference(run))
		argv[n++] = has_reference(run) ? reference : "--sample-only";
	argv[n++] = "--";
	for (int i = 0; i < count; i++)
		argv[n++] = i > 0 ? program[i] :
			    run == SLOWED ? arg_slowed :
			    arg_plain && run >= ONE ? arg_plain : program[i];
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

/* Functions of the recorded run: by module and offset, and by name beside the
 * module, or beside 0 for any. */
static struct map *map_functions(struct func_table *t)
{
	struct map *const of = map_new();

	for (func_id id = 1; id <= func_count(t); id++) {
		const struct func *const f = func_get(t, id);
		const uint64_t module = f->kind == FUNC_NATIVE ?
					module_key(t, f->module) : 0;
		uint64_t name;

		if (f->kind != FUNC_NATIVE)
			continue;
		name = text_hash_function(f->name, strlen(f->name));
		*map_put(of, module, f->offset) = id;
		*map_put(of, ~module, name) = id;
		*map_put(of, 0, name) = id;
	}
	for (elf_id m = 1; m <= func_elf_count(t); m++)
		*map_put(of, module_key(t, m), UINT64_MAX) = 1; /* is here */
	return of;
}

static func_id named(const struct map *of, uint64_t module, const char *name)
{
	return map_find(of, map_find(of, module, UINT64_MAX) ? ~module : 0,
			text_hash_function(name, strlen(name)));
}

/* Of a run that was only sampled, as reports take a reference. */
static void take_samples(struct comparison *c, int run)
{
	struct session *const s = c->load[RECORDED].session;
	const struct reference *const r = &s->reference;

	load_take_samples(&c->load[RECORDED], &c->load[run]);
	for (size_t i = 0; i < r->count; i++) {
		const double ns = r->at[i].func ? r->at[i].ns : 0;
		const char *const inlined = c->load[run].session->places
					    [r->at[i].place].inlined;

		c->own[run][r->at[i].func] += ns;
		c->told += ns;
		c->blind += inlined ? 0 : ns;
	}
	c->samples = run == ONE ? r->samples : c->samples;
}

/* Of a recorded node, only time in its own code is comparable: samples alone do
 * not tell who called memcpy. A reference has told what the node has of other
 * code. */
static void take_node(struct comparison *c, int run, node_id id, double other,
		      const struct map *of)
{
	struct session *const s = c->load[run].session;
	const struct cct_node *const n = cct_get(s->cct, id);
	const struct cct_sampled *const at = cct_sampled_of(s->cct, id);
	const struct func *const f = func_get(s->funcs, n->func);
	const double off = (double)cct_cpu_of(s->cct, id).off;
	const double all = (double)at->own + (double)at->other;
	const double part = all > 0 ? (double)at->own / all : 1;
	func_id func;

	if (f->kind != FUNC_NATIVE || !f->module)
		return;
	func = map_find(of, module_key(s->funcs, f->module), f->offset);
	c->own[run][func] += fmax(run == RECORDED ?
		((double)n->self - off) * part : (double)n->self - off - other,
		0);
	if (run == RECORDED)
		c->raw[func] += fmax(((double)at->raw - off) * part, 0);
}

static void take_nodes(struct comparison *c, int run, const struct map *of)
{
	struct cct *const t = c->load[run].session->cct;
	double *const other = mem_alloc((cct_count(t) + 1) * sizeof(*other));

	for (size_t i = 0; i < cct_sample_count(t); i++) {
		const struct cct_sample *const at = cct_sample_get(t, i);

		other[at->node] += at->worth;
	}
	for (node_id id = 1; id <= cct_count(t); id++)
		take_node(c, run, id, other[id], of);
	c->own[run][0] = 0;
	mem_free(other);
}

/* Only with a reference that fits is there a net time by it. */
static bool is_referenced(const struct comparison *c)
{
	return c->load[REFERENCED].session->net.is_net & NET_REFERENCE;
}

static int take_all(struct comparison *c)
{
	struct session *const s = c->load[RECORDED].session;
	struct map *of;

	if (!(s->net.is_net & NET_SAMPLED) ||
	    c->load[ONE].session->reference.samples == 0)
		return err_add("the kernel takes no samples, or too few: weft "
			       "info of a trace says why");
	of = map_functions(s->funcs);
	c->count = func_count(s->funcs) + 1;
	for (int i = 0; i < RUNS; i++)
		c->own[i] = mem_alloc(c->count * sizeof(*c->own[i]));
	c->raw = mem_alloc(c->count * sizeof(*c->raw));
	take_samples(c, ONE);
	take_samples(c, OTHER);
	take_nodes(c, RECORDED, of);
	if (is_referenced(c))
		take_nodes(c, REFERENCED, of);
	map_free(of);
	return 0;
}

/* ---- output ------------------------------------------------------------- */

static METRIC_GETTER(get_share)
{
	memcpy(&v->real, (const char *)row + m->at, sizeof(v->real));
	metric_show(v, "%.1f%%", v->real);
}

/* The two runs that were only sampled are one here. */
static METRIC_GETTER(get_truth)
{
	const struct row *const r = row;

	v->real = (r->share[ONE] + r->share[OTHER]) / 2;
	metric_show(v, "%.1f%%", v->real);
}

static const struct metric metrics[] = {
	{ "unrecorded", METRIC_REAL, .get = get_truth, .decimals = 4 },
	{ "net", METRIC_REAL, .get = get_share, .decimals = 4,
	  .at = offsetof(struct row, share[RECORDED]) },
	{ "raw", METRIC_REAL, .get = get_share, .decimals = 4,
	  .at = offsetof(struct row, raw) },
	{ "reference", METRIC_REAL, .get = get_share, .decimals = 4,
	  .at = offsetof(struct row, share[REFERENCED]) },
	METRIC_PLACE(struct row, func, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  .at = offsetof(struct row, func), .size = sizeof(func_id),
	  .get = metric_function, .shrink = 24 },
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics, "unrecorded,net,raw,reference,file,name",
	"name,language,module,file,line,unrecorded,net,raw,reference"
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
	const double *const one = c->own[ONE];
	const size_t n = c->count;
	const struct agreement noise = agreement_of(one, c->own[OTHER], n);
	char text[OUT_NUMBER];

	header_print_losses(&c->load[RECORDED]);
	table_note("agreement with %s as it runs unrecorded (%s)", arg_plain ?
		   arg_plain : "the program", out_number_many(text,
		   c->samples, "samples"));
	if (!is_referenced(c))
		table_note("a reference did not fit the recorded run");
	if (c->blind > 0.01 * c->told)
		table_note("%s of the samples are in code without debug "
			   "information: what was inlined there counts for "
			   "the function that it was inlined into (build with "
			   "-g)", out_number_share(text, (uint64_t)c->blind,
						   (uint64_t)c->told));
	fprintf(to, "%-26s %8s  %6s %11s %16s\n", "", "top 10", "tau 30",
		"misplaced", "noise taken out");
	print_agreement(to, "raw self", agreement_of(one, c->raw, n),
			noise.misplaced);
	print_agreement(to, "net self", agreement_of(one, c->own[RECORDED], n),
			noise.misplaced);
	if (is_referenced(c))
		print_agreement(to, "self with --reference", agreement_of(one,
				c->own[REFERENCED], n), noise.misplaced);
	print_agreement(to, "the same run once more", noise, -1);
	if (!table_args.csv)
		putchar('\n');
	print_rows(c);
}

/* ---- a known delay ------------------------------------------------------ */

/* What a function took, in ns, all of it without what it waited: as recorded,
 * and by the reference, with its variance. */
struct took { double raw, net, variance; uint64_t calls; };

/* By functions of the run that was not slowed. */
static struct took *take_times(const struct comparison *c, int run,
			       const struct map *of)
{
	struct session *const s = c->load[run].session;
	const double tick = 1e9 / (double)s->tick_hz;
	struct took *const took = mem_alloc(c->count * sizeof(*took));

	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const n = cct_get(s->cct, id);
		const struct cct_sampled *const at = cct_sampled_of(s->cct, id);
		const struct func *const f = func_get(s->funcs, n->func);
		const double off = (double)cct_cpu_of(s->cct, id).off;
		const uint64_t module = f->kind == FUNC_NATIVE && f->module ?
					module_key(s->funcs, f->module) : 0;
		const func_id known = map_find(of, module, f->offset);
		struct took *const to = &took[!module ? 0 : known ? known :
			named(of, module, f->name)];

		to->raw += fmax((double)at->raw - off, 0) * tick;
		to->net += fmax((double)n->self - off, 0) * tick;
		to->variance += at->variance * tick * tick;
		to->calls += n->calls;
	}
	return took;
}

/* How one kind of time of all functions has changed; told in parts of what
 * should have been added. */
static void print_growth(const struct comparison *c, const char *what,
			 const struct took *before, const struct took *after,
			 func_id slowed, double added, size_t kind)
{
	char a[OUT_NUMBER], b[OUT_NUMBER];
	double grown = 0, all = 0, most = 0;
	func_id other = 0;

	for (func_id f = 1; f < c->count; f++) {
		const double more = *(const double *)((const char *)&after[f] +
				    kind) - *(const double *)
				    ((const char *)&before[f] + kind);

		grown = f == slowed ? more : grown;
		all += f == slowed ? 0 : more;
		if (f != slowed && fabs(more) > fabs(most)) {
			most = more;
			other = f;
		}
	}
	out_print(stdout, "%-22s %10s %8.1f%% %10s %8.1f%%   %+.1f%% %s\n",
		  what, out_number_time(a, grown), 100 * grown / added,
		  out_number_time(b, fabs(all)), 100 * all / added,
		  100 * most / added, other == 0 ? "" :
		  func_get(c->load[REFERENCED].session->funcs, other)->name);
}

static int print_slowed(const struct comparison *c, func_id slowed, double ns)
{
	struct func_table *const funcs = c->load[REFERENCED].session->funcs;
	struct map *const of = map_functions(funcs);
	struct took *const before = take_times(c, REFERENCED, of);
	struct took *const after = take_times(c, SLOWED, of);
	const double added = ns * (double)after[slowed].calls;
	const double error = sqrt(before[slowed].variance +
				  after[slowed].variance);
	char a[OUT_NUMBER], b[OUT_NUMBER], d[OUT_NUMBER];
	const bool is_known = after[slowed].calls > 0 &&
		before[slowed].calls == after[slowed].calls;

	map_free(of);
	if (is_known) {
		out_print(stdout, "%s: %s, each %s longer: it should grow by "
			  "%s\n", func_get(funcs, slowed)->name,
			  out_number_many(a, after[slowed].calls, "calls"),
			  out_number_time(b, ns), out_number_time(d, added));
		printf("%-22s %10s %9s %10s %9s   %s\n", "", "grows by",
		       "of that", "all others", "of that", "most of these");
		print_growth(c, "raw self", before, after, slowed, added,
			     offsetof(struct took, raw));
		print_growth(c, "self with --reference", before, after, slowed,
			     added, offsetof(struct took, net));
		printf("one standard error by the reference: %.1f%%\n",
		       100 * error / added);
	}
	mem_free_all(before, after);
	return is_known ? 0 : err_add("the function has not as many calls in "
				      "both runs, or none");
}

/* "FUNCTION=NS". 0: there is no such function, or several. */
static func_id slowed_function(struct session *s, double *ns)
{
	char *const name = mem_copy(arg_slow_down);
	char *const is = strrchr(name, '=');
	uint8_t *wanted;
	func_id found = 0;

	*is = '\0';
	*ns = strtod(is + 1, NULL);
	wanted = named_functions(s, name);
	for (func_id f = 1; wanted && f <= func_count(s->funcs); f++) {
		if (wanted[f] && found)
			err_add("\"%s\" is more than one function", name);
		found = !wanted[f] ? found : found ? 0 : f;
	}
	mem_free_all(name, wanted);
	return found;
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
	if (status == CMD_OK && (run == RECORDED || has_reference(run)))
		status = header_need_calls(&c->load[run]);
	return status;
}

static enum cmd_exit compare_all(struct comparison *c)
{
	if (take_all(c) != 0)
		return CMD_UNREADABLE;
	validate_print(c);
	return CMD_OK;
}

static enum cmd_exit compare_slowed(struct comparison *c)
{
	struct session *const s = c->load[REFERENCED].session;
	double ns;
	const func_id slowed = slowed_function(s, &ns);

	c->count = func_count(s->funcs) + 1;
	if (slowed == 0)
		return CMD_USAGE;
	if (!is_referenced(c) ||
	    !(c->load[SLOWED].session->net.is_net & NET_REFERENCE)) {
		err_add("the kernel takes no samples, or a reference did not "
			"fit its run");
		return CMD_UNREADABLE;
	}
	return print_slowed(c, slowed, ns) == 0 ? CMD_OK : CMD_UNREADABLE;
}

static enum cmd_exit compare(struct comparison *c, const char *recorder,
			     int count, char **program)
{
	enum cmd_exit status = CMD_OK;

	load_want_net(true);
	for (int i = 0; i < ALL_RUNS && status == CMD_OK; i++)
		if (arg_slow_down ? has_reference(i) : i < RUNS)
			status = run_and_load(c, recorder, i, count, program);
	if (status == CMD_OK)
		status = arg_slow_down ? compare_slowed(c) : compare_all(c);
	for (int i = 0; i < RUNS; i++)
		mem_free(c->own[i]);
	for (int i = 0; i < ALL_RUNS; i++)
		load_close(&c->load[i]);
	mem_free(c->raw);
	return status;
}

static int check_command_line(int count)
{
	if (count == 0)
		return err_add("a program is needed: weft validate -- PROGRAM "
			       "ARGUMENT...");
	if (!arg_slow_down != !arg_slowed ||
	    (arg_slow_down && (arg_plain || table_args.csv)))
		return err_add("--slow-down and --slowed go together, without "
			       "--plain and --csv");
	if (arg_slow_down && (!strrchr(arg_slow_down, '=') ||
			      !(strtod(strrchr(arg_slow_down, '=') + 1, NULL) >
				0)))
		return err_add("--slow-down is FUNCTION=NS");
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
	if (child_find_recorder(recorder) != 0)
		err_add("the recorder is not installed: install the package "
			"weft-record");
	else if (make_dir(c) == 0) {
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
	"Runs the program recorded, recorded with --reference, and twice\n"
	"without anything of weft in it, so that samples of the kernel alone\n"
	"say where its time goes. Then says how far the recorded times agree\n"
	"with these samples: how many of the ten functions with most self\n"
	"time are the same, Kendall's tau of the first 30 (1: the same\n"
	"order), and how much of all self time is given to other functions.\n"
	"The samples have noise, too: the last line compares the two runs\n"
	"that were only sampled, and the last column takes that noise out.\n"
	"\n"
	"Only time in native functions' own code is compared: samples alone\n"
	"do not tell who called libc's functions. With --slow-down, the\n"
	"program and a build in which one function is slower by a known time\n"
	"are recorded with --reference, and what functions take in one is\n"
	"compared with what they take in the other. The program must run for\n"
	"some seconds at least, and do the same each time. What it prints\n"
	"goes to stderr.",
	.opts = opts,
	.run = validate_run,
	.is_unpaged = true,
};
