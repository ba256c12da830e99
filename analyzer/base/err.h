/* err.h - the chain of causes behind a failure.
 *
 * analyzer/base: memory, arrays, maps, text and error messages for every other
 * folder. Uses libc alone; knows nothing of traces or of profiling.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

/* Append one sentence, without a full stop or newline, to the chain; the
 * innermost cause is added first. Always returns -1, so that a failing function
 * ends with "return err_add(...)". The text may hold untrusted bytes. */
int err_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print the chain, outermost sentence first, on one line:
 * "weft: COMMAND: sentence: sentence\n", with unprintable bytes made visible;
 * then empty it. Prints nothing when the chain is empty. */
void err_print(FILE *to, const char *command);

/* Empty the chain: the failure was dealt with. */
void err_clear(void);
