/* elf_id.h - which build an ELF file is, and where its debug file lies, as it
 * says itself. The file may be anything: every offset is checked.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_ELF_ID_H
#define WEFT_RECORDER_ELF_ID_H

#include <stdint.h>

enum { ELF_ID_BYTES = 20, ELF_ID_LINK = 256 };

struct elf_id {
	uint8_t id[ELF_ID_BYTES];
	unsigned size;             /* of the build-id; 0: none */
	char link[ELF_ID_LINK];    /* .gnu_debuglink, "" if none */
};

/* Negative: it is no 64-bit ELF file of this byte order. */
int elf_id_read(int fd, struct elf_id *id);

#endif
