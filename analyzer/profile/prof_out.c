/* prof_out.c - messages and strings of a profile, into gzip.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/prof_out.h"

#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"
#include "analyzer/base/text.h"
#include "analyzer/out/out_escape.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Strings of one field, each with its number: chains of those whose hashes are
 * the same. */
struct texts {
	const char **text;
	uint32_t *chain;
	size_t count, room, chain_room;
	struct map *by_hash;
};

struct prof_out {
	gzFile gz;
	int failed;              /* errno, or -1 */
	struct arena *arena;
	struct texts shown, exact;
};

static void init_texts(struct texts *t)
{
	t->by_hash = map_new();
}

static void free_texts(struct texts *t)
{
	map_free(t->by_hash);
	mem_free(t->text);
	mem_free(t->chain);
}

struct prof_out *prof_out_new(FILE *file)
{
	struct prof_out *const out = mem_alloc(sizeof(*out));
	const int fd = dup(fileno(file));

	out->gz = fd < 0 ? NULL : gzdopen(fd, "wb6");
	out->failed = !out->gz ? errno : 0;
	if (!out->gz && fd >= 0)
		close(fd);
	out->arena = arena_new();
	init_texts(&out->shown);
	init_texts(&out->exact);
	/* String 0 is "" in every profile. */
	prof_out_shown(out, "");
	return out;
}

int prof_out_free(struct prof_out *out)
{
	int failed = out->failed, status;

	if (out->gz) {
		errno = 0;
		status = gzclose(out->gz);
		if (failed == 0 && status != Z_OK)
			failed = errno != 0 ? errno : EIO;
	}
	free_texts(&out->shown);
	free_texts(&out->exact);
	arena_free(out->arena);
	mem_free(out);
	return failed == 0 ? 0 : err_add("%s", strerror(failed));
}

/* --- messages ------------------------------------------------------------ */

struct sink {
	ProtobufCBuffer base;
	struct prof_out *out;
};

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
	struct prof_out *const out = ((struct sink *)(void *)buffer)->out;

	if (out->failed != 0 || size == 0)
		return;
	errno = 0;
	if (gzfwrite(bytes, 1, size, out->gz) != size)
		out->failed = errno != 0 ? errno : EIO;
}

void prof_out_put(struct prof_out *out, const Prof__Profile *part)
{
	struct sink sink = { { append }, out };

	protobuf_c_message_pack_to_buffer(&part->base, &sink.base);
}

/* --- strings ------------------------------------------------------------- */

/* Its number; *is_new if it was not there. */
static size_t find_or_add(struct prof_out *out, struct texts *t,
			  const char *text, int *is_new)
{
	uint32_t *const head = map_put(t->by_hash, text_hash(1, text), 0);
	const size_t i = t->count;

	*is_new = 0;
	/* Chains hold numbers from 1 on. */
	for (uint32_t k = *head; k > 0; k = t->chain[k - 1])
		if (strcmp(t->text[k - 1], text) == 0)
			return k - 1;
	vec_need(&t->text, &t->room, i + 1);
	vec_need(&t->chain, &t->chain_room, i + 1);
	t->text[i] = arena_copy(out->arena, text, strlen(text));
	t->chain[i] = *head;
	t->count = i + 1;
	*head = (uint32_t)t->count;
	*is_new = 1;
	return i;
}

static int64_t put_shown(struct prof_out *out, char *safe)
{
	Prof__Profile part = PROF__PROFILE__INIT;
	int is_new;
	const size_t i = find_or_add(out, &out->shown, safe, &is_new);

	if (is_new) {
		part.n_string_table = 1;
		part.string_table = &safe;
		prof_out_put(out, &part);
	}
	return (int64_t)i;
}

int64_t prof_out_shown(struct prof_out *out, const char *text)
{
	char *const safe = out_escape_terminal(text);
	const int64_t i = put_shown(out, safe);

	mem_free(safe);
	return i;
}

/* 2 x a number in string_table, or 2 x one in weft_text + 1. */
uint64_t prof_out_text(struct prof_out *out, const char *text)
{
	Prof__Profile part = PROF__PROFILE__INIT;
	char *const safe = out_escape_terminal(text);
	const int is_safe = strcmp(safe, text) == 0;
	const uint64_t shown = is_safe ? (uint64_t)put_shown(out, safe) : 0;
	ProtobufCBinaryData bytes;
	size_t i;
	int is_new;

	mem_free(safe);
	if (is_safe)
		return shown * 2;
	i = find_or_add(out, &out->exact, text, &is_new);
	if (is_new) {
		bytes.len = strlen(text);
		bytes.data = (uint8_t *)(uintptr_t)text;
		part.n_weft_text = 1;
		part.weft_text = &bytes;
		prof_out_put(out, &part);
	}
	return i * 2 + 1;
}
