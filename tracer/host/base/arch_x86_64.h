/* arch_x86_64.h - all that the library must know of x86-64 itself: who called,
 * ticks, the order of writes, jump buffers, links, what C cannot say. There is
 * such a file for each architecture, and base.h alone chooses.
 * SPDX-License-Identifier: MIT */
#pragma once

/* ----------------------------------------------------------------- who called
 * HERE is the frame address that this function has, or would have: known
 * without one being set up. The stack pointer of who calls it is 16 more. */
#define HERE ((uint64_t)__builtin_dwarf_cfa() - 16)

/* Where a function of ours was called: the frame address that it has there.
 * Its return address lies above, and so is read by whoever needs it. */
struct caller {
	uint64_t sp;
};

#define CALLER ((struct caller){ HERE })
#define CALLER_RETURN(caller) (((const uint64_t *)(caller).sp)[1])

/* A return address as it lies on the stack, as it is elsewhere. */
#define ARCH_PLAIN_RETURN(word) (word)

/* Was a function whose own stack pointer is that one called with this stack
 * pointer, to return there? */
__attribute__((no_sanitize("address")))
static inline bool arch_was_called_at(uint64_t own, uint64_t sp, uint64_t site)
{
	(void)own;
	return ((const uint64_t *)sp)[-1] == site;
}

/* The lowest address that it looks at. */
#define ARCH_CALL_LOW(own, sp) ((void)(own), (sp) - 8)

/* A hook's arguments stay in their registers until here, where calls of what is
 * uncommon want them; else gcc moves them out of the way of what needs none. */
#define KEEP_ARGUMENTS(fn, site)                                               \
	__asm__ volatile("" : : "D"(fn), "S"(site))

/* A hash by the lower half of a number: hash_low (base.h). */
#define ARCH_HASH_LOW(number, bits) hash_low(number, bits)

/* The address of table[place], whose entries have 16 bytes; place is a
 * uint32_t. Else gcc takes more instructions. */
#define ARCH_AT(table, place)                                                  \
	({                                                                     \
		uint64_t bytes = (place) * UINT64_C(16);                       \
                                                                               \
		PIN(bytes);                                                    \
		(const char *)(table) + bytes;                                 \
	})

/* Has the number more bits than so many? */
#define ARCH_IS_LONGER(number, bits) ((number) >= UINT64_C(1) << (bits))

/* The uint32_t at base + distance, which other threads change; in any order. */
#define ARCH_LOAD(base, distance)                                              \
	__atomic_load_n((const uint32_t *)((base) + (distance)),               \
			__ATOMIC_RELAXED)

/* PIN, of an address that it takes several instructions to find. */
#define ARCH_PIN_ADDRESS(address) ((void)0)

/* A field becomes whole, which is more than it holds by more: one instruction
 * adds in memory. */
#define ARCH_RENEW(field, whole, more) ((void)(whole), (field) += (more))

/* The stack pointer in a function that has no array of variable size. */
#define ARCH_SP(sp) __asm__("mov %%rsp, %0" : "=r"(sp))

/* The stack pointer with which a context (ucontext_t) goes on. */
#define ARCH_CONTEXT_SP(context) ((context)->uc_mcontext.gregs[REG_RSP])

/* ---------------------------------------------------------------------- ticks
 * The invariant time stamp counter. */
INLINE uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* ------------------------------------------------------------ order of writes
 * A count that no other thread changes, and that says how many words before it
 * are there: raised after they were written. Stores are seen in their order
 * here, and it takes one instruction. */
INLINE void arch_count_up(_Atomic uint32_t *count, uint32_t more)
{
	__asm__ volatile("addl %1, %0"
			 : "+m"(*count) : "ri"(more) : "memory", "cc");
}

INLINE void arch_count_down(_Atomic uint32_t *count)
{
	__asm__ volatile("decl %0" : "+m"(*count) : : "memory", "cc");
}

/* --------------------------------------------------------------- jump buffers
 * Words of glibc's (sysdeps/x86_64/setjmp.S), which are mixed with a guard that
 * is the same for the whole process. */
enum { ARCH_JUMP_SP = 6, ARCH_JUMP_PC = 7 };

INLINE uint64_t arch_jump_word(uint64_t word)
{
	return word >> 17 | word << 47;
}

/* ---------------------------------------------------------------------- links
 * Relocations: of a call, of an address in the GOT, of an address in data. */
#define ARCH_LINK_CALL R_X86_64_JUMP_SLOT
#define ARCH_LINK_ANY R_X86_64_GLOB_DAT
#define ARCH_LINK_DATA R_X86_64_64

#define ARCH_FUNCTION(name)                                                    \
	".text\n"                                                              \
	".p2align 4\n"                                                         \
	".globl " name "\n"                                                    \
	".hidden " name "\n"                                                   \
	".type " name ", @function\n"                                          \
	name ":\n"

/* The function ours calls ask with the program's three arguments and its return
 * address as the fourth. If that answers something but 0 in its second word,
 * the first is returned to the program; else the function whose address is in
 * real is jumped to, with all as the program left it. */
#define ARCH_ASKING(ours, ask, real)                                           \
	__asm__(ARCH_FUNCTION(ours)                                            \
		".cfi_startproc\n"                                             \
		"push %rdi\n"                                                  \
		".cfi_adjust_cfa_offset 8\n"                                   \
		"push %rsi\n"                                                  \
		".cfi_adjust_cfa_offset 8\n"                                   \
		"push %rdx\n"                                                  \
		".cfi_adjust_cfa_offset 8\n"                                   \
		"mov 24(%rsp), %rcx\n"                                         \
		"call " ask "\n"                                               \
		"test %rdx, %rdx\n"                                            \
		"pop %rdx\n"                                                   \
		".cfi_adjust_cfa_offset -8\n"                                  \
		"pop %rsi\n"                                                   \
		".cfi_adjust_cfa_offset -8\n"                                  \
		"pop %rdi\n"                                                   \
		".cfi_adjust_cfa_offset -8\n"                                  \
		"jz 1f\n"                                                      \
		"ret\n"                                                        \
		"1: jmp *" real "(%rip)\n"                                     \
		".cfi_endproc\n"                                               \
		".size " ours ", . - " ours "\n")

/* The function ours jumps to few if its second argument, an int, is at most so
 * many, and not negative; else to the function whose address is in real. */
#define ARCH_UP_TO(ours, most, few, real)                                      \
	__asm__(ARCH_FUNCTION(ours)                                            \
		".cfi_startproc\n"                                             \
		"cmpl $" most ", %esi\n"                                       \
		"jbe " few "\n"                                                \
		"jmp *" real "(%rip)\n"                                        \
		".cfi_endproc\n"                                               \
		".size " ours ", . - " ours "\n")

/* At the label entries, 32 functions of 16 bytes: function N calls target, with
 * the six arguments that it has itself, and N as the seventh. ARCH_ENTRY_STACK:
 * so much of the stack lies between who calls it and target. */
enum { ARCH_ENTRY_STACK = 16 };

/* Where such a call returns to; above: its frame address without the entry. */
#define ARCH_ENTRY_RETURN(above) (((const uint64_t *)(above))[1])

#define ARCH_ENTRIES(entries, target)                                          \
	__asm__(ARCH_FUNCTION(entries)                                         \
		".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18," \
		"19,20,21,22,23,24,25,26,27,28,29,30,31\n"                     \
		".p2align 4\n"                                                 \
		".cfi_startproc\n"                                             \
		"push $\\number\n"                                             \
		".cfi_adjust_cfa_offset 8\n"                                   \
		"call " target "\n"                                            \
		"add $8, %rsp\n"                                               \
		".cfi_adjust_cfa_offset -8\n"                                  \
		"ret\n"                                                        \
		".cfi_endproc\n"                                               \
		".endr\n");
