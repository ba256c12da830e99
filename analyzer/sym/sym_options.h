/* sym_options.h - where names of functions are looked for, and for how long.
 * SPDX-License-Identifier: MIT */
#pragma once

/* What the user chose. All strings are borrowed. */
struct sym_options {
	const char *debug_dirs;  /* folders to search, separated by ':', or
	                          * NULL */
	/* for one module; all modules together may take four times that long */
	unsigned seconds;        /* a module may take at most this long */
	const char *archive;     /* the folder that weft record --archive made,
	                          * or NULL */
	const char *servers;     /* URLs of debuginfod's servers; NULL: those of
	                          * DEBUGINFOD_URLS */
};
