/* diagnose.c - the first hour of a new user: why is there nothing to see?
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/diagnose.h"
#include "tracer/recorder/diagnose_lua.h"
#include "tracer/recorder/image.h"
#include "tracer/recorder/message.h"
#include "tracer/recorder/unseen_programs.h"
#include "tracepoints/pool.h"

#include <stdio.h>
#include <string.h>

/* A script's interpreter is what is recorded. */
static int read_real(const char **path, struct image *image, char *room)
{
	for (int depth = 0; depth < 4; depth++) {
		if (image_read(*path, image) != 0)
			return -1;
		if (!image->is_script)
			return 0;
		snprintf(room, PATH_MAX, "%s", image->interpreter);
		*path = room;
	}
	return -1;
}

static bool is_musl(const struct image *image)
{
	return strstr(image->interpreter, "ld-musl") != NULL;
}

/* Why the loader will not take libweft.so into it; NULL: it will. */
static const char *obstacle(const struct image *image)
{
	if (image->is_foreign)
		return "is of another machine or word size than weft: it "
		       "cannot be recorded";
	if (image->is_static)
		return "is linked statically, so nothing can be preloaded "
		       "into it: link it dynamically, or with -lweft";
	if (is_musl(image))
		return "runs on musl, libweft.so is built for another C "
		       "library: build both alike";
	if (image->is_privileged)
		return "is set-user-id or has file capabilities, so the "
		       "loader drops preloaded libraries: run it as its owner, "
		       "or record a copy without them";
	return NULL;
}

enum diagnose_outlook diagnose_before(const char *path)
{
	char room[PATH_MAX];
	struct image image;

	if (read_real(&path, &image, room) != 0 || !obstacle(&image))
		return OUTLOOK_GOOD;
	say("\"%s\" %s", path, obstacle(&image));
	/* musl's loader gives up where glibc's says a word and goes on. */
	return is_musl(&image) ? OUTLOOK_NO_PRELOAD : OUTLOOK_NONE;
}

void diagnose_unrecorded(uint32_t pid, const char *program, bool runs)
{
	struct image image;
	const char *why = NULL;

	if (!strchr(program, '/'))
		why = "runs with rights of its own, so the loader drops "
		      "preloaded libraries";
	else if (image_read(program, &image) == 0)
		why = obstacle(&image);
	say_trouble("process %u %s \"%s\", which %s not recorded", pid,
	    runs ? "now runs" : "ended as", program, runs ? "is" : "was");
	if (why)
		say("\"%s\" %s", program, why);
	else
		say("LD_PRELOAD and WEFT_POOL were taken from its environment "
		    "(env -i, sudo: let that start weft record), or it reaches "
		    "the pool neither by descriptor nor by path (chroot, "
		    "another user)");
}

/* Do libraries it needs call the hooks? */
static bool library_wants_hooks(const char *path, const struct image *image)
{
	char file[PATH_MAX];
	struct image library;

	for (int i = 0; i < image->needed_n; i++) {
		if (strncmp(image->needed[i], "libc.so", 7) != 0 &&
		    image_library(path, image, image->needed[i], file) &&
		    image_read(file, &library) == 0 && library.wants_hooks)
			return true;
	}
	return false;
}

static void say_native(const char *path, const struct image *image)
{
	if (image->has_hooks)
		say("\"%s\" defines __cyg_profile_func_enter itself, so weft's "
		    "is not called: leave that definition out", path);
	else if (!image->wants_hooks && !library_wants_hooks(path, image))
		say("\"%s\" is not built with -finstrument-functions: compile "
		    "it with  cc -g -finstrument-functions ...  and link it "
		    "as before", path);
	else
		say("\"%s\" is built with -finstrument-functions, but called "
		    "no function before it ended", path);
}

/* A program among the arguments that should have been recorded, as in
 * "env -i prog". */
static bool say_argument(char *const *argv, const char *starter,
			 const struct silent *ran)
{
	char path[PATH_MAX];
	struct image image;

	for (int i = 1; argv[i] && i < 32; i++) {
		if (!image_search(argv[i], path) ||
		    image_read(path, &image) != 0 || !image.is_elf ||
		    !(image.wants_hooks || library_wants_hooks(path, &image) ||
		      (image.has_lua && !silent_ran(ran, path)) ||
		      diagnose_lua_needed(path, &image)))
			continue;
		say("\"%s\" was not recorded: if \"%s\" started it, then "
		    "with another environment, without LD_PRELOAD and "
		    "WEFT_POOL (env -i, sudo): let that start weft record",
		    path, starter);
		return true;
	}
	return false;
}

void diagnose_empty(const char *path, char *const *argv,
		    const struct diagnose_facts *facts)
{
	char room[PATH_MAX];
	struct image image;

	say("nothing was recorded");
	if (facts->was_paused)
		say("recording was paused (--paused) and not turned on");
	if (facts->told || facts->was_paused)
		return;
	if (read_real(&path, &image, room) != 0) {
		say("\"%s\" is no program that weft knows", path);
		return;
	}
	if (facts->processes == 0)
		say("libweft.so was not loaded, or did not find the pool (was "
		    "the environment emptied?)");
	if (!image.wants_hooks && say_argument(argv, path, facts->ran))
		return;
	const enum diagnose_lua lua = !facts->lua_wanted ? LUA_NONE :
				      diagnose_lua(path, &image, facts);

	if (facts->native_wanted && lua != LUA_INTERPRETER)
		say_native(path, &image);
	if (facts->lua_wanted && lua == LUA_NONE)
		say("no Lua state was seen: it is not linked to a shared Lua "
		    "library");
	else if (lua == LUA_NO_STATE)
		say("no Lua state was seen in \"%s\"", path);
}

/* One half was recorded, the other is there, too. */
static void say_half(const char *path, const struct diagnose_facts *facts)
{
	char room[PATH_MAX];
	struct image image;

	if (facts->told || read_real(&path, &image, room) != 0)
		return;
	const enum diagnose_lua lua = !facts->lua_wanted ? LUA_NONE :
				      diagnose_lua(path, &image, facts);

	if (lua == LUA_NO_STATE && facts->vms == 0)
		say("no Lua state was seen in \"%s\"", path);
	/* Nobody asks for native calls of a stock interpreter. */
	if (facts->native_wanted && (image.has_hooks || (facts->vms > 0 &&
	    !facts->lua_init && !image.wants_hooks &&
	    !library_wants_hooks(path, &image))))
		say_native(path, &image);
}

void diagnose_partial(const char *path, const struct diagnose_facts *facts)
{
	say_half(path, facts);
	if (facts->trouble & TROUBLE_NO_MEMORY)
		say_trouble("a recorded program had no memory left for weft: "
			    "some of its threads are missing");
	if (facts->trouble & TROUBLE_CONFINED)
		say_trouble("a thread went into seccomp's strict mode: it was "
			    "recorded up to there");
	if (facts->trouble & TROUBLE_LUA_UNKNOWN)
		say("a Lua library of an unknown kind was not recorded");
}
