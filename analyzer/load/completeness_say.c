/* completeness_say.c - one sentence on what a trace lacks, and sums for it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/completeness_say.h"
#include "analyzer/out/out_number.h"

#include <stdarg.h>
#include <stdio.h>

void completeness_say(struct teller *t, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	t->count++;
	if (t->fn)
		t->fn(t->ctx, text);
}

uint64_t completeness_sum(const struct session *s, size_t offset)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->thread_count; i++)
		sum += *(const uint64_t *)((const char *)&s->threads[i] +
					   offset);
	return sum;
}

void completeness_say_count(struct teller *t, uint64_t count, const char *nouns,
			    const char *words)
{
	char text[OUT_NUMBER];

	if (count > 0)
		say(t, "%s%s", out_number_many(text, count, nouns), words);
}

/* A profile lists some one by one, and only counts the others. */
uint64_t completeness_jit_off(const struct session *s)
{
	uint64_t off = s->beyond.vms_jit_off;

	for (size_t i = 0; i < s->vm_count; i++)
		off += (s->vms[i].flags & VM_JIT_OFF) != 0;
	return off;
}
