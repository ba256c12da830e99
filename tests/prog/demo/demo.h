/* demo.h - a small search engine over text files: what its parts share. Native
 * code cuts text into words, counts and ranks; Lua handlers, one coroutine a
 * request, decide what is done. The program keeps its own account of its calls.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lua_State;

/* demo_account.c: how often each of these functions was called. Every one
 * counts itself on its first line: an inlined call counts as a call too. */
#define COUNTED_LIST(X)                                                        \
	X(next_word) X(hash_word) X(bag_add) X(bag_find) X(bag_grow)           \
	X(compare_bags) X(index_document) X(vocabulary_add) X(score_document)  \
	X(heap_offer) X(sift_down) X(edit_distance) X(correct_word)            \
	X(rank_documents) X(run_job) X(resume_task) X(push_hits)               \
	X(terms_of) X(title_of) X(snippet_of) X(nearest_of) X(path_of)

/* What else is counted. */
#define TALLY_LIST(X)                                                          \
	X(coroutines) X(resumes) X(moved) X(errors) X(failed) X(requests)      \
	X(documents) X(words)

enum counted {
#define X(name) COUNTED_##name,
	COUNTED_LIST(X)
#undef X
#define X(name) TALLY_##name,
	TALLY_LIST(X)
#undef X
	COUNTED_ALL
};

extern _Thread_local uint64_t account_count[COUNTED_ALL];
#define COUNT(name) (account_count[COUNTED_##name]++)
#define TALLY(name, n) (account_count[TALLY_##name] += (n))

/* Add the calling thread's counts to the sum; once, at the thread's end. */
void account_add(void);
/* Add what a Lua state counted in its global tables "calls" and "tally". */
void account_add_lua(struct lua_State *L);
/* Lines "what,language,name,place,count". Needs all threads but one ended. */
int account_write(const char *path);

/* demo_words.c: text into words, words into bags. */
enum { WORD_MAX = 31 };

struct word {
	uint64_t hash;
	uint32_t count;
	uint8_t length; /* 0: an empty place of a bag */
	char text[WORD_MAX];
};

struct bag {        /* open addressing; size is 0 or a power of two */
	struct word *words;
	size_t size, used;
};

struct text {
	const char *at, *end;
};

/* The next word, lower-cased, with its hash; false at the end of the text. */
bool next_word(struct text *text, struct word *word);
uint64_t hash_word(const char *text, size_t length);
/* Count a word n times more; the number of times in all. */
uint32_t bag_add(struct bag *bag, const struct word *word, uint32_t n);
const struct word *bag_find(const struct bag *bag, const struct word *word);
void bag_clear(struct bag *bag); /* keeps its memory */
void bag_free(struct bag *bag);

/* How much two bags are alike, 0 to 1: the cosine of their counts. */
double compare_bags(const struct bag *a, const struct bag *b);

/* demo_rank.c: which documents answer a query best. */
struct hit {
	double weight;
	uint32_t id;
};

enum { HITS_MAX = 40 };

struct heap {       /* the limit best hits; the least of them on top */
	struct hit hits[HITS_MAX];
	size_t used, limit;
};

void heap_offer(struct heap *heap, struct hit hit);

struct document {
	const char *path;
	char *text;
	size_t size;
	struct bag words;
	uint64_t word_count;
};

struct library {
	struct document *documents;
	size_t count;
};

extern struct library library;

int library_read(char *const paths[], size_t count);
void library_free(void);
/* Words of a document, counted anew; a shared vocabulary learns of them. */
uint64_t index_document(struct document *document);
void vocabulary_clear(void);
void vocabulary_add(const struct word *word);
/* The word of the vocabulary that is nearest to one that is not in it. */
bool correct_word(struct word *word);
/* The best documents for the words of a query, in no order. */
void rank_documents(const char *query, struct heap *heap);

/* demo_api.c: what Lua may call. */
void api_open(struct lua_State *L);
void push_hits(struct lua_State *L, const struct heap *heap);

/* demo_desk.c: the scheduler. A desk is a Lua state with its coroutines; it is
 * run by whichever worker takes it next, and so are the jobs they wait for. */
struct request {
	const char *handler; /* a global function of handlers.lua */
	const char *text;    /* its argument, or NULL: document is */
	uint32_t document;
	char *answer;        /* what it returned, malloc'ed; or NULL */
};

struct plan {
	const char *handlers; /* the Lua file */
	unsigned workers, desks;
};

/* Requests handled side by side. All of a phase are answered before the next
 * phase begins. */
struct phase {
	struct request *requests;
	size_t count;
	void (*before)(void); /* called first, while nothing runs; or NULL */
};

/* Handle all phases; 0, or -1 when no desk or worker could be made. */
int desk_run(const struct plan *plan, struct phase *phases, size_t count);
