/* target.c - finding the process, and what speaks against recording it. When in
 * doubt it is refused: the program comes first.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/target.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/proc.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/process/process_watch.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LISTED = 8 };

/* ---- by number or name ---- */

/* The kernel's short name, which a program may change; or that by which it was
 * started. */
static bool has_name(pid_t pid, const char *name)
{
	char text[PATH_MAX];

	if (proc_line(text, sizeof(text), "/proc/%d/comm", (int)pid) &&
	    strcmp(text, name) == 0)
		return true;
	if (!proc_line(text, sizeof(text), "/proc/%d/cmdline", (int)pid))
		return false;
	const char *const slash = strrchr(text, '/');

	return strcmp(slash ? slash + 1 : text, name) == 0;
}

/* Returns how many processes have that name; the first ones are in pid. */
static int list_named(const char *name, pid_t pid[MOST_LISTED])
{
	DIR *const proc = opendir("/proc");
	int n = 0;

	for (const struct dirent *e; proc && (e = readdir(proc)); ) {
		const pid_t p = atoi(e->d_name);

		if (p <= 0 || p == getpid() || p == getppid() ||
		    !has_name(p, name))
			continue;
		if (n < MOST_LISTED)
			pid[n] = p;
		n++;
	}
	if (proc)
		closedir(proc);
	return n;
}

/* Prints why and returns 0 if it is not one process. */
static pid_t find_named(const char *name)
{
	pid_t pid[MOST_LISTED];
	const int n = list_named(name, pid);
	char text[MOST_LISTED * 12] = "";
	size_t at = 0;

	if (n == 1)
		return pid[0];
	if (n == 0) {
		message("no process is named \"%s\"", name);
		return 0;
	}
	for (int i = 0; i < n && i < MOST_LISTED; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %d",
				       (int)pid[i]);
	message("%d processes are named \"%s\":%s%s; give the number of one "
		"of them", n, name, text, n > MOST_LISTED ? " ..." : "");
	return 0;
}

/* Prints why and returns 0 if there is none. A thread's number stands for its
 * process. */
static pid_t find_pid(const char *text)
{
	char *end;
	const long n = strtol(text, &end, 10);

	if (*end || !isdigit((unsigned char)text[0]))
		return find_named(text);
	const long process = n <= 0 || n > INT_MAX ? -1 :
			     proc_status((pid_t)n, "Tgid:");

	if (process > 0)
		return (pid_t)process;
	message("there is no process %s", text);
	return 0;
}

/* ---- what speaks against it ---- */

static bool same_namespace(pid_t pid, const char *which)
{
	char path[64], ours[64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, which);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", which);
	return stat(path, &a) != 0 || stat(ours, &b) != 0 ||
	       (a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* Why we may not open its memory. */
static const char *why_forbidden(const struct target *t)
{
	char text[16];

	if (t->uid != geteuid() && geteuid() != 0)
		return "it is another user's: record as that user, or as root";
	proc_line(text, sizeof(text), "/proc/sys/kernel/yama/ptrace_scope");
	if (text[0] >= '1')
		return "this system lets a process look at its own children "
		       "only (kernel.yama.ptrace_scope): record as root, or "
		       "set it to 0";
	return "the system forbids it: in a container, it must run with "
	       "CAP_SYS_PTRACE; a program with rights of its own (setuid, file "
	       "capabilities) needs root";
}

bool target_is_confined(pid_t tid)
{
	const long ours = proc_status(getpid(), "Seccomp:");
	const long filters = proc_status(getpid(), "Seccomp_filters:");

	return proc_status(tid, "Seccomp:") > ours ||
	       proc_status(tid, "Seccomp:") == 1 ||
	       proc_status(tid, "Seccomp_filters:") > filters;
}

bool target_has_shadow_stack(pid_t tid)
{
	char line[256];

	return proc_status_line(tid, "x86_Thread_features:", line,
				  sizeof(line)) && strstr(line, "shstk");
}

/* To join a recording takes some system calls. */
static bool is_confined(pid_t pid)
{
	char path[64];
	bool is = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *const threads = opendir(path);

	for (const struct dirent *e; threads && (e = readdir(threads)); ) {
		const pid_t p = atoi(e->d_name);

		is |= p > 0 && target_is_confined(p);
	}
	if (threads)
		closedir(threads);
	return is;
}

/* NULL: nothing does. A file that cannot be read says nothing: to open the
 * process's memory will say why. */
static const char *why_not(const struct target *t)
{
	const pid_t pid = t->remote.pid;
	const char state = process_state(pid);
	struct elf_file file;
	char path[64];

	if (pid == getpid() || pid == getppid())
		return "that is weft itself";
	if (state == 'Z' || state == 'X')
		return "it has ended";
	if (state == 'T' || state == 't')
		return "it is stopped; let it go on first (kill -CONT)";
	if (proc_status(pid, "TracerPid:") > 0)
		return "a debugger or another tracer holds it";
	if (proc_status(pid, "VmSize:") < 0)
		return "it is a thread of the kernel";
	if (!same_namespace(pid, "pid") || !same_namespace(pid, "mnt"))
		return "it is in another PID namespace, or sees other files (a "
		       "container): run weft record in there";
	if (is_confined(pid))
		return "it has given up system calls (seccomp), and might be "
		       "killed for those that joining a recording takes: "
		       "record it from its start";
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (elf_file_read(path, &file) != 0)
		return NULL;
	if (file.is_foreign)
		return "it is a 32-bit program, or one for another machine";
	return !file.is_static ? NULL :
	       "it is linked statically, so that no library can be loaded into "
	       "it: link it dynamically";
}

static void read_identity(struct target *t)
{
	char path[64];
	struct stat st = { .st_uid = 0 };

	snprintf(path, sizeof(path), "/proc/%d", (int)t->remote.pid);
	if (stat(path, &st) == 0) {
		t->uid = st.st_uid;
		t->gid = st.st_gid;
	}
	proc_line(t->name, sizeof(t->name), "/proc/%d/comm",
		   (int)t->remote.pid);
	message_clean(t->name);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)t->remote.pid);
	const ssize_t n = readlink(path, t->exe, sizeof(t->exe) - 1);

	t->exe[n > 0 ? n : 0] = '\0';
}

int target_find(struct target *t, const char *text)
{
	const char *why;

	memset(t, 0, sizeof(*t));
	t->remote.mem = -1;
	t->remote.pid = find_pid(text);
	if (t->remote.pid == 0)
		return -1;
	read_identity(t);
	why = why_not(t);
	if (!why && remote_open(&t->remote, t->remote.pid) != 0)
		why = why_forbidden(t);
	if (why)
		message("cannot attach to process %d (%s): %s",
			(int)t->remote.pid, t->name, why);
	return why ? -1 : 0;
}
