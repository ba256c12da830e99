/* sym_look.c - what a function's machine code does: calls the hook, holds its
 * own address.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_code_state.h"

#include <stdlib.h>

enum { FUNCTION_MAX = 1 << 26 };

int sym_code_has_hook(const struct sym_code *c)
{
	return c->stub_count + c->got_count > 0;
}

int sym_code_holds(const struct sym_code *c, uint64_t address)
{
	uint64_t room;

	return sym_code_at(c, address, &room) != NULL;
}

const unsigned char *sym_code_at(const struct sym_code *c, uint64_t address,
				 uint64_t *room)
{
	for (size_t i = 0; i < c->part_count; i++) {
		const GElf_Phdr *const part = &c->parts[i];

		if (address < part->p_vaddr ||
		    address - part->p_vaddr >= part->p_filesz)
			continue;
		*room = part->p_filesz - (address - part->p_vaddr);
		return c->bytes + part->p_offset + (address - part->p_vaddr);
	}
	return NULL;
}

int sym_code_by_address(const void *a, const void *b)
{
	const struct slot *const x = a, *const y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int slot_holds(const struct sym_code *c, uint64_t at, uint64_t value)
{
	const struct slot key = { at, 0 };
	const struct slot *const slot = c->slot_count == 0 ? NULL :
		bsearch(&key, c->slots, c->slot_count, sizeof(key),
			sym_code_by_address);

	return slot && slot->holds == value;
}

/* b[0..3] is what may be a distance from address at + 4. Is it that of a call
 * or jump to the hook, or of a load of its address? b[-1], b[-2] are there. */
static int is_hook(const struct sym_code *c, const unsigned char *b,
		   uint64_t at)
{
	const uint64_t target = at + 4 + (uint64_t)sym_code_distance(b);

	if ((b[-1] == 0xe8 || b[-1] == 0xe9) &&
	    sym_code_is_in(c->stubs, c->stub_count, target))
		return 1;
	return ((b[-2] == 0xff && (b[-1] == 0x15 || b[-1] == 0x25)) ||
		(b[-2] == 0x8b && (b[-1] & 0xc7) == 0x05)) &&
	       sym_code_is_in(c->gots, c->got_count, target);
}

/* The same for the function's own address: lea, a load from a slot that holds
 * it, or a constant. */
static int is_entry(const struct sym_code *c, const unsigned char *b,
		    uint64_t at, uint64_t entry)
{
	const uint64_t target = at + 4 + (uint64_t)sym_code_distance(b);

	if ((b[-1] & 0xc7) == 0x05 && b[-2] == 0x8d)
		return target == entry;
	if ((b[-1] & 0xc7) == 0x05 && b[-2] == 0x8b)
		return slot_holds(c, target, entry);
	if ((b[-1] & 0xf8) == 0xb8 ||
	    (b[-2] == 0xc7 && (b[-1] & 0xf8) == 0xc0))
		return (uint64_t)sym_code_distance(b) == entry;
	return 0;
}

/* movabs: eight bytes. */
static int is_constant(const unsigned char *b, uint64_t entry)
{
	return (b[-1] & 0xf8) == 0xb8 && (b[-2] & 0xf8) == 0x48 &&
	       memcmp(b, &entry, sizeof(entry)) == 0;
}

int sym_code_look(const struct sym_code *c, uint64_t address, uint64_t size,
		  uint64_t entry)
{
	uint64_t room;
	const unsigned char *const bytes = sym_code_at(c, address, &room);
	int found = 0;

	if (!bytes)
		return 0;
	if (size > room)
		size = room;
	if (size > FUNCTION_MAX)
		size = FUNCTION_MAX;
	for (uint64_t i = 2; i + 4 <= size &&
	     found != (SYM_CALLS_HOOK | SYM_NAMES_ITSELF); i++) {
		if (is_hook(c, bytes + i, address + i))
			found |= SYM_CALLS_HOOK;
		if (is_entry(c, bytes + i, address + i, entry) ||
		    (i + 8 <= size && is_constant(bytes + i, entry)))
			found |= SYM_NAMES_ITSELF;
	}
	return found;
}
