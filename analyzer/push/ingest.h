/* ingest.h - what two servers of profiles document: where a profile is posted
 * to, and how its labels are told.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"
#include "analyzer/push/http.h"

/* The order is that of the option's choices. */
enum ingest_server { INGEST_PYROSCOPE, INGEST_PARCA };

struct ingest {
	enum ingest_server server;
	const char *url;           /* of the server, perhaps with its path */
	const struct http_file *profile; /* pprof, gzipped */
	const struct http_file *headers;
	size_t timeout;            /* s */
};

/* Post a session's profile. Its service is what the label "service" says, or
 * the program's name; labels that all its processes share go along. 0, or -1
 * with the cause in the chain. */
int ingest_post(const struct ingest *, const struct session *);
