/* in_check.h - whether a CTF folder is whole. libbabeltrace2 2.0.4 aborts,
 * hangs or drops whole streams if it is not, so this is checked first.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/in/in_find.h"

enum in_check {
	IN_CHECK_GOOD,  /* whole, as far as can be seen from outside */
	IN_CHECK_OTHER, /* whole, but names no event weft:chunk */
	IN_CHECK_BAD,   /* damaged; why says how */
};

/* Check the metadata and all stream files of a folder. uuid gets what tells
 * this trace from others, up to 39 characters, "" if the metadata has none or
 * cannot be read; folders with the same uuid are pieces of one trace. why (room
 * bytes) gets what is wrong with an IN_CHECK_BAD, and is left alone
 * otherwise. */
enum in_check in_check_folder(const struct in_folder *folder, char uuid[40],
			      char *why, size_t room);
