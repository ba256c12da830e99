/* diagnose_lua.c - a Lua that is linked statically is known by its symbols, or,
 * once they were stripped, by texts that stand in every version of it.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/diagnose_lua.h"
#include "tracer/recorder/message.h"
#include "tracer/recorder/unseen_programs.h"

#include <stdlib.h>
#include <string.h>

/* An error message of the virtual machine's, from 5.1 on and in LuaJIT. */
static const char mark_lua[] = "attempt to compare two %s values";
/* Only what reads this variable is the stock interpreter. */
static const char mark_interpreter[] = "LUA_INIT";
/* libweft-lua-static.a, or a call of weft_lua_attach. */
static const char mark_prepared[] = "weft_lua_";

bool diagnose_lua_needed(const char *path, const struct image *image)
{
	char file[PATH_MAX];
	struct image library;

	for (int i = 0; i < image->needed_n; i++) {
		const char *const name = image->needed[i];

		if (strncmp(name, "liblua", 6) == 0 ||
		    (strstr(name, "lua") &&
		     image_library(path, image, name, file) &&
		     image_read(file, &library) == 0 && library.has_lua))
			return true;
	}
	return false;
}

static void say_interpreter(const char *path, bool was_told)
{
	if (!was_told)
		say("\"%s\" is a Lua interpreter, whose Lua is linked in and "
		    "cannot be seen from outside: say  weft record --lua-init "
		    "-- ...", path);
	else
		say("\"%s\" was not told to load weft: it ignores LUA_INIT "
		    "(-E), lost it from its environment, or is no Lua of 5.1 "
		    "to 5.4: let the script say  require \"weft\"", path);
}

static enum diagnose_lua say_own(const char *path,
				 const struct diagnose_facts *facts)
{
	if (image_has_text(path, mark_interpreter)) {
		say_interpreter(path, facts->lua_init);
		return LUA_INTERPRETER;
	}
	if (image_has_text(path, mark_prepared))
		say("no Lua state was seen in \"%s\", whose own Lua is ready "
		    "to be recorded", path);
	else
		say("\"%s\" has a Lua of its own linked in, which cannot be "
		    "seen: link it with  $(pkg-config --libs weft-lua-static)"
		    ", or let it call weft_lua_attach(L) after making the "
		    "state, or link the shared Lua library", path);
	return LUA_OWN;
}

static bool has_own(const char *path, const struct image *image)
{
	return image->is_elf && (image->has_lua ||
				 image_has_text(path, mark_lua));
}

/* One that ran; what has gone meanwhile, or is no file here, says nothing. */
static enum diagnose_lua look_at(const char *path,
				 const struct diagnose_facts *facts)
{
	struct image image;

	return image_read(path, &image) == 0 && has_own(path, &image) ?
	       say_own(path, facts) : LUA_NONE;
}

enum diagnose_lua diagnose_lua(const char *path, const struct image *image,
			       const struct diagnose_facts *facts)
{
	const struct silent *const ran = facts->ran;
	char *const real = realpath(path, NULL);
	enum diagnose_lua first = LUA_NONE;

	if (!silent_has_lua(ran, path)) {
		if (has_own(path, image))
			first = say_own(path, facts);
		else if (diagnose_lua_needed(path, image))
			first = LUA_NO_STATE;
	}
	for (uint32_t i = 0; i < ran->n; i++) {
		enum diagnose_lua other;

		if (ran->has_lua[i] ||
		    (real && strcmp(ran->path[i], real) == 0))
			continue;
		other = look_at(ran->path[i], facts);
		first = first > LUA_NO_STATE ? first : other > first ? other :
			first;
	}
	free(real);
	return first;
}
