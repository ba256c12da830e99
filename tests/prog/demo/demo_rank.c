/* demo_rank.c - the library of documents, the vocabulary they share, and which
 * documents answer a query best.
 * SPDX-License-Identifier: MIT */
#include "demo.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct library library;

/* In how many documents each word is. In parts, so that indexing threads
 * seldom wait for each other. */
enum { PARTS = 16 };

static struct part {
	pthread_mutex_t lock;
	struct bag words;
} vocabulary[PARTS];

static struct part *part_of(const struct word *word)
{
	return &vocabulary[word->hash >> 60];
}

static int read_document(const char *path, struct document *document)
{
	FILE *in = fopen(path, "r");

	if (!in) {
		perror(path);
		return -1;
	}
	fseek(in, 0, SEEK_END);
	const long size = ftell(in);
	rewind(in);
	document->path = path;
	document->text = malloc(size > 0 ? (size_t)size : 1);
	if (document->text && size > 0)
		document->size = fread(document->text, 1, (size_t)size, in);
	fclose(in);
	return !document->text ? -1 : 0;
}

int library_read(char *const paths[], size_t count)
{
	library.documents = calloc(count, sizeof(*library.documents));
	if (!library.documents)
		return -1;
	for (size_t i = 0; i < PARTS; i++)
		pthread_mutex_init(&vocabulary[i].lock, NULL);
	for (; library.count < count; library.count++)
		if (read_document(paths[library.count],
				  &library.documents[library.count]) != 0)
			return -1;
	TALLY(documents, library.count);
	return 0;
}

void library_free(void)
{
	for (size_t i = 0; i < library.count; i++) {
		bag_free(&library.documents[i].words);
		free(library.documents[i].text);
	}
	free(library.documents);
	for (size_t i = 0; i < PARTS; i++)
		bag_free(&vocabulary[i].words);
}

void vocabulary_clear(void)
{
	for (size_t i = 0; i < PARTS; i++)
		bag_clear(&vocabulary[i].words);
}

void vocabulary_add(const struct word *word)
{
	struct part *part = part_of(word);

	COUNT(vocabulary_add);
	pthread_mutex_lock(&part->lock);
	bag_add(&part->words, word, 1);
	pthread_mutex_unlock(&part->lock);
}

uint64_t index_document(struct document *document)
{
	struct text text = { document->text, document->text + document->size };
	struct word word;

	COUNT(index_document);
	bag_clear(&document->words);
	document->word_count = 0;
	while (next_word(&text, &word)) {
		if (bag_add(&document->words, &word, 1) == 1)
			vocabulary_add(&word);
		document->word_count++;
	}
	TALLY(words, document->word_count);
	return document->word_count;
}

/* Steps from one word to another: letters put in, taken out or changed. */
static unsigned edit_distance(const struct word *a, const struct word *b)
{
	unsigned row[WORD_MAX + 1];

	COUNT(edit_distance);
	for (unsigned j = 0; j <= b->length; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a->length; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b->length; j++) {
			const unsigned up = row[j];
			unsigned best = diagonal +
				(a->text[i - 1] != b->text[j - 1]);

			if (up + 1 < best)
				best = up + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = up;
		}
	}
	return row[b->length];
}

/* Of two words equally near, the more common one; else the first by letters,
 * so that the answer does not depend on the order in which words came. */
static bool is_nearer(const struct word *a, unsigned a_steps,
		      const struct word *b, unsigned b_steps)
{
	if (a_steps != b_steps)
		return a_steps < b_steps;
	if (a->count != b->count)
		return a->count > b->count;
	return memcmp(a->text, b->text, WORD_MAX) < 0;
}

bool correct_word(struct word *word)
{
	const struct word *best = NULL;
	unsigned best_steps = 3;

	COUNT(correct_word);
	for (size_t i = 0; i < PARTS; i++) {
		const struct bag *bag = &vocabulary[i].words;

		for (size_t k = 0; k < bag->size; k++) {
			const struct word *w = &bag->words[k];

			if (w->length + 1 < word->length ||
			    w->length > word->length + 1 || w->length == 0)
				continue;

			const unsigned steps = edit_distance(word, w);

			if (steps < 3 && (!best ||
			    is_nearer(w, steps, best, best_steps))) {
				best = w;
				best_steps = steps;
			}
		}
	}
	if (best)
		*word = *best;
	return best != NULL;
}

static bool is_less(struct hit a, struct hit b)
{
	return a.weight != b.weight ? a.weight < b.weight : a.id > b.id;
}

static void sift_down(struct heap *heap, size_t i)
{
	size_t least = i;

	COUNT(sift_down);
	for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
		if (child < heap->used &&
		    is_less(heap->hits[child], heap->hits[least]))
			least = child;
	if (least == i)
		return;

	const struct hit hit = heap->hits[i];

	heap->hits[i] = heap->hits[least];
	heap->hits[least] = hit;
	sift_down(heap, least);
}

void heap_offer(struct heap *heap, struct hit hit)
{
	COUNT(heap_offer);
	if (heap->used < heap->limit) {
		size_t i = heap->used++;

		for (; i > 0 && is_less(hit, heap->hits[(i - 1) / 2]);
		     i = (i - 1) / 2)
			heap->hits[i] = heap->hits[(i - 1) / 2];
		heap->hits[i] = hit;
	} else if (is_less(heap->hits[0], hit)) {
		heap->hits[0] = hit;
		sift_down(heap, 0);
	}
}

/* How well a document answers a query: rare words weigh more, and a word that
 * comes often weighs a little more than one that comes once. */
static double score_document(const struct document *document,
			     const struct word *words, size_t count)
{
	double score = 0;

	COUNT(score_document);
	for (size_t i = 0; i < count; i++) {
		const struct word *w = bag_find(&document->words, &words[i]);

		if (w)
			score += (1 + log(w->count)) *
				 log(1 + (double)library.count /
				     words[i].count);
	}
	return score / (1 + log(1 + (double)document->word_count));
}

void rank_documents(const char *query, struct heap *heap)
{
	struct text text = { query, query + strlen(query) };
	struct word words[8];
	size_t count = 0;

	COUNT(rank_documents);
	while (count < 8 && next_word(&text, &words[count])) {
		struct word *w = &words[count];
		const struct word *known = bag_find(&part_of(w)->words, w);

		if (known)
			*w = *known;
		if (known || correct_word(w))
			count++;
	}
	for (uint32_t i = 0; i < library.count; i++) {
		const double score =
			score_document(&library.documents[i], words, count);

		if (score > 0)
			heap_offer(heap, (struct hit){ score, i });
	}
}
