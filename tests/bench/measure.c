/* measure.c - "measure PROGRAM ARGUMENT...": runs it and prints "seconds MB
 * cpu" to stderr: MB is the most that it and its children held together, pages
 * that they share counted for each.
 * SPDX-License-Identifier: MIT */
#include "tests/bench/bench.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Pages held by a process of that group. */
static long pages_of(const char *pid, int group)
{
	char path[300], text[1024];
	int its_group = 0;
	long pages = 0;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	FILE *f = fopen(path, "r");

	if (!f)
		return 0;
	const size_t n = fread(text, 1, sizeof(text) - 1, f);

	fclose(f);
	text[n] = '\0';
	const char *const after = strrchr(text, ')');

	if (!after || sscanf(after + 2, "%*c %*d %d %*d %*d %*d %*u %*u %*u "
			     "%*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u "
			     "%ld", &its_group, &pages) != 2)
		return 0;
	return its_group == group ? pages : 0;
}

static long all_pages(int group)
{
	DIR *const dir = opendir("/proc");
	struct dirent *e;
	long pages = 0;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			pages += pages_of(e->d_name, group);
	if (dir)
		closedir(dir);
	return pages;
}

int main(int argc, char **argv)
{
	long most = 0;
	int status = 0;

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
		const long pages = all_pages(pid);

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
