/* frame.c - the frame, and the code that uses it. It knows no process.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/frame.h"
#include "tracer/recorder/base/arch.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

#if ARCH_LOADS

enum {
	STATE_AT = 320,            /* in the frame */
	STATE_BASIC = 512,
	SOFTWARE_AT = 464,         /* in the state: for the kernel's own use */
	PRESENT_AT = 512,
	/* What follows AVX-512 and the keys of pages is of no use to most, and
	 * the kernel does not take it from a thread that has not asked for
	 * it. */
	STATE_USUAL = 2688, STATE_KEYS = 2696,
	HAS_KEYS = 1 << 9,
	/* Of the frame's flags: it has the state, and the stack segment. */
	FLAGS = 1 | 2 | 4,
	NO_MODE = 4,               /* of an alternate stack: it stays */
	/* The kernel's own, for a call that was stopped */
	ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
	SYSCALL_BYTES = 2,
};

#define LATE_STATE (UINT64_C(3) << 17)

/* As the kernel marks a state that has more than SSE. */
struct software {
	uint32_t magic, extended;
	uint64_t features;
	uint32_t size, padding[7];
};

#define MAGIC UINT32_C(0x46505853)
#define MAGIC_END UINT32_C(0x46505845)

/* Sets the call's own number again where the kernel would. A sleep then begins
 * anew: what remains of it is not kept over rt_sigreturn. */
static bool begins_again(const struct user_regs_struct *r)
{
	switch ((int64_t)r->rax) {
	case -EINTR: case -ERESTARTSYS: case -ERESTARTNOINTR:
	case -ERESTARTNOHAND: case -ERESTART_RESTARTBLOCK:
		return true;
	default:
		return false;
	}
}

static void set_registers(greg_t *to, const struct user_regs_struct *r)
{
	const bool again = begins_again(r);
	const unsigned long long values[NGREG] = {
		[REG_R8] = r->r8, [REG_R9] = r->r9, [REG_R10] = r->r10,
		[REG_R11] = r->r11, [REG_R12] = r->r12, [REG_R13] = r->r13,
		[REG_R14] = r->r14, [REG_R15] = r->r15, [REG_RDI] = r->rdi,
		[REG_RSI] = r->rsi, [REG_RBP] = r->rbp, [REG_RBX] = r->rbx,
		[REG_RDX] = r->rdx, [REG_RCX] = r->rcx, [REG_RSP] = r->rsp,
		[REG_RAX] = again ? r->orig_rax : r->rax,
		[REG_RIP] = again ? r->rip - SYSCALL_BYTES : r->rip,
		[REG_EFL] = r->eflags,
		[REG_CSGSFS] = (r->cs & 0xffff) | (r->gs & 0xffff) << 16 |
			       (r->fs & 0xffff) << 32 | (r->ss & 0xffff) << 48,
	};

	memcpy(to, values, sizeof(values));
}

/* Returns the size of the state. */
static size_t set_state(uint8_t *to, const struct iovec *state, bool is_basic)
{
	const uint8_t *const from = state->iov_base;
	struct software s = { .magic = MAGIC };
	uint64_t present;
	size_t size = state->iov_len;
	const uint32_t end = MAGIC_END;

	memcpy(to, from, SOFTWARE_AT);
	if (is_basic || size < PRESENT_AT + 64)
		return STATE_BASIC;
	memcpy(&s.features, from + SOFTWARE_AT, sizeof(s.features));
	memcpy(&present, from + PRESENT_AT, sizeof(present));
	if (size > STATE_USUAL && (present & LATE_STATE) == 0) {
		s.features &= ~LATE_STATE;
		size = s.features & HAS_KEYS ? STATE_KEYS : STATE_USUAL;
	}
	if (STATE_AT + size + sizeof(end) > FRAME_MAX ||
	    size > state->iov_len)
		return STATE_BASIC;
	s.size = (uint32_t)size;
	s.extended = (uint32_t)(size + sizeof(end));
	memcpy(to + PRESENT_AT, from + PRESENT_AT, size - PRESENT_AT);
	memcpy(to + SOFTWARE_AT, &s, sizeof(s));
	memcpy(to + size, &end, sizeof(end));
	return size + sizeof(end);
}

size_t frame_make(uint8_t bytes[FRAME_MAX], uint64_t at,
		  const struct user_regs_struct *regs, uint64_t mask,
		  const struct iovec *state, bool is_basic)
{
	ucontext_t context;

	memset(&context, 0, sizeof(context));
	context.uc_flags = FLAGS;
	context.uc_stack.ss_flags = NO_MODE;
	set_registers(context.uc_mcontext.gregs, regs);
	memcpy(&context.uc_mcontext.fpregs, &(uint64_t){ at + STATE_AT },
	       sizeof(context.uc_mcontext.fpregs));
	memcpy(&context.uc_sigmask, &mask, sizeof(mask));
	memset(bytes, 0, FRAME_MAX);
	memcpy(bytes, &context, offsetof(ucontext_t, uc_sigmask) +
	       sizeof(mask));
	return STATE_AT + set_state(bytes + STATE_AT, state, is_basic);
}

#define AT(field) "%c[" #field "](%%rbx)"
#define PLACE(field) [field] "i"(offsetof(struct frame_call, field))

/* ppoll (271), since it leaves alone what the kernel keeps of a sleep that was
 * stopped; rt_sigreturn (15). */
__attribute__((used)) static void stub(void)
{
	__asm__ volatile(
		".globl frame_stub, frame_stub_end\n"
		".hidden frame_stub, frame_stub_end\n"
		"frame_stub:\n"
		"call *" AT(errno_at) "; mov %%rax, %%r12\n"
		"mov (%%rax), %%r13d\n"
		"mov " AT(a) ", %%rdi; mov " AT(b) ", %%rsi\n"
		"call *" AT(function) "; mov %%rax, " AT(result) "\n"
		"test %%rax, %%rax; jne 1f\n"
		"mov " AT(explain) ", %%rax\n"
		"test %%rax, %%rax; je 1f\n"
		"call *%%rax; mov %%rax, " AT(text) "\n"
		"1: mov %%r13d, (%%r12)\n"
		"movq $1, " AT(done) "\n"
		"xor %%edi, %%edi; xor %%esi, %%esi\n"
		"lea " AT(wait) ", %%rdx; xor %%r10d, %%r10d\n"
		"mov $271, %%eax; syscall\n"
		"mov " AT(frame) ", %%rsp\n"
		"mov $15, %%eax; syscall\n"
		"ud2\n"
		"frame_stub_end:\n"
		:
		: PLACE(function), PLACE(a), PLACE(b), PLACE(explain),
		  PLACE(errno_at), PLACE(frame), PLACE(wait), PLACE(result),
		  PLACE(text), PLACE(done));
}

#endif
