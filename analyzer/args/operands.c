/* operands.c - looks at folders. Knows what weft record puts into a trace, and
 * opens none.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/operands.h"

#include "analyzer/base/err.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/out/out_escape.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct list { char **path; size_t count, room; };

/* What is found is kept to the end, as operands are. */
static struct arena *kept;

static bool has(const char *folder, const char *name)
{
	char *const path = mem_print("%s/%s", folder, name);
	struct stat of;
	const bool is_there = stat(path, &of) == 0;

	mem_free(path);
	return is_there;
}

/* A relay daemon of LTTng writes what is in ctf into the folder itself. */
static bool is_trace(const char *folder)
{
	return has(folder, "ctf") || has(folder, "spill.weft") ||
	       has(folder, "ust/uid");
}

static void add(struct list *list, char *path)
{
	vec_need(&list->path, &list->room, list->count + 1);
	list->path[list->count++] = path;
}

static bool is_snapshot(const char *name)
{
	return strncmp(name, "snapshot-", 9) == 0;
}

/* BELOW: the traces in all folders of it, as a relay daemon makes a folder
 * for each host. */
enum what { TRACES, SNAPSHOTS, BELOW };

/* Add the traces in a folder; "": here, with paths that begin with a name. Or
 * the snapshots of a flight recorder in it. */
static void look_into(const char *folder, struct list *list, enum what what)
{
	DIR *const dir = opendir(folder[0] ? folder : ".");
	const size_t before = list->count;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		const char *const name = entry->d_name;
		char *const path = folder[0] ?
			mem_print("%s/%s", folder, name) : mem_copy(name);

		if (what == BELOW && name[0] != '.')
			look_into(path, list, TRACES);
		else if (name[0] != '.' && is_trace(path) &&
			 is_snapshot(name) == (what == SNAPSHOTS))
			add(list, mem_copy(path));
		mem_free(path);
	}
	if (dir)
		closedir(dir);
	order_sort(list->path + before, list->count - before, order_texts);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec :
	       a->tv_nsec > b->tv_nsec;
}

static void list_fini(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		mem_free(list->path[i]);
	mem_free(list->path);
}

/* The trace that was changed last; of several at one time, the first by name.
 * NULL: there is none. */
static const char *newest(const struct list *all)
{
	struct timespec last = { 0 };
	const char *best = NULL;

	for (size_t i = 0; i < all->count; i++) {
		struct stat of;

		if (stat(all->path[i], &of) == 0 &&
		    (!best || is_later(&of.st_mtim, &last))) {
			best = all->path[i];
			last = of.st_mtim;
		}
	}
	return best;
}

/* Add the newest trace here, or here itself. */
static void add_newest(struct list *list)
{
	struct list all = { 0 };
	const char *best = ".";

	if (!is_trace(".")) {
		look_into("", &all, TRACES);
		best = newest(&all);
	}
	if (best) {
		out_print(stderr, "weft: no trace is named; this is the newest "
			  "one here: %s\n", best);
		add(list, mem_copy(best));
	}
	list_fini(&all);
}

/* Snapshots have records in common: only one can be read at a time. Add the
 * newest. False: there is none. */
static bool add_snapshot(struct list *list, const char *folder)
{
	struct list all = { 0 };

	look_into(folder, &all, SNAPSHOTS);
	const char *const best = newest(&all);

	if (best) {
		out_print(stderr, "weft: snapshots: %zu, read one by one; this "
			  "is the newest: %s\n", all.count, best);
		add(list, mem_copy(best));
	}
	list_fini(&all);
	return best != NULL;
}

/* Add the operand, or the traces in it. */
static void add_operand(struct list *list, const char *operand)
{
	const size_t before = list->count;

	if (operand[0] != '\0' && !is_trace(operand))
		look_into(operand, list, TRACES);
	if (operand[0] != '\0' && !is_trace(operand) &&
	    list->count == before) {
		if (add_snapshot(list, operand))
			return;
		look_into(operand, list, BELOW);
	}
	if (list->count == before)
		add(list, mem_copy(operand));
	else
		out_print(stderr, "weft: traces in %s: %zu, the first is %s\n",
			  operand, list->count - before, list->path[before]);
}

int operands_find(int count, char **operands, char ***paths)
{
	struct list list = { 0 };

	if (count == 0)
		add_newest(&list);
	for (int i = 0; i < count; i++)
		add_operand(&list, operands[i]);
	if (!kept)
		kept = arena_new();
	*paths = arena_alloc(kept, (list.count + 1) * sizeof(**paths));
	for (size_t i = 0; i < list.count; i++)
		(*paths)[i] = arena_copy(kept, list.path[i],
					 strlen(list.path[i]));
	count = (int)list.count;
	list_fini(&list);
	return count > 0 ? count :
	       err_add("no trace given, and no folder here is one; give the "
		       "folder that weft record made");
}

char *operands_one(int count, char **operands)
{
	char **paths;
	const int meant = operands_find(count, operands, &paths);

	if (meant > 1)
		err_add("this command reads one trace, not %d: give only one",
			meant);
	return meant == 1 ? paths[0] : NULL;
}
