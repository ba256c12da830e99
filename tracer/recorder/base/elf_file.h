/* elf_file.h - what the file of a program or library says: whether it can be
 * recorded, and which build it is. Any bytes may be in it: every offset is
 * checked, and a file that is cut short while it is read is an error, not a
 * signal.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	/* What exceeds these limits is left out or cut. */
	ELF_BUILD_ID_MAX = 20,     /* bytes */
	ELF_LINK_MAX = 256,
};

/* A script counts as a file that can be read: it names its interpreter. */
struct elf_file {
	bool is_script, is_elf;
	bool is_foreign;           /* 32-bit, or for another machine */
	bool is_static;            /* no interpreter: nothing is preloaded */
	bool is_privileged;        /* the loader drops preloaded libraries */
	bool wants_hooks;          /* __cyg_profile_func_enter is undefined */
	bool has_hooks;            /* ... is defined */
	bool has_lua;              /* defines lua_newstate */
	bool needs_asan;           /* AddressSanitizer's library */
	char interpreter[256];     /* of the script or the ELF file */
};

/* Read what the file says. Returns 0, or negative if it cannot be read or is
 * neither an ELF file nor a script. Prints nothing. */
int elf_file_read(const char *path, struct elf_file *file);
/* Whether the text occurs anywhere in the file. False, too, if the file cannot
 * be read. */
bool elf_file_contains(const char *path, const char *text);
/* Find a program in PATH, as execvp does. A name with a slash is taken as it is
 * and only has to exist. False if there is none; out is then of no use. */
bool elf_file_find_program(const char *name, char out[PATH_MAX]);
/* What identifies a build and leads to its debug file. */
struct elf_build {
	uint8_t id[ELF_BUILD_ID_MAX];
	unsigned size;             /* of the build-id in bytes; 0: none */
	char link[ELF_LINK_MAX];   /* .gnu_debuglink; "": none */
};

/* Read both from an open file, whose offset does not move. Returns 0, or
 * negative if it is no 64-bit ELF file of this byte order. A file without a
 * build-id is no error: size is 0. */
int elf_build_read(int fd, struct elf_build *build);

/* The functions that the symbol tables of an open file define: once for each
 * address, with all its names, which are valid during the call. Returns 0, or
 * negative if it is no such file or there is no memory. */
typedef void elf_function_fn(void *ctx, uint64_t address,
			     const char *const *name, unsigned names);
int elf_functions_each(int fd, elf_function_fn *fn, void *ctx);

/* The value and size of a symbol that the open file defines for others. False:
 * it defines none. */
bool elf_symbol_find(int fd, const char *name, uint64_t *value, uint64_t *size);

/* Where a file that is open wants its byte at offset to be, which is in a
 * segment that can be executed, and where its last segment ends: addresses
 * before the load bias. False: it does not say. */
bool elf_load_read(int fd, uint64_t offset, uint64_t *address, uint64_t *end);
