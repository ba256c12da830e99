/* sym_plt.h - the words of an ELF file that the loader fills with the address
 * of an imported function, and the PLT entries that jump through them. The file
 * is untrusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* An entry, and the "jmp *slot(%rip)" in it: the same place in old PLTs, behind
 * an endbr64 in new ones. */
struct sym_stub { uint64_t entry, jump; };

enum { SYM_STUB_BYTES = 16 };    /* a usual entry */

struct sym_plt {
	uint64_t *slot; size_t slots, slot_room;
	struct sym_stub *stub; size_t stubs, stub_room;
};

/* Of all functions whose names begin so. Ends with sym_plt_fini. */
void sym_plt_find(struct sym_plt *, Elf *, const char *begin);
void sym_plt_fini(struct sym_plt *);
