/* diagnose.h - names what keeps a program from being recorded, and the way
 * out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_DIAGNOSE_H
#define WEFT_RECORDER_DIAGNOSE_H

#include <stdbool.h>
#include <stdint.h>

/* What will certainly be missing, before the start. True: nothing of the
 * program itself can be recorded. */
bool diagnose_before(const char *path);

/* What the recording saw. */
struct diagnose_facts {
	uint32_t processes;
	bool was_paused, native_wanted, lua_wanted;
	uint64_t vms;
	uint32_t trouble;          /* enum process_trouble */
	bool told;                 /* diagnose_before was true */
};

/* Nothing was recorded: say why. */
void diagnose_empty(const char *path, const struct diagnose_facts *facts);
/* Something was: say what is missing all the same. */
void diagnose_trouble(const struct diagnose_facts *facts);

#endif
