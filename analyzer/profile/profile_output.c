/* profile_output.c - a profile's file while it is written.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/profile_output.h"

#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/out/out_escape.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- messages ---- */

/* Strings, each written once, by their numbers. Those of one hash form a
 * chain. */
struct texts {
	const char **text;
	uint32_t *chain;         /* number + 1 of the next; 0: the last */
	size_t count, room, chain_room;
	struct map *by_hash;     /* to number + 1 of the first */
};

/* A file that is being written. The first error stays, and nothing is written
 * after it. */
struct output {
	gzFile gz;
	int failed;              /* errno */
	struct arena *arena;     /* holds the strings */
	struct texts shown, own; /* own: the session's */
	struct out_message session, head; /* head: of a field */
};

static void append(struct output *out, const void *bytes, size_t size)
{
	if (out->failed != 0 || size == 0)
		return;
	errno = 0;
	if (gzfwrite(bytes, 1, size, out->gz) != size)
		out->failed = errno != 0 ? errno : EIO;
}

void output_put(struct output *out, const struct out_message *fields)
{
	append(out, fields->bytes, fields->size);
}

/* A field of any size, whose bytes are not copied. */
static void put_bytes(struct output *out, unsigned field, const void *bytes,
		      size_t size)
{
	out_message_field(out_message_begin(&out->head), field, OUT_BYTES, size,
			  NULL, 0);
	output_put(out, &out->head);
	append(out, bytes, size);
}

/* ---- strings ---- */

/* The number of a string; *is_new if it was not there, so that the caller
 * writes it. The copy is the output's. */
static size_t find_or_add(struct output *out, struct texts *t,
			  const char *text, bool *is_new)
{
	uint32_t *const head = map_put(t->by_hash, text_hash(1, text), 0);
	const size_t i = t->count;

	*is_new = false;
	for (uint32_t k = *head; k > 0; k = t->chain[k - 1])
		if (strcmp(t->text[k - 1], text) == 0)
			return k - 1;
	vec_need(&t->text, &t->room, i + 1);
	vec_need(&t->chain, &t->chain_room, i + 1);
	t->text[i] = arena_copy(out->arena, text, strlen(text));
	t->chain[i] = *head;
	t->count = i + 1;
	*head = (uint32_t)t->count;
	*is_new = true;
	return i;
}

uint64_t output_shown(struct output *out, const char *text)
{
	char *safe = out_escape_terminal(text);
	bool is_new;
	const size_t i = find_or_add(out, &out->shown, safe, &is_new);

	if (is_new)
		put_bytes(out, PPROF_STRING, safe, strlen(safe));
	mem_free(safe);
	return i;
}

/* ---- the session ---- */

void output_number(struct output *out, uint64_t value)
{
	out_message_varint(&out->session, value);
}

void output_text(struct output *out, const char *text)
{
	const size_t n = strlen(text);
	bool is_new;
	const size_t i = find_or_add(out, &out->own, text, &is_new);

	output_number(out, is_new ? 0 : i + 1);
	if (!is_new)
		return;
	output_number(out, n);
	vec_need(&out->session.bytes, &out->session.room,
		 out->session.size + n);
	memcpy(out->session.bytes + out->session.size, text, n);
	out->session.size += n;
}

void output_session(struct output *out)
{
	put_bytes(out, PPROF_SESSION, out->session.bytes, out->session.size);
	/* String 0 is "" in every profile. */
	output_shown(out, "");
}

/* ---- opening and closing ---- */

static void free_texts(struct texts *t)
{
	map_free(t->by_hash);
	mem_free_all(t->text, t->chain);
}

struct output *output_open(FILE *file)
{
	struct output *const out = mem_alloc(sizeof(*out));
	const int fd = dup(fileno(file));

	out->gz = fd < 0 ? NULL : gzdopen(fd, "wb6");
	out->failed = !out->gz ? errno : 0;
	if (!out->gz && fd >= 0)
		close(fd);
	out->arena = arena_new();
	out->shown.by_hash = map_new();
	out->own.by_hash = map_new();
	return out;
}

int output_close(struct output *out)
{
	int failed = out->failed, status;

	if (out->gz) {
		errno = 0;
		status = gzclose(out->gz);
		if (failed == 0 && status != Z_OK)
			failed = errno != 0 ? errno : EIO;
	}
	free_texts(&out->shown);
	free_texts(&out->own);
	arena_free(out->arena);
	mem_free_all(out->session.bytes, out->head.bytes, out);
	return failed == 0 ? 0 : err_add("%s", strerror(failed));
}
