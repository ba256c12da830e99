/* module.h - which ELF module an address lies in, without the loader's lock.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_BASE_MODULE_H
#define WEFT_TRACER_HOST_BASE_MODULE_H

#include "tracer/host/base/base.h"

/* Raised before and after a dlclose: addresses may mean another module now. */
extern HIDDEN _Atomic uint32_t module_epoch;

/* A module that was mapped at some time. The entry is never freed; all but
 * ready and epoch stay as they are once it is ready. */
struct module {
	_Atomic uint32_t ready; /* 1: what follows may be read */
	_Atomic uint32_t epoch; /* module_epoch when it was seen last */
	uint64_t start, end;    /* mapped */
	/* What the loader added to the addresses in the file. */
	uint64_t bias;
	const void *map;        /* its link_map: a name only, not followed */
	uint8_t build_id[20];
	uint8_t build_id_size;
	/* Ends with a NUL; a longer path keeps its end. "": not known. */
	char path[257];
};

/* The module's number (below DICT_MAX_MODULES) and entry, or -1: in no module,
 * or too many modules. The entry is valid for ever. Hook-safe. */
int module_find(uint64_t address, const struct module **found);

/* By number, as module_find gave it. */
const struct module *module_get(uint32_t number);

#endif
