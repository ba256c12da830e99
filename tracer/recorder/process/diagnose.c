/* diagnose.c - what a new user meets in the first hour: why is there nothing to
 * see? The answers come from the programs' files and from what was recorded.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/diagnose.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- programs that were recorded ---- */

static uint32_t find_seen(const struct seen_programs *seen, const char *path)
{
	uint32_t i = 0;

	while (i < seen->n && strcmp(seen->path[i], path) != 0)
		i++;
	return i;
}

void seen_programs_note(struct seen_programs *seen,
			const struct pool_process *process)
{
	char path[POOL_PATH_MAX];
	uint32_t i;

	/* The program can write anything to the pool. */
	memcpy(path, process->path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	i = find_seen(seen, path);
	if (path[0] == '/' && i == seen->n && i < SEEN_PROGRAMS_MAX)
		memcpy(seen->path[seen->n++], path, sizeof(path));
}

/* ---- files that cannot be recorded ---- */

/* Read the file at *path. If it is a script, its interpreter is recorded: *path
 * becomes that, in room. */
static int read_program(const char **path, struct elf_file *file, char *room)
{
	for (int depth = 0; depth < 4; depth++) {
		if (elf_file_read(*path, file) != 0)
			return -1;
		if (!file->is_script)
			return 0;
		snprintf(room, PATH_MAX, "%s", file->interpreter);
		*path = room;
	}
	return -1;
}

static bool is_musl(const struct elf_file *file)
{
	return strstr(file->interpreter, "ld-musl") != NULL;
}

/* Why the loader does not load libweft.so into it. NULL: it does. */
static const char *obstacle(const struct elf_file *file)
{
	if (file->is_foreign)
		return "is for another machine or word size than weft: it "
		       "cannot be recorded";
	if (file->is_static)
		return "is linked statically, so nothing can be preloaded "
		       "into it: link it dynamically";
	if (is_musl(file))
		return "runs on musl, but libweft.so is built for another C "
		       "library: build both for the same one";
	if (file->is_privileged)
		return "is set-user-id or has file capabilities, so the "
		       "loader drops preloaded libraries: run it as its "
		       "owner, or record a copy without them";
	return NULL;
}

enum diagnose_outlook diagnose_before(const char *path)
{
	char room[PATH_MAX];
	struct elf_file file;

	if (read_program(&path, &file, room) != 0 || !obstacle(&file))
		return OUTLOOK_GOOD;
	message("\"%s\" %s", path, obstacle(&file));
	/* glibc's loader warns and goes on; musl's gives up. */
	return is_musl(&file) ? OUTLOOK_NO_PRELOAD : OUTLOOK_NONE;
}

/* Why a program may be without libweft.so, or without the pool. */
#define CLEARED                                                                \
	"LD_PRELOAD and WEFT_POOL were taken from its environment (if by "     \
	"env -i or sudo, start weft record from it, as in  sudo weft record "  \
	"-- ... ), or it cannot reach the pool (chroot, another user), or "    \
	"has no room for it (ulimit -v), or its libweft.so is of another "     \
	"version of weft"

void diagnose_unrecorded(pid_t pid, const char *program)
{
	struct elf_file file;
	const char *const why = elf_file_read(program, &file) == 0 ?
				obstacle(&file) : NULL;

	message_trouble("process %d now runs \"%s\", which is not recorded",
			(int)pid, program);
	if (why)
		message("\"%s\" %s", program, why);
	else
		message(CLEARED);
}

/* ---- Lua that weft cannot see ---- */

/* An error message of the virtual machine, from 5.1 on and in LuaJIT: symbols
 * may have been stripped. */
static const char mark_lua[] = "attempt to compare two %s values";

static bool has_own_lua(const char *path, const struct elf_file *file)
{
	return file->is_elf && (file->has_lua ||
				elf_file_contains(path, mark_lua));
}

/* No state was seen: name a program that has a Lua of its own, the one at path
 * or one that it started. False: there is none. */
static bool explain_lua(const char *path, const struct elf_file *file,
			const struct diagnose_facts *facts)
{
	const struct seen_programs *const seen = facts->seen;
	bool found = has_own_lua(path, file);

	for (uint32_t i = 0; !found && i < seen->n; i++) {
		struct elf_file other;

		/* A file that is gone by now explains nothing. */
		path = seen->path[i];
		found = elf_file_read(path, &other) == 0 &&
			has_own_lua(path, &other);
	}
	if (found)
		message("no Lua state was seen in \"%s\", which has a Lua of "
			"its own linked in: for a stock interpreter, use  "
			"weft record --lua-init -- ... ; else put  "
			"require \"weft\"  into its first script, if that can "
			"load C modules, or link it with  "
			"$(pkg-config --libs weft-lua-static), or call "
			"weft_lua_attach(L) in it while it is recorded", path);
	return found;
}

/* ---- the whole recording ---- */

/* Whether an argument of the program is a program that should have been
 * recorded, as in "env -i prog". Tells the user of the first. */
static bool explain_argument(char *const *argv)
{
	char path[PATH_MAX];
	struct elf_file file;

	for (int i = 1; argv[i] && i < 32; i++) {
		if (!elf_file_find_program(argv[i], path) ||
		    elf_file_read(path, &file) != 0 ||
		    !(file.wants_hooks || file.has_lua))
			continue;
		message("\"%s\" was not recorded: perhaps " CLEARED, path);
		return true;
	}
	return false;
}

/* Why no native call was recorded. */
static void explain_native(const char *path, const struct elf_file *file)
{
	if (file->has_hooks)
		message("\"%s\" defines __cyg_profile_func_enter itself, so "
			"weft's is not called: leave that definition out",
			path);
	else if (!file->wants_hooks)
		message("\"%s\" is not built with -finstrument-functions: "
			"compile it with  cc -g -finstrument-functions ...  "
			"and link it as before", path);
	else
		message("\"%s\" is built with -finstrument-functions, but "
			"called no function while its native calls were "
			"recorded", path);
}

/* Recording never began, as a function was not called. */
static bool explain_start(const struct diagnose_facts *facts)
{
	if (facts->awaited)
		message("recording was to begin with a call of \"%s\" "
			"(--start-on), %s", facts->awaited,
			facts->awaited_n > 0 ? "which never came" : "but no "
			"function was found that is called so");
	return facts->awaited;
}

void diagnose_empty(const char *path, char *const *argv,
		    const struct diagnose_facts *facts)
{
	char room[PATH_MAX];
	struct elf_file file;

	message("nothing was recorded");
	if (facts->was_paused)
		message("recording was paused (--paused), and the program did "
			"not turn it on");
	if (facts->leaves_out)
		message("what ran may have been left out: see --skip and "
			"--only");
	if (facts->told || facts->was_paused || explain_start(facts) ||
	    facts->leaves_out || read_program(&path, &file, room) != 0)
		return;
	if (facts->processes == 0 && facts->attached)
		message("the program called nothing that weft sees while it "
			"was recorded");
	else if (facts->processes == 0)
		message("libweft.so was not loaded, or did not find the pool: "
			CLEARED);
	if (!file.wants_hooks && explain_argument(argv))
		return;
	if (facts->vms > 0)
		message("Lua states were seen, but no call in them");
	else if (facts->lua_wanted && explain_lua(path, &file, facts))
		return;
	else if (facts->lua_wanted)
		message("no Lua state was seen");
	if (facts->native_wanted)
		explain_native(path, &file);
}

void diagnose_partial(const char *path, const struct diagnose_facts *facts)
{
	char room[PATH_MAX];
	struct elf_file file;

	if (!facts->told && facts->vms == 0 && facts->lua_wanted &&
	    read_program(&path, &file, room) == 0)
		explain_lua(path, &file, facts);
	if (facts->trouble & TROUBLE_NO_MEMORY)
		message_trouble("a recorded program had no memory left for "
				"weft: some of its threads or coroutines are "
				"missing");
	if (facts->trouble & TROUBLE_CONFINED)
		message_trouble("a thread entered seccomp's strict mode: it "
				"was recorded until then");
	if (facts->trouble & TROUBLE_LUA_UNKNOWN)
		message("a Lua library of an unknown kind was not recorded");
	if (facts->trouble & TROUBLE_LUA_UNNOTED)
		message_trouble("a Lua state was not sampled: its calls by the "
				"program are not seen, or it is one of several "
				"LuaJITs, or of one without a profiler, or the "
				"program uses SIGPROF or seccomp, or uses or "
				"blocks both SIGURG and SIGWINCH; --lua exact "
				"records it");
	if (facts->trouble & TROUBLE_JIT_OFF)
		message_summary("LuaJIT's compiler was off, so that each call "
				"is seen: Lua ran slower, each function in "
				"another measure; --lua sampled leaves it on");
	if (facts->trouble & TROUBLE_LUA_PASSED)
		message("a library uses the Lua that is linked into the "
			"program, and not all of it is seen: open the library "
			"by dlopen, link it with -Wl,-z,lazy, or call "
			"weft_lua_attach(L) when it has made a state");
}
