/* demo_words.c - text into words, words into bags that count them, and how
 * much two bags are alike.
 * SPDX-License-Identifier: MIT */
#include "demo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Called for every byte: an entry and an exit would cost far more than it
 * does. This is how a function is kept out of a recording. */
__attribute__((no_instrument_function))
static inline bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

__attribute__((no_instrument_function))
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

uint64_t hash_word(const char *text, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	COUNT(hash_word);
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) *
		       UINT64_C(0x100000001b3);
	return hash;
}

bool next_word(struct text *text, struct word *word)
{
	const char *p = text->at;
	size_t length = 0;

	COUNT(next_word);
	while (p < text->end && !is_letter(*p))
		p++;
	for (; p < text->end && is_letter(*p); p++)
		if (length < WORD_MAX)
			word->text[length++] =
				(char)(*p >= 'A' && *p <= 'Z' ? *p | 32 : *p);
	text->at = p;
	if (length == 0)
		return false;
	word->length = (uint8_t)length;
	word->count = 1;
	word->hash = hash_word(word->text, length);
	return true;
}

/* The place of a word, or the empty place where it would go. */
__attribute__((no_instrument_function))
static struct word *place_of(const struct bag *bag, const struct word *word)
{
	size_t i = mix(word->hash) & (bag->size - 1);

	while (bag->words[i].length != 0 &&
	       (bag->words[i].hash != word->hash ||
		bag->words[i].length != word->length ||
		memcmp(bag->words[i].text, word->text, word->length) != 0))
		i = (i + 1) & (bag->size - 1);
	return &bag->words[i];
}

static void bag_grow(struct bag *bag)
{
	const struct bag old = *bag;

	COUNT(bag_grow);
	bag->size = old.size ? old.size * 2 : 64;
	bag->words = calloc(bag->size, sizeof(*bag->words));
	if (!bag->words)
		abort();
	for (size_t i = 0; i < old.size; i++)
		if (old.words[i].length != 0)
			*place_of(bag, &old.words[i]) = old.words[i];
	free(old.words);
}

uint32_t bag_add(struct bag *bag, const struct word *word, uint32_t n)
{
	COUNT(bag_add);
	if (bag->used * 4 >= bag->size * 3)
		bag_grow(bag);

	struct word *place = place_of(bag, word);

	if (place->length == 0) {
		*place = *word;
		place->count = 0;
		bag->used++;
	}
	return place->count += n;
}

const struct word *bag_find(const struct bag *bag, const struct word *word)
{
	COUNT(bag_find);
	if (bag->size == 0)
		return NULL;

	const struct word *place = place_of(bag, word);

	return place->length != 0 ? place : NULL;
}

void bag_clear(struct bag *bag)
{
	if (bag->size != 0)
		memset(bag->words, 0, bag->size * sizeof(*bag->words));
	bag->used = 0;
}

void bag_free(struct bag *bag)
{
	free(bag->words);
	*bag = (struct bag){ 0 };
}

double compare_bags(const struct bag *a, const struct bag *b)
{
	double product = 0;
	double a_square = 0;
	double b_square = 0;

	COUNT(compare_bags);
	for (size_t i = 0; i < b->size; i++)
		b_square += (double)b->words[i].count * b->words[i].count;
	for (size_t i = 0; i < a->size; i++) {
		const struct word *w = &a->words[i];

		if (w->length == 0)
			continue;
		a_square += (double)w->count * w->count;
		if (b->size != 0)
			product += (double)w->count * place_of(b, w)->count;
	}
	return product > 0 ? product / sqrt(a_square * b_square) : 0;
}
