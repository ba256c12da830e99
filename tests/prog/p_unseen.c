/* p_unseen.c - says which functions that weft stands in for it finds, though it
 * is linked to none of their libraries; how often its own malloc was called
 * before main; and calls functions before any constructor.
 * right: "malloc 0", no names; early 1, constructed 1, main 1, leaf 3 calls.
 * built by tests/e2e/host-names.sh
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OWN __attribute__((no_instrument_function))

extern int lua_closethread(void *, void *) __attribute__((weak));
extern int luaJIT_setmode(void *, int, int) __attribute__((weak));

static _Alignas(16) char room[1 << 20];
static size_t used;
static unsigned allocations;

OWN void *malloc(size_t size)
{
	void *const at = room + used;

	allocations++;
	used += (size + 15) & ~(size_t)15;
	return used > sizeof(room) ? NULL : at;
}

OWN void *calloc(size_t count, size_t size)
{
	return malloc(count * size); /* zero, and never used again */
}

OWN void *realloc(void *old, size_t size)
{
	void *const at = malloc(size);

	if (at && old)
		memmove(at, old, size);
	return at;
}

OWN void free(void *at)
{
	(void)at;
}

static volatile int calls;

static void leaf(void)
{
	calls++;
}

static void early(void)
{
	leaf();
}

__attribute__((section(".preinit_array"), used)) static void (*first)(void) =
	early;

__attribute__((constructor)) static void constructed(void)
{
	leaf();
}

int main(void)
{
	static const char *const names[] = {
		"luaL_newstate", "lua_pcallk", "luaJIT_setmode",
		"__cxa_throw",
	};
	const unsigned before = allocations;

	leaf();
	printf("malloc %u\n", before);
	if (lua_closethread || luaJIT_setmode)
		puts("a weak name");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (dlsym(RTLD_DEFAULT, names[i]))
			puts(names[i]);
	}
	return calls != 3;
}
