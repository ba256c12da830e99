/* export_callgrind.h - functions and their calls as a file of callgrind, which
 * kcachegrind and callgrind_annotate open.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_CALLGRIND_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_CALLGRIND_H

#include "analyzer/out/export/export.h"

/* Each function has a position, the line where it begins, with its self time,
 * raw self time where times are net, time on and off the CPU where switches are
 * known, time suspended as the innermost frame, and calls. What it calls
 * follows with inclusive costs: those of what leads to a function add up to its
 * totals and suspended time, even if it is recursive. What no function calls is
 * called by "[outside]". Calls have no inclusive sum. Always 0. */
int export_callgrind_write(FILE *, const struct export_from *);

#endif
