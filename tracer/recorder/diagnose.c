/* diagnose.c - the first hour of a new user: why is there nothing to see?
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/diagnose.h"
#include "tracer/recorder/image.h"
#include "tracer/recorder/say.h"
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

static bool say_before(const char *path, const struct image *image)
{
	if (image->is_foreign)
		say("\"%s\" is of another machine or word size than weft: it "
		    "cannot be recorded", path);
	else if (image->is_static)
		say("\"%s\" is linked statically, so nothing can be preloaded "
		    "into it: link it dynamically, or with -lweft", path);
	else if (strstr(image->interpreter, "ld-musl"))
		say("\"%s\" runs on musl, libweft.so is built for another C "
		    "library: build both alike", path);
	else if (image->is_privileged)
		say("\"%s\" is set-user-id or has file capabilities, so the "
		    "loader drops preloaded libraries: run it as its owner, "
		    "or record a copy without them", path);
	else
		return false;
	return true;
}

bool diagnose_before(const char *path)
{
	char room[PATH_MAX];
	struct image image;

	return read_real(&path, &image, room) == 0 && say_before(path, &image);
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

static bool needs_lua(const struct image *image)
{
	for (int i = 0; i < image->needed_n; i++)
		if (strncmp(image->needed[i], "liblua", 6) == 0)
			return true;
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

static void say_lua(const char *path, const struct image *image)
{
	if (image->has_lua)
		say("\"%s\" has a Lua of its own linked in: let it call "
		    "weft_lua_attach(L) after making the state, or link the "
		    "shared Lua library", path);
	else if (needs_lua(image))
		say("no Lua state was seen in it");
	else
		say("no Lua state was seen: it is not linked to a shared Lua "
		    "library");
}

void diagnose_empty(const char *path, const struct diagnose_facts *facts)
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
	if (facts->native_wanted)
		say_native(path, &image);
	if (facts->lua_wanted && facts->vms == 0)
		say_lua(path, &image);
}

void diagnose_trouble(const struct diagnose_facts *facts)
{
	if (facts->trouble & TROUBLE_OWN_HOOKS)
		say("the program defines the hooks itself: its native calls "
		    "were not recorded");
	if (facts->trouble & TROUBLE_NO_MEMORY)
		say_trouble("a recorded program had no memory left for weft: "
			    "some of its threads are missing");
	if (facts->trouble & TROUBLE_CONFINED)
		say_trouble("a thread went into seccomp's strict mode: it was "
			    "recorded up to there");
	if (facts->trouble & TROUBLE_LUA_UNKNOWN)
		say("a Lua library of an unknown kind was not recorded");
}
