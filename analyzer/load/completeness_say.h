/* completeness_say.h - what completeness.c and completeness_times.c say
 * sentences with; private to them.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdint.h>

/* Who is told, and how many sentences that were. */
struct teller {
	void (*fn)(void *ctx, const char *sentence); /* NULL: nobody */
	void *ctx;
	size_t count;
};

/* One sentence to whoever is told. Names in it are shortened by the formats;
 * what is longer than the buffer is cut off. */
void completeness_say(struct teller *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "COUNT NOUNS WORDS"; nothing if the count is 0. */
void completeness_say_count(struct teller *, uint64_t count, const char *nouns,
			    const char *words);
/* Short, as all of these files is sentences. */
#define say completeness_say
#define say_count completeness_say_count

/* The sum over the threads of the uint64_t field at this offset. */
uint64_t completeness_sum(const struct session *, size_t offset);
/* The sum of one count over all threads of the session. */
#define SUM(session, field) \
	completeness_sum(session, offsetof(struct thread, field))

/* How many Lua states LuaJIT's compiler was off in. */
uint64_t completeness_jit_off(const struct session *);
