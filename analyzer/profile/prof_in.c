/* prof_in.c - unpacks gzip and finds the fields of a protobuf message. Knows
 * nothing of what they mean. How much a file may unpack to is bounded.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/prof_in.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { FIELD_BYTES = 16 << 20, STEP = 65536, WIRE_NUMBER = 0, WIRE_64 = 1,
       WIRE_BYTES = 2, WIRE_32 = 5 };

/* A file of zeros unpacks to a thousand times its size. */
#define WHOLE_BYTES (UINT64_C(4) << 30)

struct prof_in {
	gzFile gz;
	uint8_t *bytes;
	size_t room;
	uint64_t taken;        /* bytes unpacked so far */
};

struct prof_in *prof_in_new(const char *path)
{
	gzFile gz = gzopen(path, "rbe");
	struct prof_in *in;

	if (!gz) {
		err_add("%s", errno == 0 ? "out of memory" : strerror(errno));
		return NULL;
	}
	gzbuffer(gz, STEP);
	in = mem_alloc(sizeof(*in));
	in->gz = gz;
	return in;
}

void prof_in_free(struct prof_in *in)
{
	if (!in)
		return;
	gzclose(in->gz);
	mem_free(in->bytes);
	mem_free(in);
}

static int say_damage(struct prof_in *in)
{
	int status;
	const char *const why = gzerror(in->gz, &status);

	if (status == Z_ERRNO)
		return err_add("%s", strerror(errno));
	if (status != Z_OK && status != Z_STREAM_END)
		return err_add("it is damaged or cut (%s)", why);
	return err_add("it is damaged or cut");
}

/* All of that many bytes, or -1. */
static int take(struct prof_in *in, void *to, size_t size)
{
	in->taken += size;
	if (in->taken > WHOLE_BYTES)
		return err_add("it unpacks to more than 4 GiB");
	if (gzfread(to, 1, size, in->gz) != size)
		return say_damage(in);
	return 0;
}

/* Nothing is left, and what was there was whole: 0. */
static int end(struct prof_in *in)
{
	int status;

	gzerror(in->gz, &status);
	return gzeof(in->gz) && (status == Z_OK || status == Z_STREAM_END) ?
		0 : say_damage(in);
}

/* A number. At the end of all: 1 if may_end. */
static int take_number(struct prof_in *in, uint64_t *value, int may_end)
{
	*value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		const int byte = gzgetc(in->gz);

		if (byte < 0 && shift == 0 && may_end)
			return end(in) == 0 ? 1 : -1;
		if (byte < 0)
			return say_damage(in);
		if (++in->taken > WHOLE_BYTES)
			return err_add("it unpacks to more than 4 GiB");
		if (shift == 63 && byte > 1)
			break;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return 0;
	}
	return err_add("it is damaged: a number is too long");
}

static int skip(struct prof_in *in, uint64_t size)
{
	uint8_t room[STEP];

	for (; size > 0; size -= size < STEP ? size : STEP)
		if (take(in, room, size < STEP ? (size_t)size : STEP) != 0)
			return -1;
	return 0;
}

static int take_bytes(struct prof_in *in, int is_wanted,
		      struct prof_in_field *f)
{
	uint64_t size;

	if (take_number(in, &size, 0) != 0)
		return -1;
	if (!is_wanted)
		return skip(in, size);
	if (size > FIELD_BYTES)
		return err_add("it is damaged: a field has %llu bytes",
			       (unsigned long long)size);
	f->size = (size_t)size;
	vec_need(&in->bytes, &in->room, f->size + 1);
	f->bytes = in->bytes;
	return take(in, in->bytes, f->size);
}

int prof_in_next(struct prof_in *in, int (*wanted)(uint64_t),
		 struct prof_in_field *f)
{
	for (;;) {
		uint64_t tag;
		const int status = take_number(in, &tag, 1);
		int is_wanted;

		if (status != 0)
			return status < 0 ? -1 : 0;
		*f = (struct prof_in_field){ .number = tag >> 3 };
		is_wanted = wanted(f->number);
		switch (tag & 7) {
		case WIRE_NUMBER:
			if (take_number(in, &f->value, 0) != 0)
				return -1;
			break;
		case WIRE_BYTES:
			if (take_bytes(in, is_wanted, f) != 0)
				return -1;
			break;
		case WIRE_64:
		case WIRE_32:
			if (skip(in, (tag & 7) == WIRE_64 ? 8 : 4) != 0)
				return -1;
			break;
		default:
			return err_add("it is damaged: no such kind of field");
		}
		if (is_wanted)
			return 1;
	}
}
