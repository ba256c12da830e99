/* http.h - one POST over HTTP or HTTPS, by curl as a child process.
 *
 * This folder sends profiles to servers. It may use analyzer/base, model and
 * out; it knows nothing of traces and commands. What comes from a server is
 * untrusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A file in memory, which is gone with its descriptor. */
struct http_file {
	int fd;
	char path[40];             /* as weft and its children see it */
};

/* Make an empty one. 0, or -1 with the cause in the chain. */
int http_file_init(struct http_file *);
/* A stream that writes to it from its beginning; the caller closes it. NULL,
 * with the cause in the chain. */
FILE *http_file_open(const struct http_file *);
void http_file_fini(struct http_file *);

/* A part of a form, all static texts but the file. */
struct http_part {
	const char *name, *type, *file_name;
	const struct http_file *file;
};

struct http_request {
	const char *url;           /* http_url_refused has nothing against it */
	const struct http_file *headers; /* a line each; may be empty */
	const struct http_part *parts; /* a form; of one part without a name,
	                                * the body itself */
	size_t part_count;
	size_t timeout;            /* s, of each try */
};

/* Send it. Tries again, three times in all, only where the server cannot have
 * taken it: no connection was made, or it answered 429, or 503 with
 * Retry-After. 0: the answer was a status from 200 to 299. -1 with the cause in
 * the chain. */
int http_post(const struct http_request *);

/* Why a URL is not used; NULL: it is. */
const char *http_url_refused(const char *url);
/* Nobody on the way can read what is sent: it is encrypted, or has no way. */
bool http_url_is_private(const char *url);
