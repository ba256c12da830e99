/* arch.h - all that the recorder must know of the processor: the only choice of
 * an architecture in it.
 * ARCH_MACHINE: of ELF files that run here. ARCH_CLOCK: what ticks are of.
 * ARCH_LOADS: can a library be loaded into a program that runs (attach/)?
 * arch_ticks: what the counter says. arch_is_invariant: does the processor say
 * that it is one clock at all times?
 * SPDX-License-Identifier: MIT */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>

#define ARCH_MACHINE EM_X86_64
#define ARCH_CLOCK "tsc"
#define ARCH_LOADS 1

static inline uint64_t arch_ticks(void)
{
	return __rdtsc();
}

/* Linux calls this CPUID bit constant_tsc and nonstop_tsc. */
static inline bool arch_is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) != 0;
}

#elif defined(__aarch64__)
#define ARCH_MACHINE EM_AARCH64
#define ARCH_CLOCK "cntvct"
#define ARCH_LOADS 0

static inline uint64_t arch_ticks(void)
{
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}

/* The architecture says it of all, but a rate must have been set. */
static inline bool arch_is_invariant(void)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz != 0;
}

#else
#error "this architecture is not known"
#endif
