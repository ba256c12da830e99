/* image.h - what a program's file tells about whether it can be recorded.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_IMAGE_H
#define WEFT_RECORDER_IMAGE_H

#include <limits.h>
#include <stdbool.h>

enum { IMAGE_MAX_NEEDED = 64, IMAGE_NAME = 128 };

struct image {
	bool is_script, is_elf;
	bool is_foreign;           /* 32-bit, or another machine's */
	bool is_static;            /* no interpreter: nothing is preloaded */
	bool is_privileged;        /* the loader drops preloads */
	bool wants_hooks;          /* __cyg_profile_func_enter undefined */
	bool has_hooks;            /* ... defined */
	bool has_lua;              /* a Lua of its own, linked statically */
	char interpreter[256];     /* of script or ELF */
	char run_path[512];
	int needed_n;
	char needed[IMAGE_MAX_NEEDED][IMAGE_NAME];
};

/* Negative: it cannot be read, or is neither. */
int image_read(const char *path, struct image *image);
/* Does that text stand anywhere in the file? */
bool image_has_text(const char *path, const char *text);
/* Find a program as execvp would. False: not to be found. */
bool image_search(const char *name, char out[PATH_MAX]);
/* Find a library the image needs. */
bool image_library(const char *path, const struct image *image,
		   const char *name, char out[PATH_MAX]);

#endif
