/* export_sqlite.h - sessions in an SQLite database, one beside the other.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_SQLITE_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_SQLITE_H

#include "analyzer/out/export/export.h"

/* Add the session to the database in the file, which is made if there is none:
 * the tables of relations.h, each row with the number of its session in front.
 * All of it is added, or nothing: a file that is damaged or of another program
 * stays as it is. 0, or -1 with the cause in the chain. */
int export_sqlite_write(const char *file, const struct export_from *);

#endif
