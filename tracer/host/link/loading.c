/* loading.c - replaces the functions that open libraries and look up their
 * symbols, so that the links of a library opened later are led, too.
 *
 * Which library is meant depends on who calls dlopen or dlsym, and libc looks
 * for that at the return address. So where the caller matters, libc's function
 * is jumped to, with all as the program left it.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"

#include <dlfcn.h>
#include <string.h>

/* What one of these has found out, in two registers. Unless it is final, libc's
 * function is jumped to. */
struct answer {
	void *value;
	uint64_t is_final;
};

HIDDEN void *loading_real_dlopen, *loading_real_dlmopen, *loading_real_dlsym;

typedef void *open_fn(const char *, int);
typedef void *open_in_fn(Lmid_t, const char *, int);
typedef void *find_fn(void *, const char *);

/* Libraries are searched for by what the caller's module says, unless the name
 * is a path; $ORIGIN in it is the caller's. */
static bool is_plain_path(const char *file)
{
	return file && strchr(file, '/') && !strchr(file, '$');
}

static const struct link_map *first_of(const struct link_map *map)
{
	while (map && map->l_prev)
		map = map->l_prev;
	return map;
}

/* Is a library opened for both in the same namespace? */
static bool is_beside_us(const void *caller)
{
	return first_of(dynamic_module_at(caller)) ==
	       first_of(dynamic_module_at((void *)(uintptr_t)link_lead));
}

static struct answer opened(void *handle)
{
	if (handle)
		link_lead_opened();
	return (struct answer){ handle, true };
}

HIDDEN struct answer loading_dlopen(const char *file, int mode, long none,
				    const void *caller);
HIDDEN struct answer loading_dlmopen(Lmid_t space, const char *file, int mode,
				     const void *caller);
HIDDEN struct answer loading_dlsym(void *handle, const char *name, long none,
				   const void *caller);

struct answer loading_dlopen(const char *file, int mode, long none,
			     const void *caller)
{
	(void)none;
	link_lead_new();
	return !is_plain_path(file) || !is_beside_us(caller) ?
	       (struct answer){ NULL, false } :
	       opened(((open_fn *)loading_real_dlopen)(file, mode));
}

struct answer loading_dlmopen(Lmid_t space, const char *file, int mode,
			      const void *caller)
{
	(void)caller;
	link_lead_new();
	return !is_plain_path(file) ? (struct answer){ NULL, false } :
	       opened(((open_in_fn *)loading_real_dlmopen)(space, file, mode));
}

/* The function that dlsym would find for this caller; NULL: none, or it is for
 * libc alone to say. */
static void *found(void *handle, const char *name, const void *caller)
{
	const struct link_map *const map = dynamic_module_at(caller);

	if (handle == RTLD_NEXT || (handle == RTLD_DEFAULT && !map))
		return NULL;
	return handle == RTLD_DEFAULT ? link_found_by(map, name) :
	       ((find_fn *)loading_real_dlsym)(handle, name);
}

struct answer loading_dlsym(void *handle, const char *name, long none,
			    const void *caller)
{
	struct answer a = { NULL, false };
	int number;
	void *f;

	(void)none;
	if (strncmp(name, "weft_", 5) == 0)
		return a; /* link_lead itself may come here, in a test */
	link_lead_new();
	number = stand_in_of(name);
	f = number < 0 ? NULL : found(handle, name, caller);
	if (f)
		a.value = stand_in_for(number, f, dynamic_module_at(f));
	if (a.value)
		dlerror(); /* no search of ours has failed */
	a.is_final = a.value != NULL;
	return a;
}

/* What the program's calls are led to. */
#define ASKING(name)                                                           \
	HIDDEN void loading_our_##name(void);                                  \
	ARCH_ASKING("loading_our_" #name, "loading_" #name,                    \
		    "loading_real_" #name)

ASKING(dlopen);
ASKING(dlmopen);
ASKING(dlsym);

/* A program that a recorder was late for may keep what dlsym gives it when the
 * recorder has gone: there, the recorder sees what is opened. */
__attribute__((constructor(102))) static void begin(void)
{
	static const struct stand_in ours[] = {
		{ "dlopen", (void *)loading_our_dlopen, &loading_real_dlopen },
		{ "dlmopen", (void *)loading_our_dlmopen,
		  &loading_real_dlmopen },
		{ "dlsym", (void *)loading_our_dlsym, &loading_real_dlsym },
	};

	if (!link_is_late())
		stand_in_add(ours, sizeof(ours) / sizeof(ours[0]));
}
