/* sym_elf.h - what an ELF file tells: whether it is a certain module, and
 * names, files and lines of its functions, from symbol table and debug
 * information. To be called in a process that may crash or hang: the file is
 * untrusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/func.h"
#include "analyzer/sym/sym_symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>

/* ---- the file ---- */

/* What a file is wanted for: names of functions, or machine code. A debug file
 * has the names, a stripped file has the code and exported names. */
enum sym_want { SYM_NAMES, SYM_CODE };

/* What a file can tell, the least first. For names: exported ones; all; all
 * with files and lines. For code: WORTH_ALL if it has any. */
enum sym_worth { WORTH_NOTHING, WORTH_EXPORTS, WORTH_NAMES, WORTH_ALL };

/* What a valid ELF file can tell, by its section headers. */
enum sym_worth sym_elf_worth(Elf *, enum sym_want);

/* Is the file that module? Build-ids are compared or, if none was recorded, the
 * sizes in memory. If not, why (size bytes) says how it differs. */
bool sym_elf_is_module(const struct elf_module *, Elf *, char *why,
		       size_t size);

/* The CRC-32 of the whole file, as .gnu_debuglink has it (zlib's). The place in
 * the file does not move. */
uint32_t sym_elf_crc(int fd);

/* ---- names ---- */

/* A unit of the debug information: one compiled source file. Strings are the
 * file's, valid as long as it is open. */
struct sym_unit {
	Dwarf_Die *die;
	const char *folder;    /* where the compiler ran, or NULL */
	const char *source;    /* or NULL */
};

/* die is the unit's own, and stays the caller's. */
struct sym_unit sym_unit_of(Dwarf_Die *);

/* The abstract description that die is an instance of, or die itself. */
Dwarf_Die sym_die_root(Dwarf_Die *);

/* The name of a function, valid until the next call; NULL if it has none. In
 * C++ that is its linker name, demangled, with the signature. If that cannot be
 * demangled, as newer compilers mangle in ways of their own, it is its plain
 * name behind those of its classes and namespaces; otherwise its plain name.
 * symbol: the linker name for a function whose debug information has none, or
 * NULL. */
const char *sym_die_name(Dwarf_Die *, const char *symbol);

/* Where the function is declared. Of one that the compiler made, such as a
 * lambda's operator(), where the code at address begins. If that is not known,
 * file (size bytes) becomes "" and *line 0. */
void sym_die_place(const struct sym_unit *, Dwarf_Die *, uint64_t address,
		   char *file, size_t size, uint32_t *line);

/* Open the file for libdw. NULL if libdw cannot read it; otherwise the caller
 * ends *dwfl with dwfl_end. fd stays the caller's. */
Dwfl_Module *sym_elf_open(int fd, const char *path, Dwfl **dwfl);

/* A function whose name is asked for, by the address of its entry in the file
 * (without the load bias). id is the caller's, and is only handed back. */
struct sym_query { uint64_t offset; uint32_t id; };

/* Gets an answer; name and file may be "", line 0. Of several answers for one
 * function the last is the best. */
typedef void (*sym_answer_fn)(void *ctx, uint32_t id, const char *name,
			      const char *file, uint32_t line);

/* Answer the queries (which are sorted in place) from the file open as fd: from
 * the symbol table, which is quick, then from the debug information. Returns 0,
 * or -1 with the reason in why if libdw cannot read the file. */
int sym_elf_name(int fd, const char *path, struct sym_query *, size_t count,
		 sym_answer_fn, void *ctx, char *why, size_t why_size);
