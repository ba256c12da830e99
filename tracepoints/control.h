/* control.h - how commands reach a recording that runs: where its socket is,
 * what a request and an answer look like. What requests do is the recorder's.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

/* A recording listens on a stream socket called NAME.PID: its name, which is
 * the program's unless it was given another, and the process id of the program.
 * It lies in a folder that its user alone can enter (control_folder). The other
 * side must be of that user or root.
 *
 * Request: one line, at most CONTROL_REQUEST_MAX bytes with its newline: a word
 * (status, start, stop, finish ...) and, after a space, what the word takes.
 * Answer: lines, then the end of the stream. The first line is "ok" or "error
 * TEXT". After it, status has lines "KEY VALUE".
 *
 * watch: after "ok\n" come chunks as they pass, until one side hangs up: how
 * many words, as 32 bits, and so many words of a sealed chunk that is not
 * packed. Chunks that the reader was too slow for are left out: 32 zero bits
 * and, as 32 bits, how many. So ends, with 0 if need be, a stream that lacks
 * nothing else. All numbers have this machine's byte order.
 *
 * A socket on which nobody listens belongs to a recorder that is dead: whoever
 * finds it removes it. */
enum {
	CONTROL_REQUEST_MAX = 4096,
	CONTROL_ANSWER_MAX = 16384,
	CONTROL_NAME_MAX = 64,     /* bytes of NAME, the last one 0 */
	CONTROL_CLIENTS = 16,      /* at one time; others are turned away */
	CONTROL_SECONDS = 5,       /* for a request, and for its answer */
	CONTROL_WHY_MAX = PATH_MAX + 256,
};

/* The commands that ask a recording: X(name, operands, half a line about it). A
 * request has the same name. */
#define CONTROL_COMMANDS(X) \
	X(status, "[NAME|PID]", "list the recordings that run, or show one") \
	X(start, "[NAME|PID]", "turn a recording on") \
	X(stop, "[NAME|PID]", "turn a recording off: the program goes on") \
	X(snapshot, "[NAME|PID [REASON]]", \
	  "write what a flight recorder has in its memory") \
	X(finish, "[NAME|PID]", "end a recording: the program goes on")
/* What the help says of their operands. */
#define CONTROL_OPERANDS \
	"NAME is what weft record --name gave, or the program's name. PID\n" \
	"is the process id of the program or of its weft record. A path\n" \
	"names a socket. Without any of these, the command takes your only\n" \
	"recording that runs; weft status lists all of them."

/* The i-th place where the folder of this user's sockets may be, from 0 on: ""
 * if it is none here, or the same as the first. False: there are no more. A
 * recording takes the first that it can make; who looks for one looks in
 * all. */
bool control_folder(int i, char *out, size_t room);

/* Open that folder, if it is ours alone. Negative: it is not; see errno. */
int control_open(const char *folder);

/* The address of a socket in an open folder, however long the folder's path
 * is. False: the name is too long. */
bool control_address(struct sockaddr_un *a, int folder, const char *name);

/* Connect to the socket of that name in an open folder, and close the folder,
 * which may be negative: errno says why. Waits CONTROL_SECONDS at most, here
 * and at each read and write later. Negative: see errno. */
int control_connect_in(int folder, const char *name);

/* The process id at the end of a socket's name; 0: it is no such name. */
pid_t control_pid(const char *name);

/* Call back with the name of each recording's socket in an open folder, and a
 * connection to it, which is the callback's to close; or with a negative one
 * and errno, if the recorder does not take it. The sockets of dead recorders
 * are removed. A name that begins with a dot is that of a socket in the
 * making. */
void control_each(int folder,
		  void (*call)(void *ctx, const char *name, int connection),
		  void *ctx);

/* Send a request, without its newline. False: see errno. */
bool control_request(int connection, const char *request);

/* Receive a whole answer and close the connection. answer has room for
 * CONTROL_ANSWER_MAX bytes and ends with a 0. False: see errno. */
bool control_answer(int connection, char *answer);

/* The value of a line "KEY VALUE" of an answer, cut to room. "" if there is no
 * such line. Returns out. */
const char *control_value(const char *answer, const char *key, char *out,
			  size_t room);

/* ---- which recording ---- */

/* A recording that runs. */
struct control_found {
	char name[NAME_MAX + 1];   /* of its socket */
	int folder;                /* the i-th of control_folder */
	char answer[CONTROL_ANSWER_MAX]; /* its status; "": it does not
					  * answer */
};

/* What a user types for one: all digits: the process id of a program or of its
 * weft record; with a slash: a socket; else: a name. NULL: all. */

/* The recordings that are meant, by name. The caller frees the array. Not for a
 * socket. */
struct control_found *control_find(const char *wanted, size_t *count);

/* Connect to the only one that is meant. Negative: why says why. Its socket's
 * folder is known only if wanted is no socket. */
int control_connect(const char *wanted, struct control_found *found,
		    char why[CONTROL_WHY_MAX]);
