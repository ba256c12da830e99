/* own_elf.h - the build-id of the test program itself. Included whole.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Put it there, in 20 bytes at most, and return its size; 0: it has none. */
static inline size_t own_build_id(uint8_t *id)
{
	const int fd = open("/proc/self/exe", O_RDONLY);
	const void *bytes;
	ssize_t size;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	size = dwelf_elf_gnu_build_id(elf, &bytes);
	if (size < 0 || size > 20)
		size = 0;
	if (size > 0)
		memcpy(id, bytes, (size_t)size);
	elf_end(elf);
	close(fd);
	return (size_t)size;
}
