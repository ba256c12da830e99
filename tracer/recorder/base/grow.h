/* grow.h - arrays that grow while there is memory.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Have room for so many elements of a size. array: the address of a pointer,
 * NULL at first. False: there is no memory, and all is as it was. */
static inline bool grow(void *array, size_t *room, size_t wanted, size_t size)
{
	void *grown;
	size_t more = *room ? *room : 64;

	while (more < wanted)
		more *= 2;
	if (more == *room)
		return true;
	memcpy(&grown, array, sizeof(grown));
	grown = realloc(grown, more * size);
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return true;
}
