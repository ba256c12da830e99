/* base.h - what every file of libweft.so is compiled with.
 * base/ is what the library needs of the machine: clock, memory, a map of
 * pointers, ELF modules. It may use libc alone, and knows nothing of recording.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions that the program sees; all others are hidden. */
#define EXPORT __attribute__((visibility("default")))
/* The library itself must never call the hooks. */
#define HOOK __attribute__((no_instrument_function, visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
#define SLOW __attribute__((noinline, cold))
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
/* A thread's own variable that is reached without a call. */
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Keeps the order of writes before and after it, as a signal handler of the
 * same thread sees them. */
#define barrier() __asm__ volatile("" ::: "memory")

/* The variable is computed here, once: else gcc does so again at each use, or
 * earlier, or keeps in a register what it was computed from. For hot paths,
 * where that took instructions. */
#define PIN(variable) __asm__("" : "+r"(variable))

/* The only choice of an architecture. */
#if defined(__x86_64__)
#include "tracer/host/base/arch_x86_64.h"
#elif defined(__aarch64__)
#include "tracer/host/base/arch_aarch64.h"
#else
#error "this architecture has no arch_NAME.h"
#endif

/* An invariant, looked at in the checked build alone
 * (CFLAGS=-DWEFT_CHECKED). */
#ifdef WEFT_CHECKED
#include <assert.h>
#define CHECKED(x) assert(x)
#else
#define CHECKED(x) ((void)0)
#endif

/* Multiplicative hashing: 2^64 divided by the golden ratio. The upper bits
 * of the product depend on all bits of the value. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* A place for the value in a table of 2^bits places. */
INLINE uint64_t hash_place(uint64_t value, int bits)
{
	return value * GOLDEN >> (64 - bits);
}

/* A hash of both. */
INLINE uint64_t hash_mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * GOLDEN;
	return a ^ a >> 32;
}

/* hash_place by the lower half of the value, in which addresses differ: an
 * instruction less, for hot paths. */
INLINE uint32_t hash_low(uint64_t value, int bits)
{
	return (uint32_t)value * (uint32_t)(GOLDEN >> 32) >> (32 - bits);
}
