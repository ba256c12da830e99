/* measure.c - "measure PROGRAM ARGUMENT...": runs it and prints "seconds MB cpu"
 * to stderr: MB is the most that it and its children held together.
 * "measure -cpu NAME...": CPU seconds used so far by all processes whose names
 * begin so.
 * SPDX-License-Identifier: MIT */
#include "tests/bench/bench.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of /proc/PID/stat. */
struct stat_line {
	char name[64];
	int group;
	unsigned long ticks;
	long pages;
};

static int read_stat(const char *pid, struct stat_line *s)
{
	char path[300], text[1024];

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	FILE *f = fopen(path, "r");

	if (!f)
		return 0;
	const size_t n = fread(text, 1, sizeof(text) - 1, f);

	fclose(f);
	text[n] = '\0';
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long user, system;

	if (!open || !close)
		return 0;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)(close - open - 1),
		 open + 1);
	if (sscanf(close + 2, "%*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u "
		   "%lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld", &s->group,
		   &user, &system, &s->pages) != 4)
		return 0;
	s->ticks = user + system;
	return 1;
}

static long each(int group, int count, char **names, unsigned long *ticks)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	struct stat_line s;
	long pages = 0;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    !read_stat(e->d_name, &s))
			continue;
		if (s.group == group)
			pages += s.pages;
		for (int i = 0; i < count; i++)
			if (strncmp(s.name, names[i], strlen(names[i])) == 0)
				*ticks += s.ticks;
	}
	if (dir)
		closedir(dir);
	return pages;
}

int main(int argc, char **argv)
{
	unsigned long ticks = 0;
	long most = 0;
	int status = 0;

	if (argc > 2 && strcmp(argv[1], "-cpu") == 0) {
		each(-1, argc - 2, argv + 2, &ticks);
		printf("%.2f\n", (double)ticks / (double)sysconf(_SC_CLK_TCK));
		return 0;
	}
	if (argc < 2)
		return 1;
	const double start = seconds();
	const pid_t pid = fork();

	if (pid == 0) {
		setpgid(0, 0);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		const long pages = each(pid, 0, NULL, &ticks);

		if (pages > most)
			most = pages;
		usleep(20000);
	}
	const double took = seconds() - start;
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	fprintf(stderr, "%.3f %.1f %.3f\n", took,
		(double)most * (double)sysconf(_SC_PAGESIZE) / 1e6,
		(double)r.ru_utime.tv_sec + (double)r.ru_stime.tv_sec +
		(double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
