/* load.c - which functions of the program are called to load the library, and
 * when it has loaded others.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/load.h"
#include "tracepoints/mailbox.h"
#include "tracer/recorder/base/turn.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/message.h"

#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK_MS = 50, LONGEST_MS = 1600, MODULES_MAX = 10000,
       LATER_TIMES = 100, LATER_MS = 10 };

/* A remote_fits_fn: has it native hooks, or is it a library that has Lua? */
static bool has_calls(const struct remote *r, const char *path,
		      const void *program)
{
	char there[PATH_MAX + 64];
	struct elf_file file;

	snprintf(there, sizeof(there), "/proc/%d/root%s", (int)r->pid, path);
	return path[0] == '/' && elf_file_read(there, &file) == 0 &&
	       (file.wants_hooks ||
		(file.has_lua && strcmp(path, program) != 0));
}

static const char *why_not(const struct remote *r, const char *program)
{
	struct remote_module m;

	return remote_find_if(r, has_calls, program, &m) ? NULL :
	       "nothing in it calls what weft records: it was not compiled "
	       "with -finstrument-functions, and uses no shared Lua library "
	       "(one that is linked in is recorded from the program's start); "
	       "--waits and --heap record any program";
}

static const char cannot[] =
	"it runs without libweft.so, which can be loaded into a program on "
	"x86-64 with glibc 2.35 or later only, whose files are still those "
	"that it was started with: start it with LD_PRELOAD=libweft.so";

const char *load_begin(struct load *l, const struct remote *r,
		       const char *program, bool of_libc)
{
	struct remote_module libc, loader;

	memset(l, 0, sizeof(*l));
	l->remote = r;
	if (!remote_find(r, "libc.so.6", &libc) ||
	    !remote_find(r, "ld-linux", &loader) ||
	    !sleeper_find_libc(r, &l->libc))
		return cannot;
	l->open = remote_symbol(r, &libc, "dlopen");
	l->explain = remote_symbol(r, &libc, "dlerror");
	l->call.map = remote_symbol(r, &libc, "mmap");
	l->call.protect = remote_symbol(r, &libc, "mprotect");
	l->call.unmap = remote_symbol(r, &libc, "munmap");
	l->call.errno_at = remote_symbol(r, &libc, "__errno_location");
	l->modules = remote_symbol(r, &loader, "_r_debug");
	if (!l->open || !l->explain || !l->call.map || !l->call.protect ||
	    !l->call.unmap || !l->call.errno_at || !l->modules)
		return cannot;
	return of_libc ? NULL : why_not(r, program);
}

/* The thread may wait for room in the pool, or for one that does. */
static const char *call(struct load *l, bool waits)
{
	turn_lend();
	const char *const why = stopped_do(l->remote, &l->libc, &l->call,
					   waits);

	turn_take();
	return why;
}

/* Does it mean the same file to the program, which may have another root? */
static bool is_same_file(const struct remote *r, const char *path)
{
	char theirs[PATH_MAX + 64];
	struct stat a, b;

	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", (int)r->pid, path);
	return stat(path, &a) == 0 && stat(theirs, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

const char *load_library(struct load *l, const char *path)
{
	const char *const name = strrchr(path, '/');
	char late[PATH_MAX + 8];
	const char *why;

	snprintf(late, sizeof(late), "%.*s" ATTACH_LATE "%s",
		 name ? (int)(name - path) : 0, path,
		 name ? name + 1 : path);
	if (!is_same_file(l->remote, path)) {
		snprintf(l->why, sizeof(l->why), "it does not see \"%s\" (it "
			 "has another root directory)", path);
		return l->why;
	}
	l->call.function = l->open;
	l->call.text = late;
	/* With RTLD_GLOBAL, the loader would bind later plugins to it. */
	l->call.b = RTLD_NOW | RTLD_LOCAL;
	l->call.explain = l->explain;
	why = call(l, true);
	l->call.explain = 0;
	l->call.text = NULL;
	l->call.b = 0;
	if (why || l->call.result != 0)
		return why;
	snprintf(l->why, sizeof(l->why), "it cannot load libweft.so: %s",
		 l->call.why);
	return l->why;
}

/* ---- its modules ---- */

/* Another number if a module was loaded or unloaded; 0: it is loading one. The
 * list may be changed while it is read. */
static uint64_t look_at_modules(const struct load *l)
{
	struct r_debug d;
	struct link_map m;
	uint64_t sum = 1;

	if (!remote_read(l->remote, l->modules, &d, sizeof(d)) ||
	    d.r_state != RT_CONSISTENT)
		return 0;
	for (int i = 0; d.r_map && i < MODULES_MAX; i++) {
		if (!remote_read(l->remote, (uint64_t)d.r_map, &m, sizeof(m)))
			return 0;
		sum = (sum ^ (uint64_t)d.r_map ^ (uint64_t)m.l_ld) *
		      UINT64_C(0x9e3779b97f4a7c15);
		d.r_map = m.l_next;
	}
	return sum;
}

static const char unloading[] =
	"a thread of it is unloading a library, and does not finish";
static const char full[] = "it has too many modules";

/* How many links are led now is in l->call.result. */
static const char *lead(struct load *l, bool waits)
{
	const uint64_t seen = look_at_modules(l);
	const char *why;

	l->call.function = l->lead;
	why = call(l, waits);
	if (why)
		return why;
	if ((long)l->call.result == ATTACH_LEAD_LATER)
		return unloading;
	l->seen = seen;
	return (long)l->call.result == ATTACH_LEAD_FULL ? full : NULL;
}

const char *load_lead(struct load *l, const struct remote_module *weft)
{
	l->lead = remote_symbol(l->remote, weft, ATTACH_LEAD_SYMBOL);
	if (!l->lead)
		return "its libweft.so is of another version";
	l->pause_ms = LOOK_MS;
	const char *why = lead(l, true);

	for (int i = 1; why == unloading && i < LATER_TIMES; i++) {
		poll(NULL, 0, LATER_MS);
		why = lead(l, true);
	}
	return why || l->call.result != 0 ? why :
	       "it defines the hooks, or Lua's functions, itself";
}

void load_poll(struct load *l, uint64_t now_ms)
{
	if (l->lead == 0 || now_ms < l->next_ms)
		return;
	const uint64_t now = look_at_modules(l);
	const char *const why = now != 0 && now != l->seen ?
				lead(l, false) : NULL;

	l->pause_ms = !why ? LOOK_MS :
		      l->pause_ms < LONGEST_MS ? l->pause_ms * 2 : LONGEST_MS;
	l->next_ms = now_ms + l->pause_ms;
	if (!why || l->told || (why != full && l->pause_ms < LONGEST_MS))
		return;
	l->told = true;
	message("calls in a library that process %d has opened since are not "
		"recorded: %s", (int)l->remote->pid, why);
}
