/* out_gnuplot.c - plots, drawn by gnuplot: no shell, no start-up files, every
 * name between single quotes with its text not interpreted.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_gnuplot.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WIDTH = 960, BAR_HEIGHT = 26, FRAME_HEIGHT = 130, /* pixels */
	LABEL_COLUMNS = 44,     /* longer labels are cut */
	MESSAGE = 400,          /* bytes of what gnuplot says */
};

/* Different in brightness, too, for readers who see few colours. */
static const char *const colours[OUT_GNUPLOT_GROUPS] = {
	"#2f6690", "#f0a04b", "#7a9e7e", "#9a8fb0"
};

/* ---- the script ---- */

/* Write untrusted text, cut to so many columns, between single quotes. In a
 * tic's label gnuplot takes % for a number's format, so % is doubled there. */
static void put_quoted(FILE *to, const char *text, size_t columns, bool is_tic)
{
	char *const whole = out_escape_cut(out_escape_terminal(text), columns,
					   false);
	char *const quoted = out_escape_gnuplot(whole);

	fputc('\'', to);
	for (const char *at = quoted; *at != '\0'; at++) {
		if (is_tic && *at == '%')
			fputc('%', to);
		fputc(*at, to);
	}
	fputc('\'', to);
	mem_free(quoted);
	mem_free(whole);
}

/* A text that is no tic's label. */
static void put_text(FILE *to, const char *text, size_t columns)
{
	put_quoted(to, text, columns, false);
}

/* Bar i lies at height count - i, so that the first is on top. Heights
 * are not negative: gnuplot would take the minus for an operator on the
 * label before. */
static void put_labels(FILE *to, const struct out_bars *plot)
{
	fputs("set ytics scale 0 noenhanced (", to);
	for (size_t i = 0; i < plot->count; i++) {
		if (i > 0)
			fputs(", ", to);
		put_quoted(to, plot->bars[i].label, LABEL_COLUMNS, true);
		fprintf(to, " %zu", plot->count - i);
	}
	fputs(") tc rgb '#222222'\n", to);
	for (size_t i = 0; i < plot->count; i++) {
		fprintf(to, "set label %zu ", i + 1);
		put_text(to, plot->bars[i].note, LABEL_COLUMNS);
		fprintf(to, " at %.17g,%zu left offset 0.6,0 noenhanced "
			"tc rgb '#555555'\n", plot->bars[i].value,
			plot->count - i);
	}
}

/* Write the bars, group by group, so that each has a colour and a legend. */
static void put_groups(FILE *to, const struct out_bars *plot)
{
	for (size_t g = 0; g < plot->group_count; g++) {
		fprintf(to, "$group%zu << EOD\n", g);
		for (size_t i = 0; i < plot->count; i++)
			if (plot->bars[i].group == g)
				fprintf(to, "%.17g %zu\n", plot->bars[i].value,
					plot->count - i);
		/* An empty block cannot be plotted: add a point outside. */
		fputs("-1 -9\nEOD\n", to);
	}
	fputs("plot ", to);
	for (size_t g = 0; g < plot->group_count; g++) {
		fprintf(to, "%s$group%zu using ($1/2):2:($1/2):(0.36) "
			"with boxxyerror fs solid noborder lc rgb '%s' title ",
			g > 0 ? ", " : "", g, colours[g]);
		put_text(to, plot->groups[g], LABEL_COLUMNS);
	}
	fputc('\n', to);
}

/* Sizes are pixels, but those of a PDF are inches; so are sizes of type. */
static void put_terminal(FILE *to, size_t height, const char *format)
{
	const bool is_pdf = strcmp(format, "pdf") == 0;
	const bool is_svg = strcmp(format, "svg") == 0;
	char size[64];

	if (is_pdf)
		snprintf(size, sizeof(size), "%gin,%gin",
			 (double)WIDTH / 96, (double)height / 96);
	else
		snprintf(size, sizeof(size), "%d,%zu", WIDTH, height);
	fprintf(to, "set terminal %s%s noenhanced size %s "
		"background rgb '#ffffff' font 'sans,%d'\n", format,
		is_svg ? "" : "cairo", size, is_svg ? 13 : 10);
}

/* Write the whole script. The axis is longer than the longest bar by half, so
 * that the notes have room. */
static void put_script(FILE *to, const struct out_bars *plot,
		       const char *format)
{
	const size_t height = FRAME_HEIGHT + BAR_HEIGHT * plot->count;
	double most = 0;

	for (size_t i = 0; i < plot->count; i++)
		if (plot->bars[i].value > most)
			most = plot->bars[i].value;
	put_terminal(to, height, format);
	fputs("set title noenhanced ", to);
	put_text(to, plot->title, 100);
	fputs("\nset xlabel noenhanced ", to);
	put_text(to, plot->axis, 100);
	fprintf(to, "\nset xrange [0:%.17g]\nset yrange [0.3:%zu.7]\n",
		most > 0 ? most * 1.5 : 1, plot->count);
	fputs("set border 1 lc rgb '#999999'\nset xtics nomirror out "
	      "tc rgb '#333333'\nset grid xtics lt 1 lc rgb '#e4e4e4'\n"
	      "set key bottom right reverse Left noenhanced samplen 1\n"
	      "unset mouse\n", to);
	put_labels(to, plot);
	put_groups(to, plot);
}

/* ---- the child ---- */

/* gnuplot: where it reads its script from, and what it complains of. */
struct child { pid_t pid; FILE *script; int messages; };

/* In the child: if gnuplot cannot be run, the parent gets the errno. */
static _Noreturn void become_gnuplot(int script, int output, int messages,
				     int failed)
{
	dup2(script, 0);
	dup2(output, 1);
	dup2(messages, 2);
	signal(SIGPIPE, SIG_DFL);
	execlp("gnuplot", "gnuplot", "-d", (char *)NULL);
	if (write(failed, &errno, sizeof(errno)) < 0)
		_exit(126);
	_exit(127);
}

/* Run gnuplot, with its output going to a descriptor. The pipe `failed` closes
 * when gnuplot starts, so reading nothing from it means success. Buffers are
 * flushed before the fork, or the child would have them, too. 0, or -1 with the
 * cause in the chain. */
static int start(struct child *child, int output)
{
	int script[2], messages[2], failed[2], error = 0;

	if (pipe2(script, O_CLOEXEC) != 0 ||
	    pipe2(messages, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    pipe2(failed, O_CLOEXEC) != 0)
		return err_add("cannot make a pipe to gnuplot: %s",
			       strerror(errno));
	fflush(NULL);
	child->pid = fork();
	if (child->pid == 0)
		become_gnuplot(script[0], output, messages[1], failed[1]);
	close(script[0]);
	close(messages[1]);
	close(failed[1]);
	child->script = fdopen(script[1], "w");
	child->messages = messages[0];
	if (child->pid < 0)
		error = errno;
	else if (read(failed[0], &error, sizeof(error)) == 0)
		error = 0;
	close(failed[0]);
	if (error == 0)
		return 0;
	fclose(child->script);
	close(child->messages);
	if (child->pid > 0)
		waitpid(child->pid, NULL, 0);
	return err_add(error == ENOENT ? "gnuplot is not installed "
		       "(Debian: apt install gnuplot-nox)" :
		       "cannot run gnuplot: %s", strerror(error));
}

/* Wait for gnuplot; -1 with its message if it failed. Any message counts as a
 * failure, even if the status is 0. The pipe does not block, so that gnuplot
 * never waits for a reader: the first bytes of what it says are enough. */
static int end(const struct child *child)
{
	char message[MESSAGE + 1];
	int status = 0, is_lost;
	ssize_t size;

	is_lost = ferror(child->script);
	is_lost |= fclose(child->script) != 0;
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	size = read(child->messages, message, MESSAGE);
	close(child->messages);
	if (status == 0 && !is_lost && size <= 0)
		return 0;
	message[size > 0 ? size : 0] = '\0';
	for (char *at = message; *at != '\0'; at++)
		if (*at == '\n')
			*at = ' ';
	return err_add("gnuplot failed (status %d): %s", status, message);
}

/* What out_file_write's callback needs. */
struct drawing { const struct out_bars *plot; const char *format; };

/* An out_file_fn. gnuplot writes to the file's descriptor itself. SIGPIPE is
 * ignored meanwhile, because a gnuplot that ends early must not end weft. */
static int draw(FILE *to, void *ctx)
{
	const struct drawing *const d = ctx;
	void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
	struct child child = { .pid = -1 };
	int status = start(&child, fileno(to));
	struct stat made;

	if (status == 0) {
		put_script(child.script, d->plot, d->format);
		status = end(&child);
	}
	signal(SIGPIPE, before);
	if (status == 0 && fstat(fileno(to), &made) == 0 &&
	    S_ISREG(made.st_mode) && made.st_size == 0)
		status = err_add("gnuplot drew nothing");
	return status;
}

int out_gnuplot_bars(const struct out_bars *plot, const char *file,
		     const char *format)
{
	struct drawing d = { plot, format };

	assert(plot->group_count <= OUT_GNUPLOT_GROUPS);
	return out_file_write(file, draw, &d);
}
