/* diagnose.h - names what keeps a program from being recorded, and the way
 * out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_DIAGNOSE_H
#define WEFT_RECORDER_DIAGNOSE_H

#include <stdbool.h>
#include <stdint.h>

enum diagnose_outlook {
	OUTLOOK_GOOD,
	OUTLOOK_NONE,              /* nothing of it can be recorded */
	OUTLOOK_NO_PRELOAD,        /* ... and it would not even start */
};

/* Say what will certainly be missing, before the start. */
enum diagnose_outlook diagnose_before(const char *path);
/* A recorded process went on as that program, unrecorded: say why. Runs: it
 * does so now; else it ended. */
void diagnose_unrecorded(uint32_t pid, const char *program, bool runs);

/* What the recording saw. */
struct diagnose_facts {
	uint32_t processes;
	bool was_paused, native_wanted, lua_wanted, lua_init;
	uint64_t vms;
	uint32_t trouble;          /* enum process_trouble */
	bool told;                 /* the reason was said already */
	const struct silent *ran;
};

/* Nothing was recorded: say why. argv: of the program at path. */
void diagnose_empty(const char *path, char *const *argv,
		    const struct diagnose_facts *facts);
/* Something was: say what is missing all the same. */
void diagnose_partial(const char *path, const struct diagnose_facts *facts);

#endif
