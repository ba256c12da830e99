/* out_plot.c - a plot as a script for gnuplot, data included: every text
 * between single quotes, not interpreted. Knows nothing of what is plotted.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_plot.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_file.h"
#include "analyzer/out/out_name.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NAME_COLUMNS = 50, TITLE_COLUMNS = 150, /* longer ones are cut */
	WITH_FIGURES = 32, /* a name in a legend that has figures, too */
	TERMINAL_NAME = 22,
	TERMINAL_WIDTH = 100, TERMINAL_HEIGHT = 32, /* if it does not say, or
	                                             * is very small */
	TERMINAL_BARS = 6, /* so many may be higher than a line */
};

const char *const out_plot_formats[] = {
	[OUT_PLOT_SVG] = "svg", [OUT_PLOT_PNG] = "png", [OUT_PLOT_PDF] = "pdf",
	[OUT_PLOT_DUMB] = "dumb", [OUT_PLOT_SIXEL] = "sixel", NULL
};

/* ---- texts -------------------------------------------------------------- */

/* Write untrusted text, cut to so many columns, and what follows it, between
 * single quotes. In a
 * tic's label gnuplot takes % for a number's format, so % is doubled there. */
static void put_quoted(FILE *to, const char *text, const char *also,
		       size_t columns, bool is_tic)
{
	char *const plain = out_escape_terminal(text);
	char *const cut = columns >= TITLE_COLUMNS ?
		out_escape_cut(mem_copy(plain), columns, false) :
		out_name_cut(plain, columns);
	char *const whole = mem_alloc(strlen(cut) + strlen(also) + 1);
	char *const quoted = out_escape_gnuplot(strcat(strcpy(whole, cut),
						       also));

	fputc('\'', to);
	for (const char *at = quoted; *at != '\0'; at++) {
		if (is_tic && *at == '%')
			fputc('%', to);
		fputc(*at, to);
	}
	fputc('\'', to);
	mem_free_all(quoted, whole, cut, plain);
}

/* How much of a name there is room for. */
static size_t name_columns(int format)
{
	return format == OUT_PLOT_DUMB ? TERMINAL_NAME : NAME_COLUMNS;
}

/* A text that is no tic's label. */
static void put_text(FILE *to, const char *text, size_t columns)
{
	put_quoted(to, text, "", columns, false);
}

/* ---- the frame ---------------------------------------------------------- */

/* The size in characters of the terminal that stdout is. */
static void put_characters(FILE *to)
{
	struct winsize w = { 0 };
	const bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 &&
				 w.ws_col >= 80 && w.ws_row >= 20;
	const char *const colours = getenv("NO_COLOR");

	fprintf(to, "set terminal dumb noenhanced size %d,%d %s\n",
		is_terminal ? w.ws_col : TERMINAL_WIDTH,
		is_terminal ? w.ws_row - 2 : TERMINAL_HEIGHT,
		is_terminal && (!colours || colours[0] == '\0') ? "ansi256" :
		"mono");
}

/* Sizes are pixels, but those of a PDF are inches; so are sizes of type. */
static void put_terminal(FILE *to, const struct out_plot *p, int format)
{
	static const char *const names[] = {
		[OUT_PLOT_SVG] = "svg noenhanced", [OUT_PLOT_PNG] =
		"pngcairo noenhanced", [OUT_PLOT_PDF] = "pdfcairo noenhanced",
		[OUT_PLOT_SIXEL] = "sixelgd noenhanced"
	};
	char size[64];

	if (format == OUT_PLOT_DUMB) {
		put_characters(to);
		return;
	}
	if (format == OUT_PLOT_PDF)
		snprintf(size, sizeof(size), "%gin,%gin",
			 (double)p->width / 96, (double)p->height / 96);
	else
		snprintf(size, sizeof(size), "%zu,%zu", p->width, p->height);
	fprintf(to, "set terminal %s size %s background rgb '#ffffff' "
		"font 'sans,%d'\n", names[format], size,
		format == OUT_PLOT_SVG ? 13 : 10);
}

static void put_tics(FILE *to, const struct out_axis *a, int format)
{
	/* Numbers need room. */
	const size_t step = format == OUT_PLOT_DUMB && !a->is_name &&
			    a->tic_count > 6 ? 2 : 1;

	fputs(" (", to);
	for (size_t i = 0; i < a->tic_count; i += step) {
		if (i > 0)
			fputs(", ", to);
		put_quoted(to, a->tics[i].text, "", name_columns(format), true);
		fprintf(to, " %.10g", a->tics[i].at);
	}
	fputs(")", to);
}

/* which: "x" or "y". */
static void put_axis(FILE *to, const struct out_axis *a, const char *which,
		     int format)
{
	if (a->label) {
		fprintf(to, "set %slabel noenhanced ", which);
		put_text(to, a->label, TITLE_COLUMNS);
		fputs(" tc rgb '#333333'\n", to);
	}
	if (a->is_log)
		fprintf(to, "set logscale %s\n", which);
	fprintf(to, "set %srange [%.10g:%.10g]\n", which, a->from, a->to);
	if (a->is_name && a->tic_count == 0) {
		fprintf(to, "unset %stics\n", which);
		return;
	}
	if (!a->is_name)
		fprintf(to, "set grid %stics lt 1 lc rgb '#e4e4e4'\n", which);
	fprintf(to, "set %stics nomirror out %s noenhanced tc rgb '#333333'",
		which, a->is_name ? "scale 0" : "");
	if (a->tic_count > 0)
		put_tics(to, a, format);
	fputc('\n', to);
}

/* The title is at the left, so that a long one is cut off at its end only. */
static void put_title(FILE *to, const struct out_plot *p)
{
	fputs("set tmargin 4.2\nset label 1 ", to);
	put_text(to, p->title, TITLE_COLUMNS);
	fputs(" at screen 0.012, graph 1 left offset 0,2.6 noenhanced\n", to);
	if (!p->note)
		return;
	fputs("set label 2 ", to);
	put_text(to, p->note, TITLE_COLUMNS + 20);
	fputs(" at screen 0.012, graph 1 left offset 0,1.2 noenhanced "
	      "tc rgb '#777777'\n", to);
}

static void put_labels(FILE *to, const struct out_plot *p, int format)
{
	for (size_t i = 0; i < p->label_count; i++) {
		fprintf(to, "set label %zu ", i + 3);
		put_text(to, p->labels[i].text, NAME_COLUMNS);
		fprintf(to, " at %.10g,%.10g left offset %s,0 noenhanced "
			"front tc rgb '#555555'\n", p->labels[i].x,
			p->labels[i].y,
			format == OUT_PLOT_DUMB ? "2" : "0.6");
	}
}

/* ---- the data ----------------------------------------------------------- */

/* How many numbers a shape has, and how gnuplot draws it. */
static const struct { int columns; const char *with; } shapes[] = {
	[OUT_BOX] = { 4, "using (($1+$2)/2):(($3+$4)/2):1:2:3:4 "
		      "with boxxyerror fs solid noborder" },
	[OUT_AREA] = { 3, "using 1:2:3 with filledcurves fs solid noborder" },
	[OUT_LINE] = { 2, "using 1:2 with lines lw 2" },
	[OUT_ARROW] = { 4, "using 1:2:($3-$1):($4-$2) with vectors filled "
			"size screen 0.005,20 lw 0.7" },
};

/* Where a line of characters is as high as a bar and the next one would be seen
 * in it, a bar has no height. */
static const char *with(const struct out_plot *p, enum out_shape shape,
			int format)
{
	return shape == OUT_BOX && format == OUT_PLOT_DUMB && p->y.is_name &&
	       p->y.to - p->y.from > (double)TERMINAL_BARS ?
	       "using (($1+$2)/2):(($3+$4)/2):1:2:(($3+$4)/2):(($3+$4)/2) "
	       "with boxxyerror fs solid noborder" : shapes[shape].with;
}

/* Characters show no areas: two points of one are the sides of a box. */
static void put_area_boxes(FILE *to, const struct out_layer *l)
{
	for (size_t k = 0; k + 1 < l->count; k += 2)
		fprintf(to, "%.10g %.10g %.10g %.10g\n", l->rows[k][0],
			l->rows[k + 1][0], l->rows[k][1], l->rows[k][2]);
	fputs("EOD\n", to);
}

static void put_data(FILE *to, const struct out_layer *l, size_t i, int format)
{
	fprintf(to, "$layer%zu << EOD\n", i);
	if (l->shape == OUT_AREA && format == OUT_PLOT_DUMB) {
		put_area_boxes(to, l);
		return;
	}
	for (size_t k = 0; k < l->count; k++)
		for (int c = 0; c < shapes[l->shape].columns; c++)
			fprintf(to, "%.10g%c", l->rows[k][c],
				c + 1 < shapes[l->shape].columns ? ' ' : '\n');
	fputs("EOD\n", to);
}

/* White on what is below it: characters would cover that. */
static bool is_erasing(const struct out_layer *l, int format)
{
	return l->colour == 0xffffff && format == OUT_PLOT_DUMB;
}

/* An empty layer cannot be plotted. A plot of none has axes alone. */
static void put_layers(FILE *to, const struct out_plot *p, int format)
{
	for (size_t i = 0; i < p->layer_count; i++)
		if (p->layers[i].count > 0 &&
		    !is_erasing(&p->layers[i], format))
			put_data(to, &p->layers[i], i, format);
	fputs("plot NaN notitle", to);
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct out_layer *const l = &p->layers[i];
		const enum out_shape shape = l->shape == OUT_AREA &&
			format == OUT_PLOT_DUMB ? OUT_BOX : l->shape;

		if (l->count == 0 || is_erasing(l, format))
			continue;
		fprintf(to, ", \\\n$layer%zu %s lc rgb '#%0*X' ", i,
			with(p, shape, format), l->colour >> 24 ? 8 : 6,
			l->colour);
		fputs(l->title ? "title " : "notitle", to);
		if (l->title)
			put_quoted(to, l->title, l->also ? l->also : "",
				   l->also && format != OUT_PLOT_DUMB ?
				   WITH_FIGURES : name_columns(format), false);
	}
	fputc('\n', to);
}

static void put_script(FILE *to, const struct out_plot *p, int format)
{
	put_terminal(to, p, format);
	put_title(to, p);
	fprintf(to, "set border 3 lc rgb '#999999'\nunset mouse\n"
		"set pointsize %s\n", format == OUT_PLOT_PDF ? "0.35" : "0.7");
	fputs(p->is_long_legend ?
	      "set key outside right top Left reverse noenhanced samplen 1\n" :
	      "set key at screen 0.99, screen 0.985 right top horizontal "
	      "reverse Left noenhanced samplen 1\n", to);
	put_axis(to, &p->x, "x", format);
	put_axis(to, &p->y, "y", format);
	if (format == OUT_PLOT_DUMB)
		fputs("unset grid\n", to);
	put_labels(to, p, format);
	put_layers(to, p, format);
}

/* ---- gnuplot as a child: no shell, no start-up files --------------------- */

/* Bytes of what gnuplot says. */
enum { MESSAGE = 400 };

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
	child->messages = messages[0];
	if (child->pid < 0 || !(child->script = fdopen(script[1], "w")))
		error = errno;
	else if (read(failed[0], &error, sizeof(error)) == 0)
		error = 0;
	close(failed[0]);
	if (error == 0)
		return 0;
	if (child->script)
		fclose(child->script);
	else
		close(script[1]);
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

/* An out_file_fn; ctx is the script. gnuplot writes to the file's descriptor
 * itself. SIGPIPE is ignored meanwhile, because a gnuplot that ends early must
 * not end weft. */
static int draw(FILE *to, void *ctx)
{
	void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
	struct child child = { .pid = -1 };
	int status = start(&child, fileno(to));
	struct stat made;

	if (status == 0) {
		fputs(ctx, child.script);
		status = end(&child);
	}
	signal(SIGPIPE, before);
	if (status == 0 && fstat(fileno(to), &made) == 0 &&
	    S_ISREG(made.st_mode) && made.st_size == 0)
		status = err_add("gnuplot drew nothing");
	return status;
}

/* ---- drawing ------------------------------------------------------------ */

/* An out_file_fn; ctx is the script. */
static int keep_script(FILE *to, void *ctx)
{
	fputs(ctx, to);
	return 0;
}

int out_plot_draw(const struct out_plot *p, const char *file, int format,
		  const char *keep)
{
	struct mem_stream s;
	int status = -1;
	char *script;

	mem_stream_begin(&s);
	put_script(s.to, p, format);
	script = mem_stream_end(&s);
	if (!keep || out_file_write(keep, keep_script, script) == 0)
		status = out_file_write(file, draw, script);
	mem_free(script);
	return status;
}
