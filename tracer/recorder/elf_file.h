/* elf_file.h - what the file of a program or library says: whether it can be
 * recorded, and which build it is. Any bytes may be in it: every offset is
 * checked, and a file that is cut short while it is read is an error, not a
 * signal.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_ELF_FILE_H
#define WEFT_TRACER_RECORDER_ELF_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	ELF_NEEDED_MAX = 64,
	ELF_NAME_MAX = 128,
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
	char interpreter[256];     /* of the script or the ELF file */
	char run_path[512];
	int needed_n;
	char needed[ELF_NEEDED_MAX][ELF_NAME_MAX];
};

/* Returns negative if the file cannot be read, or is neither. */
int elf_file_read(const char *path, struct elf_file *file);
/* Whether the text occurs anywhere in the file. */
bool elf_file_contains(const char *path, const char *text);
/* Find a program in PATH, as execvp does. False if there is none. */
bool elf_file_find_program(const char *name, char out[PATH_MAX]);
/* Find a library that the file at path needs. False if there is none. */
bool elf_file_find_library(const char *path, const struct elf_file *file,
			   const char *name, char out[PATH_MAX]);

struct elf_build {
	uint8_t id[ELF_BUILD_ID_MAX];
	unsigned size;             /* of the build-id in bytes; 0: none */
	char link[ELF_LINK_MAX];   /* .gnu_debuglink; "": none */
};

/* Returns negative if it is no 64-bit ELF file of this byte order. */
int elf_build_read(int fd, struct elf_build *build);

#endif
