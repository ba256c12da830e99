/* module.h - which ELF module an address lies in, without the loader's lock.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* Raised before and after a dlclose: addresses may mean another module now. */
extern HIDDEN _Atomic uint32_t module_epoch;

/* A module that was mapped at some time. The entry is never freed; all but
 * epoch and map stay as they are. */
struct module {
	_Atomic uint32_t epoch; /* module_epoch when it was seen last */
	/* Its link_map then: a name only, not followed. */
	const void *_Atomic map;
	uint32_t number;        /* of the process, from 0 */
	uint64_t start, end;    /* mapped */
	/* What the loader added to the addresses in the file. */
	uint64_t bias;
	uint8_t build_id[20];
	uint8_t build_id_size;
	/* Ends with a NUL; a longer path keeps its end. "": not known. */
	char path[257];
};

/* Does the address lie in a module? Sets its entry, which is valid for ever;
 * NULL: no memory for that. Where the program is confined, a module that was
 * opened by a relative path keeps that. Hook-safe, but for errno. */
bool module_find(uint64_t address, const struct module **found);

/* Where the piece of code begins that the address lies in, as the module's
 * unwind table (.eh_frame_hdr) has it: a function, or a part of one that the
 * compiler split. 0: there is no table, or none of the usual form. Code that
 * has no entry counts with the piece before it. The address must lie in a
 * module that stays. Hook-safe. */
uint64_t module_code_start(uint64_t address);

/* The first modules can be had by number, as module_find gave it. */
enum { MODULES_NUMBERED = 4032 };
const struct module *module_get(uint32_t number);
