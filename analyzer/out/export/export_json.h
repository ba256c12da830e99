/* export_json.h - a session's tables as one JSON document.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_JSON_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_JSON_H

#include "analyzer/out/export/export.h"

/* { "format": "weft", "version": 1, and for each table of relations.h its name:
 *   { "columns": [names], "rows": [[values]] } }
 * Times are ns, what is not known is null. The version rises when a column goes
 * or changes its meaning. Always 0. */
int export_json_write(FILE *, const struct export_from *);

#endif
