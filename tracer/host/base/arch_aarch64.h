/* arch_aarch64.h - the same for aarch64: see arch_x86_64.h, whose order this
 * file has. SPDX-License-Identifier: MIT */
#pragma once

/* ----------------------------------------------------------------- who called
 * Below the stack pointer of who calls, as on x86-64, though nothing need lie
 * there: a call leaves its return address in a register. */
#define HERE ((uint64_t)__builtin_dwarf_cfa() - 16)

struct caller {
	uint64_t sp, ret;
};

/* To be used first of all in a function, as long as the register has it. Then
 * it may be signed, as in ARCH_PLAIN_RETURN. */
#define CALLER                                                                 \
	({                                                                     \
		struct caller called = { .sp = HERE };                         \
                                                                               \
		__asm__ volatile("mov %0, x30" : "=r"(called.ret));            \
		called;                                                        \
	})
#define CALLER_RETURN(caller) ((caller).ret)

/* Code that was compiled with -mbranch-protection signs what it saves: without
 * the signature. Does nothing where processors know of no signatures. */
INLINE uint64_t arch_plain_return(uint64_t word)
{
	register uint64_t at __asm__("x30") = word;

	__asm__("hint 7" : "+r"(at)); /* xpaclri */
	return at;
}

#define ARCH_PLAIN_RETURN(word) arch_plain_return(word)

/* The caller's frame record, to which the one of the function itself points,
 * then lies above: gcc and clang keep these unless told otherwise. */
__attribute__((no_sanitize("address")))
static inline bool arch_was_called_at(uint64_t own, uint64_t sp, uint64_t site)
{
	for (const uint64_t *at = (const uint64_t *)own;
	     at + 1 < (const uint64_t *)sp; at++) {
		if (ARCH_PLAIN_RETURN(at[1]) == site)
			return at[0] >= sp;
	}
	return false;
}

#define ARCH_CALL_LOW(own, sp) ((void)(sp), (own))

/* Here that would take instructions. */
#define KEEP_ARGUMENTS(fn, site) ((void)(fn), (void)(site))

/* A factor of 16 bits is loaded at once. By this one, numbers that have the
 * same distance from each other, whatever it is, get places of their own. */
#define ARCH_HASH_LOW(number, bits)                                            \
	((uint32_t)(number) * 0x4cc9u >> 16 & ((1u << (bits)) - 1))

#define ARCH_AT(table, place)                                                  \
	({                                                                     \
		const void *at;                                                \
                                                                               \
		__asm__("add %0, %1, %w2, uxtw 4"                              \
			: "=r"(at) : "r"(table), "r"(place));                  \
		at;                                                            \
	})

#define ARCH_IS_LONGER(number, bits)                                           \
	({                                                                     \
		uint64_t upper = (number) >> (bits);                           \
                                                                               \
		PIN(upper);                                                    \
		upper != 0;                                                    \
	})

/* gcc adds first, for an atomic load. */
#define ARCH_LOAD(base, distance)                                              \
	({                                                                     \
		uint32_t word;                                                 \
                                                                               \
		__asm__ volatile("ldr %w0, [%1, %2]"                           \
				 : "=r"(word)                                  \
				 : "r"(base), "r"(distance) : "memory");       \
		word;                                                          \
	})

#define ARCH_PIN_ADDRESS(address) PIN(address)

/* What it holds need not be loaded. */
#define ARCH_RENEW(field, whole, more) ((void)(more), (field) = (whole))

#define ARCH_SP(to) __asm__("mov %0, sp" : "=r"(to))

#define ARCH_CONTEXT_SP(context) ((context)->uc_mcontext.sp)

/* ---------------------------------------------------------------------- ticks
 * The virtual counter, whose rate is the same on all processors. */
INLINE uint64_t arch_ticks(void)
{
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}

/* ------------------------------------------------------------ order of writes
 * Stores may be seen in any order: a release store is seen after those before
 * it. To take back a record needs none: whoever has seen the count before may
 * read what is written there next, as on x86-64. */
INLINE void arch_count_up(_Atomic uint32_t *count, uint32_t more)
{
	atomic_store_explicit(count, more +
			      atomic_load_explicit(count,
						   memory_order_relaxed),
			      memory_order_release);
}

INLINE void arch_count_down(_Atomic uint32_t *count)
{
	barrier();
	atomic_store_explicit(count, atomic_load_explicit(
				count, memory_order_relaxed) - 1,
			      memory_order_relaxed);
	barrier();
}

/* --------------------------------------------------------------- jump buffers
 * sysdeps/aarch64/setjmp.S */
enum { ARCH_JUMP_SP = 13, ARCH_JUMP_PC = 11 };

INLINE uint64_t arch_jump_word(uint64_t word)
{
	return word;
}

/* ---------------------------------------------------------------------- links
 * Where calls of functions may only lead to a landing pad (BTI), "hint 34" is
 * one; elsewhere it does nothing. */
#define ARCH_LINK_CALL R_AARCH64_JUMP_SLOT
#define ARCH_LINK_ANY R_AARCH64_GLOB_DAT
#define ARCH_LINK_DATA R_AARCH64_ABS64

#define ARCH_FUNCTION(name)                                                    \
	".text\n"                                                              \
	".p2align 4\n"                                                         \
	".globl " name "\n"                                                    \
	".hidden " name "\n"                                                   \
	".type " name ", %function\n"                                          \
	name ":\n"

#define ARCH_ASKING(ours, ask, real)                                           \
	__asm__(ARCH_FUNCTION(ours)                                            \
		".cfi_startproc\n"                                             \
		"hint 34\n"                                                    \
		"stp x29, x30, [sp, -48]!\n"                                   \
		".cfi_def_cfa_offset 48\n"                                     \
		".cfi_offset 29, -48\n"                                        \
		".cfi_offset 30, -40\n"                                        \
		"mov x29, sp\n"                                                \
		"stp x0, x1, [sp, 16]\n"                                       \
		"str x2, [sp, 32]\n"                                           \
		"mov x3, x30\n"                                                \
		"bl " ask "\n"                                                 \
		"cbnz x1, 1f\n"                                                \
		"ldp x0, x1, [sp, 16]\n"                                       \
		"ldr x2, [sp, 32]\n"                                           \
		"ldp x29, x30, [sp], 48\n"                                     \
		".cfi_remember_state\n"                                        \
		".cfi_def_cfa_offset 0\n"                                      \
		".cfi_restore 29\n"                                            \
		".cfi_restore 30\n"                                            \
		"adrp x16, " real "\n"                                         \
		"ldr x16, [x16, :lo12:" real "]\n"                             \
		"br x16\n"                                                     \
		".cfi_restore_state\n"                                         \
		"1: ldp x29, x30, [sp], 48\n"                                  \
		".cfi_def_cfa_offset 0\n"                                      \
		".cfi_restore 29\n"                                            \
		".cfi_restore 30\n"                                            \
		"ret\n"                                                        \
		".cfi_endproc\n"                                               \
		".size " ours ", . - " ours "\n")

#define ARCH_UP_TO(ours, most, few, real)                                      \
	__asm__(ARCH_FUNCTION(ours)                                            \
		".cfi_startproc\n"                                             \
		"hint 34\n"                                                    \
		"cmp w1, " most "\n"                                           \
		"b.hi 1f\n"                                                    \
		"b " few "\n"                                                  \
		"1: adrp x16, " real "\n"                                      \
		"ldr x16, [x16, :lo12:" real "]\n"                             \
		"br x16\n"                                                     \
		".cfi_endproc\n"                                               \
		".size " ours ", . - " ours "\n")

/* They jump to target: seven arguments fit into registers. */
enum { ARCH_ENTRY_STACK = 0 };
#define ARCH_ENTRY_RETURN(above)                                               \
	((void)(above),                                                        \
	 ARCH_PLAIN_RETURN((uint64_t)__builtin_return_address(0)))

#define ARCH_ENTRIES(entries, target)                                          \
	__asm__(ARCH_FUNCTION(entries)                                         \
		".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18," \
		"19,20,21,22,23,24,25,26,27,28,29,30,31\n"                     \
		".p2align 4\n"                                                 \
		".cfi_startproc\n"                                             \
		"hint 34\n"                                                    \
		"mov x6, \\number\n"                                           \
		"b " target "\n"                                               \
		".cfi_endproc\n"                                               \
		".endr\n");
