/* sym_plt.h - the words of an ELF file that the loader fills with the address
 * of an imported function, and the PLT entries that jump through them. The file
 * is untrusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* An entry, and the jump in it, "jmp *slot(%rip)" or "adrp x16, slot" and what
 * follows: the same place in old PLTs, behind a landing pad in new ones. */
struct sym_stub { uint64_t entry, jump; };

enum { SYM_STUB_BYTES = 16 };    /* a usual entry */

struct sym_plt {
	uint64_t *slot; size_t slots, slot_room;
	struct sym_stub *stub; size_t stubs, stub_room;
};

/* The page that an aarch64 instruction at that address, adrp, yields; and what
 * one with an offset of 12 bits adds to it, in units of so many bytes. */
static inline uint64_t sym_plt_page(uint32_t adrp, uint64_t at)
{
	const uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 |
			       (adrp >> 29 & 3);

	return (at & ~UINT64_C(4095)) +
	       ((pages ^ UINT64_C(1) << 20) - (UINT64_C(1) << 20)) * 4096;
}

static inline uint64_t sym_plt_offset(uint32_t code, uint64_t unit)
{
	return (code >> 10 & 0xfff) * unit;
}

/* Of all functions whose names begin so. Ends with sym_plt_fini. */
void sym_plt_find(struct sym_plt *, Elf *, const char *begin);
void sym_plt_fini(struct sym_plt *);
