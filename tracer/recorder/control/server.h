/* server.h - the socket on which a recording takes requests from its user's
 * other commands (tracepoints/control.h). Nothing here waits: a client that is
 * slow, or sends nonsense, loses its turn.
 *
 * The folder control/ has both ends of that socket. It knows no recording: what
 * a request does is told to it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/control.h"

#include <stdint.h>

/* A request's argument, and its answer. */
struct control_text {
	const char *argument;      /* behind the word, or ""; untrusted */
	char *text;                /* CONTROL_ANSWER_MAX bytes */
	size_t length;
	bool stays;                /* the answer ends with the recording */
	bool watches;              /* and chunks follow it: control_offer */
};

/* Add to an answer; what has no room is left out. Control characters in the
 * arguments are the caller's to replace (message_clean). */
__attribute__((format(printf, 2, 3)))
void control_say(struct control_text *t, const char *format, ...);

/* What a request does: word is its first word, untrusted. Writes the answer;
 * "ok" or "error TEXT" comes first. */
typedef void control_fn(void *ctx, const char *word,
			struct control_text *answer);

/* The socket and those who are connected to it. */
struct control {
	int folder, listener;      /* negative: there is no socket */
	char name[CONTROL_NAME_MAX + 16]; /* NAME.PID */
	control_fn *call;
	void *ctx;
	struct control_client *client; /* CONTROL_CLIENTS of them */
	uint32_t watchers;         /* of them */
};

/* Make the socket: of name, what stands behind its last slash, as far as a file
 * may be called so. Returns NULL, or why it cannot be had: strerror's text.
 * Then the other functions do nothing. */
const char *control_init(struct control *c, const char *name, pid_t pid,
			 control_fn *call, void *ctx);
/* Take connections, read requests, answer; never waits. now: ms, of a clock
 * that does not go back. */
void control_poll(struct control *c, uint64_t now);
/* Give a sealed chunk to those who watch; what they are too slow for is left
 * out, and counted for them. */
void control_offer(struct control *c, const uint64_t *chunk, uint32_t words);
/* Remove the socket and hang up. What was sent arrives. */
void control_fini(struct control *c);
