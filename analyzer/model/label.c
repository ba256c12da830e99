/* label.c - the labels of processes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/label.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"

#include <stdlib.h>
#include <string.h>

/* By key; of one key the one that wins comes first. */
static int by_key(const void *a, const void *b)
{
	const struct label *const x = *(const void *const *)a;
	const struct label *const y = *(const void *const *)b;
	const int order = strcmp(x->key, y->key);

	if (order != 0)
		return order;
	if ((x->process == 0) != (y->process == 0))
		return x->process == 0 ? 1 : -1;
	return x > y ? -1 : x < y;
}

/* The first that is of a process from this one on. */
static size_t first_of(const struct session *s, uint32_t process)
{
	size_t low = 0, high = s->label_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->labels[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t add(const struct session *s, uint64_t recording, size_t from,
		  size_t to, const struct label **list, size_t n)
{
	for (size_t i = from; i < to; i++)
		if (s->labels[i].recording == recording)
			list[n++] = &s->labels[i];
	return n;
}

const struct label **label_list(const struct session *s, uint32_t process,
				size_t *count)
{
	const uint64_t recording = s->processes[process].recording;
	const size_t all = first_of(s, 1);
	const size_t from = first_of(s, process + 1);
	const size_t to = first_of(s, process + 2);
	const struct label **const list =
		mem_alloc((all + to - from + 1) * sizeof(const struct label *));
	size_t n = add(s, recording, 0, all, list, 0), kept = 0;

	n = add(s, recording, from, to, list, n);
	if (n > 0)
		qsort(list, n, sizeof(const struct label *), by_key);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || strcmp(list[kept - 1]->key, list[i]->key) != 0)
			list[kept++] = list[i];
	*count = kept;
	return list;
}

int label_compare(const struct session *s, uint32_t process,
		  const struct session *t, uint32_t other)
{
	size_t n, k;
	const struct label **const a = label_list(s, process, &n);
	const struct label **const b = label_list(t, other, &k);
	int order = 0;

	for (size_t i = 0; i < n && i < k && order == 0; i++) {
		order = strcmp(a[i]->key, b[i]->key);
		if (order == 0)
			order = strcmp(a[i]->value, b[i]->value);
	}
	mem_free(a);
	mem_free(b);
	return order != 0 ? order : n < k ? -1 : n > k;
}

uint64_t label_hash(const struct session *s, uint32_t process)
{
	size_t n;
	const struct label **const list = label_list(s, process, &n);
	uint64_t h = 1;

	for (size_t i = 0; i < n; i++)
		h = text_hash(text_hash(h, list[i]->key), list[i]->value);
	mem_free(list);
	return h;
}

void label_insert(struct session *s, const struct label *l)
{
	const size_t at = first_of(s, l->process + 1);

	memmove(&s->labels[at + 1], &s->labels[at],
		(s->label_count - at) * sizeof(*s->labels));
	s->labels[at] = *l;
	s->label_count++;
}
