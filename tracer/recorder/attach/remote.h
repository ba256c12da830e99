/* remote.h - another process, as seen through /proc: its memory, the modules
 * that it maps, and where their symbols are. All of it may be anything.
 *
 * The folder attach/ has what is needed to record a program that runs already.
 * It uses base/ and process/, and must not know where chunks go.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote {
	pid_t pid;
	int mem;                   /* /proc/PID/mem; negative: not open */
};

/* Open the process's memory. Returns 0 or a negative errno. */
int remote_open(struct remote *r, pid_t pid);
void remote_close(struct remote *r);
/* Whether all of it could be read or written. */
bool remote_read(const struct remote *r, uint64_t at, void *to, size_t n);
bool remote_write(const struct remote *r, uint64_t at, const void *from,
		  size_t n);

/* Does all of it lie in one mapping that the process itself may write? (The
 * above writes in others, too.) */
bool remote_may_write(const struct remote *r, uint64_t from, uint64_t to);
/* Where the memory ends that lies there and that the process may write; 0:
 * there is none. */
uint64_t remote_end_at(const struct remote *r, uint64_t at);

/* A module of the process. */
struct remote_module {
	uint64_t start, end;       /* of the mapping of its file's first byte */
	uint64_t code, code_end;   /* the part that can be executed */
	char path[PATH_MAX];       /* as the process sees it */
};

/* Find the module whose file's name begins so. False: it maps none. */
bool remote_find(const struct remote *r, const char *name,
		 struct remote_module *m);
/* The same, for the first one whose path this function accepts. */
typedef bool remote_fits_fn(const struct remote *r, const char *path,
			    const void *ctx);
bool remote_find_if(const struct remote *r, remote_fits_fn *fits,
		    const void *ctx, struct remote_module *m);
/* The address of a symbol that the module defines; 0: it defines none. */
uint64_t remote_symbol(const struct remote *r, const struct remote_module *m,
		       const char *name);
/* The same, with the size that the symbol gives. */
uint64_t remote_object(const struct remote *r, const struct remote_module *m,
		       const char *name, uint64_t *size);
