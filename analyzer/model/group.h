/* group.h - the rows that a session's nodes belong to: each node is in one
 * group, or in none. Also names what is not a function.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* FUNCTION to LANGUAGE group by the frame itself; time in no function is in no
 * group. BODY groups by the outermost function of the frame's coroutine, VM by
 * that coroutine's Lua state; from the first Lua frame on, a thread's own
 * frames belong to the only Lua state of their process. THREAD to LABEL group
 * by the thread, including time in no function. */
enum group_by { GROUP_FUNCTION, GROUP_MODULE, GROUP_FILE, GROUP_LANGUAGE,
		GROUP_BODY, GROUP_VM, GROUP_THREAD, GROUP_PROCESS,
		GROUP_LABEL };

struct group {
	const char *name;    /* untrusted */
	func_id func;        /* GROUP_FUNCTION; GROUP_BODY if it has one */
	uint32_t next;       /* private: another group of the same hash */
};

struct groups {
	uint32_t *of;        /* by node: its group, 0: none */
	struct group *group; /* from 1 on */
	size_t count;
	struct arena *text;
};

/* Needs the functions' names and borrows them. GROUP_VM needs a tree that was
 * collected with replay_collect.vm. The caller frees it with group_free. */
struct groups *group_all(struct session *, enum group_by);
void group_free(struct groups *);

enum { GROUP_NAME = 1024 };

/* The row of all Lua states of which is not known which one ran. */
#define GROUP_ANY_VM "[Lua state not known]"

/* Threads without a name of their own, which have their process', are told
 * apart by the functions that they began with: sets each thread's start. Needs
 * the whole tree. */
void group_find_starts(struct session *);
/* The name of that function; "": the thread has a name, or none is known. */
const char *group_start(const struct session *, uint32_t thread);

/* Each writes to `to`, GROUP_NAME bytes, and returns it. Indices of the
 * session's arrays. */
const char *group_name_thread(const struct session *, uint32_t, char *to);
const char *group_name_vm(const struct session *, uint32_t, char *to);
const char *group_name_process(const struct session *, uint32_t, char *to);
/* "KEY=VALUE KEY=VALUE" of all labels of a process and of its recording, by
 * rising key; of several values of a key the last. */
const char *group_name_labels(const struct session *, uint32_t process,
			      char *to);
