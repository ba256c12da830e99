/* export_chrome.h - a chronicle as Trace Event JSON, which chrome://tracing,
 * the Perfetto UI and others open.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_CHROME_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_CHROME_H

#include "analyzer/out/export/export.h"

/* Write complete events ("X") in us, each track's in its order: of threads, and
 * of coroutines as threads of their own; metadata that name them; a flow from
 * each resume over the coroutine's run to its suspend; marks as instant events.
 * The category of a call that goes on after a suspension is ",continued".
 * The document "Trace Event Format" of Chromium describes it. Always 0: the
 * caller checks the file for errors. */
int export_chrome_write(FILE *, const struct export_from *);

#endif
