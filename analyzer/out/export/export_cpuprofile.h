/* export_cpuprofile.h - the tree as a profile of V8, which Chrome's developer
 * tools and speedscope open.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_CPUPROFILE_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_CPUPROFILE_H

#include "analyzer/out/export/export.h"

/* All threads are below "(root)", one beside the other. A node's samples are
 * one, which lasts for its self time: stacks are in the order of the tree, not
 * of time. Always 0. */
int export_cpuprofile_write(FILE *, const struct export_from *);

#endif
