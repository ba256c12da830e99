/* base.h - what every file of libweft.so is compiled with.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_BASE_BASE_H
#define WEFT_TRACER_HOST_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library itself must never call the hooks. */
#define HOOK __attribute__((no_instrument_function, visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
#define SLOW __attribute__((noinline, cold))
#define INLINE static inline __attribute__((always_inline))

/* The frame address that this function has, or would have: on x86-64 it is known
 * without one being set up. */
#if defined(__x86_64__)
#define HERE ((uint64_t)__builtin_dwarf_cfa() - 16)
#else
#define HERE ((uint64_t)__builtin_frame_address(0))
#endif

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* What was written before stays before what is written after, as a signal
 * handler of the same thread sees it. */
#define barrier() __asm__ volatile("" ::: "memory")

#endif
