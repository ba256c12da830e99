/* program.c - starts the program and passes signals on. It stays in our process
 * group and keeps our terminal: Ctrl-C is between it and the user.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/program.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/process/launcher.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HIGH_FD = 1000,            /* programs close or poll the low ones */
	CANNOT_EXECUTE = 126,
	NOT_FOUND = 127,
};

/* ---- weft's own files ---- */

/* PREFIX/libexec/weft/weft-record -> PREFIX */
static int find_prefix(char *out, size_t room)
{
	const ssize_t n = readlink("/proc/self/exe", out, room - 1);

	if (n <= 0)
		return -1;
	out[n] = '\0';
	for (int up = 0; up < 3; up++) {
		char *const slash = strrchr(out, '/');

		if (!slash)
			return -1;
		*slash = '\0';
	}
	return 0;
}

/* Make a link to the library: the loader takes spaces and colons in a path for
 * separators. */
static int link_to(struct installation *in, const char *library, char *out,
		   size_t room)
{
	snprintf(in->private, sizeof(in->private), "/tmp/weft-XXXXXX");
	if (!mkdtemp(in->private)) {
		in->private[0] = '\0';
		return -1;
	}
	snprintf(out, room, "%s/libweft.so", in->private);
	return symlink(library, out);
}

int installation_find(struct installation *in)
{
	char prefix[PATH_MAX - 64], link[64];
	char *const library = in->library;
	const char *const others = getenv("LD_PRELOAD"), *used = library;

	memset(in, 0, sizeof(*in));
	if (find_prefix(prefix, sizeof(prefix)) != 0) {
		message("cannot find out where weft is installed: %s",
			strerror(errno));
		return -1;
	}
	snprintf(library, sizeof(in->library), "%s/lib/libweft.so", prefix);
	snprintf(in->provider, sizeof(in->provider),
		 "%s/lib/weft/weft-provider.so", prefix);
	snprintf(in->modules, sizeof(in->modules), "%s/lib/lua", prefix);
	if (access(library, R_OK) != 0) {
		message("cannot read \"%s\": %s", library, strerror(errno));
		return -1;
	}
	if (strpbrk(library, " \t\n:")) {
		if (link_to(in, library, link, sizeof(link)) != 0) {
			message("cannot make a link to \"%s\" in /tmp: %s",
				library, strerror(errno));
			return -1;
		}
		used = link;
	}
	snprintf(in->preload, sizeof(in->preload), "%s%s%s", used,
		 others && *others ? ":" : "", others ? others : "");
	return 0;
}

void installation_clean(struct installation *in)
{
	char path[64];

	if (in->private[0] == '\0')
		return;
	snprintf(path, sizeof(path), "%s/libweft.so", in->private);
	unlink(path);
	rmdir(in->private);
	in->private[0] = '\0';
}

/* ---- the environment ---- */

/* Write any bytes as a Lua string. */
static void quote(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == '"' || c == '\\' || c == 127)
			fprintf(to, "\\%03d", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

/* Write what the interpreter does with the value: run the file whose name
 * follows '@', or the text itself. */
static void put_before(FILE *to, const char *before, const char *variable)
{
	if (before[0] == '@') {
		fputs("return dofile(", to);
		quote(to, before + 1);
		fputs(")", to);
	} else {
		fputs("local f, e = (loadstring or load)(", to);
		quote(to, before);
		fprintf(to, ", \"=%s\") if not f then error(e, 0) end "
			"return f()", variable);
	}
}

/* The value of LUA_INIT, or of that variable with a version: load weft, then do
 * what the value before (NULL: none) says. The caller frees it. NULL: no
 * memory. */
static char *lua_init(const char *modules, const char *variable,
		      const char *before)
{
	char *text = NULL;
	size_t size;
	FILE *const to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	/* Without require, the program's package paths stay as they are; and
	 * package.loaded does, until the script asks for weft. */
	fputs("do local p = package local f = p and p.loadlib and p.loadlib(",
	      to);
	quote(to, modules);
	fputs(" .. \"/\" .. _VERSION:match(\"%d+%.%d+\") .. \"/weft.so\", "
	      "\"luaopen_weft\") if f then f(\"weft\") p.preload.weft = f "
	      "end end ", to);
	if (before && *before)
		put_before(to, before, variable);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* An interpreter prefers a variable with its version to the one without. */
static void set_lua_init(const char *modules)
{
	static const char *const names[] = {
		"LUA_INIT_5_2", "LUA_INIT_5_3", "LUA_INIT_5_4", "LUA_INIT_5_5",
		"LUA_INIT",
	};
	const size_t count = sizeof(names) / sizeof(names[0]);

	for (size_t i = 0; i < count; i++) {
		const char *const before = getenv(names[i]);
		char *text;

		if (!before && i < count - 1)
			continue;
		text = lua_init(modules, names[i], before);
		if (text)
			setenv(names[i], text, 1);
		free(text);
	}
}

/* By default it ends a program in which another library comes before it. */
static void let_asan_be_second(void)
{
	const char *const before = getenv("ASAN_OPTIONS");
	char *text;

	if (before && strstr(before, "verify_asan_link_order"))
		return;
	if (asprintf(&text, "%s%sverify_asan_link_order=0",
		     before ? before : "", before && *before ? ":" : "") < 0)
		return;
	setenv("ASAN_OPTIONS", text, 1);
	free(text);
}

/* A descriptor of the pool that survives exec. The pool is opened again: the
 * lock that says "the recorder lives" belongs to the recorder's own opening. */
static int open_pool(const struct pool_owner *owner)
{
	struct rlimit limit;
	const int low = open(owner->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int from = HIGH_FD;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur <= HIGH_FD)
		from = limit.rlim_cur > 16 ? (int)limit.rlim_cur - 8 : 3;
	const int high = fcntl(low, F_DUPFD, from);

	return high >= 0 ? high : fcntl(low, F_DUPFD, 3);
}

/* Set it in this process, which is about to become the program. */
static void set_environment(const struct pool_owner *owner,
			    const struct child_environment *e)
{
	char text[160];

	snprintf(text, sizeof(text), "%d:%" PRIu64 ":%" PRIu64 ":%s",
		 open_pool(owner), (uint64_t)owner->device,
		 (uint64_t)owner->inode, owner->path);
	setenv(POOL_ENV, text, 1);
	if (e->preload)
		setenv("LD_PRELOAD", e->preload, 1);
	if (e->preload && e->is_asan)
		let_asan_be_second();
	if (e->modules)
		set_lua_init(e->modules);
}

/* ---- start ---- */

/* A file that would be too large is an error like others. */
static void raise_file_size(struct program *p)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &p->file_size);
	limit = p->file_size;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	sigaction(SIGXFSZ, &ignore, &p->file_signal);
}

/* Never below the program's: without leave, all stays as it is. */
static void raise_priority(struct program *p)
{
	struct rlimit limit;

	p->nice = getpriority(PRIO_PROCESS, 0);
	if (setpriority(PRIO_PROCESS, 0, -20) == 0 ||
	    getrlimit(RLIMIT_NICE, &limit) != 0)
		return;
	const int least = 20 - (int)(limit.rlim_cur > 40 ? 40 :
				     limit.rlim_cur);

	if (least < p->nice)
		setpriority(PRIO_PROCESS, 0, least);
}

int program_take_signals(struct program *p)
{
	static const int ours[] = { SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT,
				    SIGUSR1 };
	/* Where it is ignored, nobody can wait for a child. */
	const struct sigaction as_usual = { .sa_handler = SIG_DFL };
	sigset_t set;

	memset(p, 0, sizeof(*p));
	p->go = p->failed = -1;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		sigaddset(&set, ours[i]);
	if (sigprocmask(SIG_BLOCK, &set, &p->mask) != 0)
		return -1;
	sigaction(SIGCHLD, &as_usual, &p->child_signal);
	p->signals = launcher_split(&set);
	if (p->signals < 0) {
		message("cannot fork: %s", strerror(errno));
		return -1;
	}
	raise_file_size(p);
	raise_priority(p);
	return 0;
}

/* In the child: wait for the order, then execute the program. */
__attribute__((noreturn))
static void become(const struct program *p, char *const argv[], int go,
		   int failed)
{
	char order;
	ssize_t n;

	do {
		n = read(go, &order, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(NOT_FOUND);
	setpriority(PRIO_PROCESS, 0, p->nice);
	setrlimit(RLIMIT_FSIZE, &p->file_size);
	sigaction(SIGXFSZ, &p->file_signal, NULL);
	sigaction(SIGCHLD, &p->child_signal, NULL);
	sigprocmask(SIG_SETMASK, &p->mask, NULL);
	execvp(argv[0], argv);
	const int why = errno;

	if (write(failed, &why, sizeof(why)) < 0)
		_exit(NOT_FOUND);
	_exit(why == ENOENT ? NOT_FOUND : CANNOT_EXECUTE);
}

int program_fork(struct program *p, char *const argv[],
		 const struct pool_owner *owner,
		 const struct child_environment *environment)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) {
		message("cannot make a pipe: %s", strerror(errno));
		return -1;
	}
	p->pid = launcher_fork(p->signals);
	if (p->pid == 0) {
		close(go[1]);
		close(failed[0]);
		if (owner)
			set_environment(owner, environment);
		become(p, argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	p->go = go[1];
	p->failed = failed[0];
	if (p->pid < 0) {
		message("cannot fork: %s", strerror(errno));
		return -1;
	}
	return 0;
}

void program_leave(void)
{
	launcher_leave();
}

void program_leave_alone(struct program *p)
{
	p->is_not_ours = p->has_ended = true;
	launcher_leave();
}

/* The child goes on, or ends, when these are closed. */
static void close_pipes(struct program *p)
{
	close(p->go);
	close(p->failed);
	p->go = p->failed = -1;
}

int program_go(struct program *p, const char *name, int *status)
{
	int why = 0;
	ssize_t n;

	assert(p->go >= 0 && p->failed >= 0);
	if (write(p->go, "g", 1) != 1)
		message("cannot start \"%s\": %s", name, strerror(errno));
	do {
		n = read(p->failed, &why, sizeof(why));
	} while (n < 0 && errno == EINTR);
	close_pipes(p);
	if (n <= 0)
		return 0;
	message("cannot run \"%s\": %s", name, strerror(why));
	*status = why == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
	return -1;
}

void program_cancel(struct program *p)
{
	if (p->go >= 0)
		close_pipes(p);
}

/* ---- signals and the end ---- */

void program_handle_signals(struct program *p)
{
	struct launcher_news news;

	while (launcher_read(p->signals, &news)) {
		if (news.signal == SIGCHLD) {
			p->status = news.status;
			p->has_ended = true;
		} else if (news.signal == SIGUSR1) {
			p->wants_snapshot = true;
		} else if (p->has_ended || p->is_not_ours) {
			p->wants_finish = true;
		} else if (news.signal == SIGTERM || news.signal == SIGHUP) {
			kill(p->pid, news.signal);
		}
		/* The program got the others from the terminal itself. */
	}
}

int program_exit_like(const struct program *p)
{
	return p->has_ended ? launcher_end_like(p->status) : 0;
}
