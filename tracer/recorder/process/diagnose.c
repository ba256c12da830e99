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
	if (path[0] != '/' || i == SEEN_PROGRAMS_MAX)
		return;
	if (i == seen->n) {
		memcpy(seen->path[i], path, sizeof(path));
		seen->has_lua[i] = false;
		seen->n++;
	}
	seen->has_lua[i] |= atomic_load(&process->vms) > 0;
}

/* By the name that /proc has for the program: without links. */
static uint32_t find_real(const struct seen_programs *seen, const char *path)
{
	char *const real = realpath(path, NULL);
	const uint32_t i = find_seen(seen, real ? real : path);

	free(real);
	return i;
}

static bool showed_lua(const struct seen_programs *seen, const char *path)
{
	const uint32_t i = find_real(seen, path);

	return i < seen->n && seen->has_lua[i];
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

/* The library says nothing of a pool that it cannot use. */
#define OTHER_VERSION "; or its libweft.so is of another version of weft"

void diagnose_unrecorded(uint32_t pid, const char *program, bool runs)
{
	struct elf_file file;
	const char *why = NULL;

	if (!strchr(program, '/'))
		why = "runs with other rights than weft record, so the loader "
		      "drops preloaded libraries: start weft record with these "
		      "rights";
	else if (elf_file_read(program, &file) == 0)
		why = obstacle(&file);
	message_trouble("process %u %s \"%s\", which %s not recorded", pid,
			runs ? "now runs" : "ended as", program,
			runs ? "is" : "was");
	if (why)
		message("\"%s\" %s", program, why);
	else
		message("LD_PRELOAD and WEFT_POOL were taken from its "
			"environment (if by env -i or sudo, start weft record "
			"from it, as in  sudo weft record -- ... ), or it can "
			"reach the pool neither by descriptor nor by path "
			"(because of chroot or another user), or has no room "
			"for it (ulimit -v)" OTHER_VERSION);
}

/* ---- native calls ---- */

/* Whether a library that it needs calls the hooks. */
static bool library_wants_hooks(const char *path, const struct elf_file *file)
{
	char found[PATH_MAX];
	struct elf_file library;

	for (int i = 0; i < file->needed_n; i++) {
		const char *const name = file->needed[i];

		if (strncmp(name, "libc.so", 7) != 0 &&
		    elf_file_find_library(path, file, name, found) &&
		    elf_file_read(found, &library) == 0 && library.wants_hooks)
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
	else if (!file->wants_hooks && !library_wants_hooks(path, file))
		message("\"%s\" is not built with -finstrument-functions: "
			"compile it with  cc -g -finstrument-functions ...  "
			"and link it as before", path);
	else
		message("\"%s\" is built with -finstrument-functions, but "
			"called no function while its native calls were "
			"recorded", path);
}

/* ---- Lua that weft cannot see ----
 *
 * A Lua that is linked in statically is known by its symbols or, if they were
 * stripped, by texts that every version of it contains. */

/* An error message of the virtual machine, from 5.1 on and in LuaJIT. */
static const char mark_lua[] = "attempt to compare two %s values";
/* Only the stock interpreter reads this variable. */
static const char mark_interpreter[] = "LUA_INIT";
/* The value of _VERSION in a Lua for which weft may not have been built. */
static const char mark_newer[] = "Lua 5.5";
/* From libweft-lua-static.a, or a call of weft_lua_attach. */
static const char mark_prepared[] = "weft_lua_";

/* The later ones say more. */
enum lua_kind {
	LUA_NONE,
	LUA_NO_STATE,              /* a shared Lua that made no state */
	LUA_OWN,                   /* linked in statically, unseen */
	LUA_INTERPRETER,           /* ... and the program is an interpreter */
};

/* By the library's name; if that only contains "lua", by its symbols. */
static bool needs_shared_lua(const char *path, const struct elf_file *file)
{
	char found[PATH_MAX];
	struct elf_file library;

	for (int i = 0; i < file->needed_n; i++) {
		const char *const name = file->needed[i];

		if (strncmp(name, "liblua", 6) == 0 ||
		    (strstr(name, "lua") &&
		     elf_file_find_library(path, file, name, found) &&
		     elf_file_read(found, &library) == 0 && library.has_lua))
			return true;
	}
	return false;
}

static bool has_own_lua(const char *path, const struct elf_file *file)
{
	return file->is_elf && (file->has_lua ||
				elf_file_contains(path, mark_lua));
}

/* What to do depends on the program: stock interpreters need an option, other
 * programs must be linked or changed. */
static enum lua_kind explain_own_lua(const char *path,
				     const struct diagnose_facts *facts)
{
	const bool interpreter = elf_file_contains(path, mark_interpreter);

	if (!facts->knows_newer && elf_file_contains(path, mark_newer)) {
		message("\"%s\" has a Lua 5.5 of its own linked in, which this "
			"weft does not know: build weft where pkg-config finds "
			"lua5.5", path);
		return interpreter ? LUA_INTERPRETER : LUA_OWN;
	}
	if (interpreter) {
		if (!facts->lua_init)
			message("\"%s\" is a Lua interpreter with Lua linked "
				"in, which cannot be seen from outside: use  "
				"weft record --lua-init -- ...", path);
		else
			message("\"%s\" was not told to load weft: it ignores "
				"LUA_INIT (-E), or did not find it in its "
				"environment: put  require \"weft\"  into the "
				"script", path);
		return LUA_INTERPRETER;
	}
	if (facts->attached)
		message("no Lua state was seen in \"%s\": a program that runs "
			"already and has a Lua of its own linked in must call "
			"weft_lua_attach(L), or weft.mark in a script that "
			"required weft, while it is recorded", path);
	else if (!elf_file_contains(path, mark_prepared))
		message("\"%s\" has a Lua of its own linked in, which cannot "
			"be seen: if its scripts can load C modules, put  "
			"require \"weft\"  into the first; else link it with  "
			"$(pkg-config --libs weft-lua-static), or call "
			"weft_lua_attach(L) after making the state, or link "
			"the shared Lua library", path);
	else
		message("no Lua state was seen in \"%s\", whose own Lua is "
			"ready to be recorded", path);
	return LUA_OWN;
}

/* Explain each program that has a Lua in which no state was seen: the one at
 * path, and those that it started. Returns the kind of the first of them. */
static enum lua_kind explain_lua(const char *path, const struct elf_file *file,
				 const struct diagnose_facts *facts)
{
	const struct seen_programs *const seen = facts->seen;
	enum lua_kind first = LUA_NONE;

	if (!facts->lua_wanted)
		return LUA_NONE;
	char *const real = realpath(path, NULL);

	if (!showed_lua(seen, path)) {
		if (has_own_lua(path, file))
			first = explain_own_lua(path, facts);
		else if (needs_shared_lua(path, file))
			first = LUA_NO_STATE;
	}
	for (uint32_t i = 0; i < seen->n; i++) {
		const char *const other = seen->path[i];
		struct elf_file other_file;

		/* A file that is gone by now explains nothing. */
		if (seen->has_lua[i] || (real && strcmp(other, real) == 0) ||
		    elf_file_read(other, &other_file) != 0 ||
		    !has_own_lua(other, &other_file))
			continue;
		const enum lua_kind kind = explain_own_lua(other, facts);

		if (first <= LUA_NO_STATE)
			first = kind;
	}
	free(real);
	return first;
}

/* ---- the whole recording ---- */

/* Whether an argument of the program is a program that should have been
 * recorded, as in "env -i prog". Tells the user of the first. */
static bool explain_argument(char *const *argv, const char *starter,
			     const struct seen_programs *seen)
{
	char path[PATH_MAX];
	struct elf_file file;

	for (int i = 1; argv[i] && i < 32; i++) {
		if (!elf_file_find_program(argv[i], path) ||
		    elf_file_read(path, &file) != 0 || !file.is_elf ||
		    !(file.wants_hooks || library_wants_hooks(path, &file) ||
		      (file.has_lua && find_real(seen, path) == seen->n) ||
		      needs_shared_lua(path, &file)))
			continue;
		message("\"%s\" was not recorded: if \"%s\" started it, it did "
			"so in an environment without LD_PRELOAD and WEFT_POOL "
			"(env -i, sudo)" OTHER_VERSION ". In the first case, "
			"start weft record from it, as in  "
			"sudo weft record -- ...", path, starter);
		return true;
	}
	return false;
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
	    facts->leaves_out)
		return;
	if (read_program(&path, &file, room) != 0) {
		message("\"%s\" is neither an ELF program nor a script", path);
		return;
	}
	if (facts->processes == 0 && facts->attached)
		message("the program called nothing that weft sees while it "
			"was recorded");
	else if (facts->processes == 0)
		message("libweft.so was not loaded, or did not find the pool: "
			"look for what emptied the environment" OTHER_VERSION);
	if (!file.wants_hooks && explain_argument(argv, path, facts->seen))
		return;
	const enum lua_kind lua = explain_lua(path, &file, facts);

	if (facts->native_wanted && lua != LUA_INTERPRETER)
		explain_native(path, &file);
	if (facts->vms > 0)
		message("Lua states were seen, but no call in them");
	else if (facts->lua_wanted && lua == LUA_NONE)
		message("no Lua state was seen: \"%s\" is not linked to a "
			"shared Lua library", path);
	else if (lua == LUA_NO_STATE)
		message("no Lua state was seen in \"%s\"", path);
}

/* Native calls or Lua were recorded, but not both, though both are there. */
static void explain_half(const char *path, const struct diagnose_facts *facts)
{
	char room[PATH_MAX];
	struct elf_file file;

	if (facts->told || read_program(&path, &file, room) != 0)
		return;
	if (explain_lua(path, &file, facts) == LUA_NO_STATE && facts->vms == 0)
		message("no Lua state was seen in \"%s\"", path);
	/* Who records Lua need not want native calls, too. */
	if (facts->native_wanted && file.has_hooks)
		explain_native(path, &file);
}

void diagnose_partial(const char *path, const struct diagnose_facts *facts)
{
	explain_half(path, facts);
	if (facts->trouble & TROUBLE_NO_MEMORY)
		message_trouble("a recorded program had no memory left for "
				"weft: some of its threads are missing");
	if (facts->trouble & TROUBLE_CONFINED)
		message_trouble("a thread entered seccomp's strict mode: it "
				"was recorded until then");
	if (facts->trouble & TROUBLE_LUA_UNKNOWN)
		message("a Lua library of an unknown kind was not recorded");
	if (facts->trouble & TROUBLE_LUA_PASSED)
		message("a library uses the Lua that is linked into the "
			"program, and not all of it is seen: open the library "
			"by dlopen, link it with -Wl,-z,lazy, or call "
			"weft_lua_attach(L) when it has made a state");
}
