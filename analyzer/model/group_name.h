/* group_name.h - what threads, processes, Lua states and sets of labels are
 * called in one line. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_GROUP_NAME_H
#define WEFT_ANALYZER_MODEL_GROUP_NAME_H

#include "analyzer/model/session.h"

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
