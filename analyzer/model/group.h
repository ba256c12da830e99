/* group.h - what the rows of a ranking stand for: each node of a session's tree
 * belongs to one group, or to none. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_GROUP_H
#define WEFT_ANALYZER_MODEL_GROUP_H

#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdint.h>

/* FUNCTION to LANGUAGE group by the frame itself; time in no function is in no
 * group. BODY: by the outermost function of the coroutine a frame stands in;
 * VM: by the Lua state of that coroutine; a thread's own frames are of their
 * process's only Lua state from the first Lua frame on. THREAD to LABEL group
 * by the thread, time in no function included. */
enum group_by { GROUP_FUNCTION, GROUP_MODULE, GROUP_FILE, GROUP_LANGUAGE,
		GROUP_BODY, GROUP_VM, GROUP_THREAD, GROUP_PROCESS,
		GROUP_LABEL };

struct group {
	const char *name;    /* untrusted */
	func_id func;        /* GROUP_FUNCTION, and GROUP_BODY if there is one */
	uint32_t next;       /* private: another one of the same hash */
};

struct groups {
	uint32_t *of;        /* by node: its group, 0: none */
	struct group *group; /* from 1 on */
	size_t count;
	struct arena *text;
};

/* Names of functions must be known; they are borrowed. VM needs a tree that was
 * collected with replay_collect.vm. */
struct groups *group_all(struct session *, enum group_by);
void group_free(struct groups *);

enum { GROUP_NAME = 1024 };

/* Each writes to `to`, GROUP_NAME bytes, and returns it. Indices of the
 * session's arrays. */
const char *group_name_thread(const struct session *, uint32_t, char *to);
const char *group_name_process(const struct session *, uint32_t, char *to);
const char *group_name_vm(const struct session *, uint32_t, char *to);
/* "KEY=VALUE KEY=VALUE" of all labels of a process and of its recording, by
 * rising key; of several values of a key the last. */
const char *group_name_labels(const struct session *, uint32_t process,
			      char *to);

#endif
