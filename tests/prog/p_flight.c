/* p_flight.c - a server that serves short requests, as many as it is told, and
 * then: "p_flight ASK N" asks for a snapshot, and says what the output folder
 * and the recorder's memory held; "GO N" asks, and goes on until it is written,
 * and counts its calls in the file PROGRESS; "SIGNAL N" sends SIGUSR1 to weft
 * record, "TWICE N" does it twice; "CRASH N" dies of SIGSEGV; "CHILD N S": a
 * child of it dies of signal S, and it waits for the end of its input, as "WAIT
 * N" does; "SLOW N I": request I of them takes 500 ms. Counts what it calls
 * between its marks. Only to be recorded.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#pragma weak weft_mark
#pragma weak weft_snapshot

#define SILENT __attribute__((no_instrument_function))

static volatile unsigned long sum, calls;

void tiny(unsigned long x)
{
	calls++;
	sum = sum + x;
}

void backend(int ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	tiny(1);
	nanosleep(&time, NULL);
}

void handler(int ms)
{
	for (unsigned long i = 0; i < 100; i++)
		tiny(i);
	if (ms > 0)
		backend(ms);
}

void request(int ms)
{
	handler(ms);
}

/* Request slow takes 500 ms. */
void serve(unsigned n, unsigned slow)
{
	for (unsigned i = 0; i < n; i++)
		request(i == slow ? 500 : 0);
}

void crash(void)
{
	for (unsigned long i = 0; i < 77; i++)
		tiny(i);
	raise(SIGSEGV);
}

/* All that lies in the folder of the trace, as the test says. */
SILENT static unsigned count_entries(void)
{
	DIR *const folder = opendir(getenv("FOLDER"));
	unsigned n = 0;

	for (const struct dirent *e; folder && (e = readdir(folder)); )
		n += e->d_name[0] != '.';
	if (!folder)
		return 999;
	closedir(folder);
	return n;
}

/* The N-th. */
SILENT static void snapshot_by_signal(unsigned n)
{
	kill(getppid(), SIGUSR1);
	while (count_entries() < n)
		usleep(1000);
}

/* What the kernel says of a process: the number behind a word; negative: no
 * such process. */
SILENT static long ask_kernel(long pid, const char *word)
{
	char path[64], line[256];
	long number = -1;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	FILE *const file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, word, strlen(word)) == 0)
			number = atol(line + strlen(word));
	if (file)
		fclose(file);
	return number;
}

/* The memory of our parent's other child, the recorder, without the pool.
 * Chunks that wait to be sent are soon gone: it comes down to most, or never
 * does. */
SILENT static long recorder_kb(long most)
{
	char path[64];
	long kb = -1, pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		 (int)getppid(), (int)getppid());
	for (int i = 0; i < 100 && (i == 0 || kb > most); i++) {
		FILE *const children = fopen(path, "r");

		usleep(i > 0 ? 100000 : 0);
		while (children && fscanf(children, "%ld", &pid) == 1)
			if (pid != getpid())
				kb = ask_kernel(pid, "RssAnon:");
		if (children)
			fclose(children);
	}
	return kb;
}

/* Of the calls from now on, another process knows. */
SILENT static void go_on(void)
{
	const char *const said = getenv("SAID");
	const int fd = open(getenv("PROGRESS"), O_RDWR | O_CREAT, 0600);
	volatile unsigned long *n;

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		exit(1);
	n = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	weft_snapshot("slow");
	for (*n = 0; *n < 10000000 && access(said, F_OK) != 0; *n += 1000)
		for (unsigned long i = 0; i < 1000; i++)
			tiny(i);
}

SILENT static void between_marks(unsigned requests)
{
	weft_mark("from");
	calls = 0;
	serve(requests, requests);
	printf("calls %lu\n", calls);
	weft_mark("to");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *const what = argv[1];
	const unsigned requests = (unsigned)atoi(argv[2]);

	serve(requests, strcmp(what, "SLOW") == 0 ?
	      (unsigned)atoi(argv[3]) : requests);
	if (strcmp(what, "ASK") == 0) {
		const long kb = recorder_kb(1L << 40);

		serve(9 * requests, 9 * requests);
		printf("kb %ld\nmore %ld\nentries %u\n", kb,
		       recorder_kb(kb + 4000) - kb, count_entries());
	}
	const int has_child = strcmp(what, "CHILD") == 0;
	const int is_parent = has_child && fork() > 0;

	if (!is_parent)
		between_marks(100);
	if (has_child && !is_parent)
		raise(atoi(argv[3]));
	if (strcmp(what, "ASK") == 0)
		printf("asked %d\n", weft_snapshot("hello\tthere"));
	if (strcmp(what, "GO") == 0)
		go_on();
	if (strcmp(what, "SIGNAL") == 0)
		snapshot_by_signal(1);
	if (strcmp(what, "TWICE") == 0) {
		snapshot_by_signal(1);
		serve(requests, requests);
		snapshot_by_signal(2);
	}
	if (strcmp(what, "CRASH") == 0)
		crash();
	while ((is_parent || strcmp(what, "WAIT") == 0) && getchar() != EOF)
		;
	/* What comes later is in no snapshot. */
	serve(10, 10);
	return 0;
}
