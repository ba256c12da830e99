/* out_message.h - protobuf messages, put together field by field: the formats
 * of pprof and of Perfetto have few and small ones.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/vec.h"

#include <stdint.h>

/* Zeroed at first; bytes is to be freed with mem_free. */
struct out_message { uint8_t *bytes; size_t size, room; };

enum out_wire { OUT_VARINT = 0, OUT_FIXED64 = 1, OUT_BYTES = 2 };

/* An empty one, in the same room. */
static inline struct out_message *out_message_begin(struct out_message *m)
{
	m->size = 0;
	return m;
}

static inline uint8_t *out_message_put(uint8_t *at, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		*at++ = (uint8_t)(value | 128);
	*at++ = (uint8_t)value;
	return at;
}

/* Append a field's key, a number, and so many bytes. */
static inline void out_message_field(struct out_message *m, unsigned field,
				     enum out_wire wire, uint64_t number,
				     const void *bytes, size_t size)
{
	uint8_t *at;

	vec_need(&m->bytes, &m->room, m->size + 20 + size);
	at = out_message_put(m->bytes + m->size, field << 3 | wire);
	if (wire != OUT_FIXED64)
		at = out_message_put(at, number);
	if (size > 0)
		at = mempcpy(at, bytes, size);
	m->size = (size_t)(at - m->bytes);
}

/* A number of its own: one of a packed field. */
static inline void out_message_varint(struct out_message *m, uint64_t value)
{
	vec_need(&m->bytes, &m->room, m->size + 10);
	m->size = (size_t)(out_message_put(m->bytes + m->size, value) -
			   m->bytes);
}

static inline void out_message_number(struct out_message *m, unsigned field,
				      uint64_t value)
{
	out_message_field(m, field, OUT_VARINT, value, NULL, 0);
}

static inline void out_message_fixed(struct out_message *m, unsigned field,
				     uint64_t value)
{
	out_message_field(m, field, OUT_FIXED64, 0, &value, sizeof(value));
}

static inline void out_message_text(struct out_message *m, unsigned field,
				    const char *text)
{
	const size_t size = strlen(text);

	out_message_field(m, field, OUT_BYTES, size, text, size);
}

/* A message, or the numbers of a packed field. */
static inline void out_message_add(struct out_message *m, unsigned field,
				   const struct out_message *inner)
{
	out_message_field(m, field, OUT_BYTES, inner->size, inner->bytes,
			  inner->size);
}
