/* sym_server.h - ELF files by build-id from debuginfod's servers.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_SERVER_H
#define WEFT_ANALYZER_SYM_SYM_SERVER_H

#include "analyzer/sym/sym_elf.h"

/* Ask them for at most that many seconds; *seconds becomes what it took. urls
 * NULL: those of DEBUGINFOD_URLS. Gives the path of a file in the client's
 * cache, to be freed with free, or NULL with a reason in *why, "" if there is
 * nobody to ask. */
char *sym_server_get(const struct elf_module *, enum sym_want,
		     const char *urls, unsigned *seconds, const char **why);

#endif
