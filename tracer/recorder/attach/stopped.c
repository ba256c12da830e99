/* stopped.c - stopping a thread, having it call a function. What is known of
 * the program is what the kernel says, and words of its memory. All of it may
 * be anything.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/stopped.h"
#include "tracer/recorder/attach/frame.h"
#include "tracer/recorder/attach/target.h"
#include "tracer/recorder/base/arch.h"
#include "tracer/recorder/base/proc.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if ARCH_LOADS

enum {
	SEARCH_MS = 3000,          /* for a thread that may be stopped */
	SEARCH_STEP_MS = 2,
	INTERRUPT_US = 20000,
	HANG_US = 5000000,         /* then it hangs in the kernel */
	CALL_US = 1000000,         /* then it may wait for a lock */
	LOADER_US = 1000,          /* so long for the loader's, and */
	LAST_LOADER_US = 4000,     /* so long in the search's last half */
	LEAVE_US = 5000000,        /* then it is left to come back by itself */
	TAKE_OVER_NS = 200000000,  /* then it goes on without us */
	STEP_US = 20,
	SCRATCH = 512 << 10,
	RED_ZONE = 128,
	/* The kernel's own, for a call that was stopped */
	ERESTARTSYS = 512, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516,
};

#define CONFINED                                                               \
	"it has given up system calls (seccomp), and might be killed for "     \
	"those that loading takes"
#define HANGS                                                                  \
	"a thread of it hangs in the kernel, where it cannot be stopped"
#define CRAMPED                                                                \
	"the stacks of its threads have no room left"
#define SHADOWED                                                               \
	"it runs with a shadow stack (CET), and would not survive if weft "    \
	"record was killed while it loads the library: start it with "         \
	"LD_PRELOAD=libweft.so"
#define DIRECTION_FLAG UINT64_C(0x400)

static const char loading[] =
	"a thread of it is loading a library, and does not finish";

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- the thread ---- */

struct stopped {
	const struct remote *r;
	pid_t tid;
	struct user_regs_struct regs;
	uint64_t mask;             /* the signals it blocks */
	uint64_t since_us;
	uint64_t patience_us;      /* how long it may wait for the loader */
	bool is_itself;            /* it has put back all this, or will */
	struct iovec state;        /* all other registers */
	uint8_t bytes[1 << 16];
};

/* Wait for it to stop. Returns waitpid's status; -1: not in that time; or 0: it
 * has ended. */
static int wait_stop(pid_t tid, uint64_t us)
{
	const uint64_t end = now_us() + us;
	int status;

	for (;;) {
		const pid_t p = waitpid(tid, &status, __WALL | WNOHANG);

		if (p == tid)
			return WIFSTOPPED(status) ? status : 0;
		if (p < 0 && errno != EINTR)
			return 0;
		if (now_us() >= end)
			return -1;
		const struct timespec step = { 0, STEP_US * 1000 };

		nanosleep(&step, NULL);
	}
}

static bool is_interrupt(int status)
{
	return status > 0 && status >> 16 == PTRACE_EVENT_STOP;
}

static void let_go(pid_t tid, int status)
{
	const int signal = status > 0 && !is_interrupt(status) ?
			   WSTOPSIG(status) : 0;

	ptrace(PTRACE_DETACH, tid, 0, (void *)(long)signal);
}

/* A thread that did not stop, and will when its call comes back; 0: none. If we
 * end before, the kernel lets it go. */
static pid_t hung;

static bool still_hangs(void)
{
	const int status = hung ? wait_stop(hung, 0) : 0;

	if (status == -1)
		return true;
	if (status > 0)
		let_go(hung, status);
	hung = 0;
	return false;
}

/* While we call something there: no handler runs, but what the processor itself
 * raises comes through, by which we see that the call failed. */
static uint64_t calling_mask(void)
{
	return ~(UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) |
		 UINT64_C(1) << (SIGILL - 1) | UINT64_C(1) << (SIGFPE - 1) |
		 UINT64_C(1) << (SIGTRAP - 1));
}

static bool save(struct stopped *s)
{
	struct iovec regs = { &s->regs, sizeof(s->regs) };

	s->state = (struct iovec){ s->bytes, sizeof(s->bytes) };
	return ptrace(PTRACE_GETREGSET, s->tid, NT_PRSTATUS, &regs) == 0 &&
	       ptrace(PTRACE_GETREGSET, s->tid, NT_X86_XSTATE, &s->state) ==
	       0 && ptrace(PTRACE_GETSIGMASK, s->tid, sizeof(s->mask),
			   &s->mask) == 0;
}

/* Some calls come back with EINTR when they are stopped, though no signal has
 * come. The kernel begins them again, unless it runs a handler first. */
static bool begin_again(struct stopped *s)
{
	struct iovec regs = { &s->regs, sizeof(s->regs) };

	if ((int64_t)s->regs.rax != -EINTR)
		return true;
	s->regs.rax = (uint64_t)-ERESTARTNOHAND;
	return ptrace(PTRACE_SETREGSET, s->tid, NT_PRSTATUS, &regs) == 0;
}

/* The kernel begins a call again after a stop for an interrupt, not after one
 * for a system call. */
static void put_back(struct stopped *s)
{
	struct iovec regs = { &s->regs, sizeof(s->regs) };
	int status;

	ptrace(PTRACE_INTERRUPT, s->tid, 0, 0);
	ptrace(PTRACE_CONT, s->tid, 0, 0);
	do {
		status = wait_stop(s->tid, INTERRUPT_US);
	} while (status == -1);
	if (s->is_itself && save(s)) {
		begin_again(s);
	} else {
		ptrace(PTRACE_SETREGSET, s->tid, NT_X86_XSTATE, &s->state);
		ptrace(PTRACE_SETSIGMASK, s->tid, sizeof(s->mask), &s->mask);
		ptrace(PTRACE_SETREGSET, s->tid, NT_PRSTATUS, &regs);
	}
	let_go(s->tid, status);
}

/* Does it still sit where it may be stopped? What we saw may be over. */
static bool is_still(const struct stopped *s, const struct sleeper *c)
{
	return (long)s->regs.orig_rax == c->number && s->regs.rsp == c->sp &&
	       s->regs.rip == c->pc;
}

/* False: another one, or later. */
static bool stop_thread(struct stopped *s, const struct sleeper *c)
{
	int status;

	s->since_us = now_us();
	s->is_itself = false;
	if (ptrace(PTRACE_SEIZE, s->tid, 0, PTRACE_O_TRACESYSGOOD) != 0)
		return false;
	ptrace(PTRACE_INTERRUPT, s->tid, 0, 0);
	status = wait_stop(s->tid, HANG_US);
	if (status == -1)
		hung = s->tid;
	if (status <= 0)
		return false;
	/* Else the whole process was stopped, by SIGSTOP. */
	if (is_interrupt(status) && WSTOPSIG(status) == SIGTRAP && save(s) &&
	    is_still(s, c) && begin_again(s))
		return true;
	let_go(s->tid, status);
	return false;
}

/* ---- calls ---- */

static bool get_registers(const struct stopped *s,
			  struct user_regs_struct *regs)
{
	struct iovec v = { regs, sizeof(*regs) };

	return ptrace(PTRACE_GETREGSET, s->tid, NT_PRSTATUS, &v) == 0;
}

/* The lock that it waits for, if it holds none of the loader's; 0: none. It
 * shows no more than a wait that a stop ended. */
static uint64_t awaited_lock(const struct stopped *s,
			     const struct sleeper_libc *libc)
{
	struct user_regs_struct regs;

	return get_registers(s, &regs) && regs.orig_rax == SYS_futex &&
	       ((int64_t)regs.rax == -ERESTARTSYS ||
		(int64_t)regs.rax == -ERESTART_RESTARTBLOCK) &&
	       !sleeper_loader_holder(s->r, libc, s->tid) ? regs.rdi : 0;
}

/* Go on at pc with this stack, and with rbx or the first arguments as given.
 * The mask comes second: with our registers, the thread puts back its own. */
static bool start_at(const struct stopped *s, uint64_t pc, uint64_t sp,
		     const uint64_t a[4])
{
	struct user_regs_struct regs = s->regs;
	struct iovec v = { &regs, sizeof(regs) };
	const uint64_t mask = calling_mask();

	regs.rip = pc;
	regs.rsp = sp;
	regs.rbx = a[0];
	regs.rdi = a[0];
	regs.rsi = a[1];
	regs.rdx = a[2];
	regs.rcx = a[3];
	regs.r8 = UINT64_MAX;
	regs.r9 = 0;
	regs.rax = 0;
	regs.orig_rax = UINT64_MAX;
	regs.eflags &= ~DIRECTION_FLAG;
	return ptrace(PTRACE_SETREGSET, s->tid, NT_PRSTATUS, &v) == 0 &&
	       ptrace(PTRACE_SETSIGMASK, s->tid, sizeof(mask), &mask) == 0;
}

/* What the processor raised, and would again. */
static bool is_fault(int signal)
{
	return signal > 0 && signal < NSIG &&
	       (calling_mask() >> (signal - 1) & 1) == 0;
}

/* Let it go on until its next system call begins or ends. False: it has ended,
 * or failed. */
static bool to_system_call(const struct stopped *s)
{
	int status, signal = 0;

	do {
		ptrace(PTRACE_SYSCALL, s->tid, 0, (void *)(long)signal);
		while (waitpid(s->tid, &status, __WALL) < 0)
			if (errno != EINTR)
				return false;
		if (!WIFSTOPPED(status))
			return false;
		signal = is_interrupt(status) ? 0 : WSTOPSIG(status);
	} while (signal != (SIGTRAP | 0x80) && !is_fault(signal));
	return !is_fault(signal);
}

static uint64_t small_at(uint64_t sp)
{
	return (sp - RED_ZONE - FRAME_BASIC) & ~UINT64_C(63);
}

/* mmap and the like. Its own stack may be small, or another program's idea of
 * one: it is used for these alone. Returns what the call did, negative: it
 * failed. */
static int64_t call_small(const struct stopped *s,
			   const struct sleeper_libc *libc, uint64_t function,
			   const uint64_t a[4])
{
	static uint8_t bytes[FRAME_MAX];
	const uint64_t at = small_at(s->regs.rsp);
	const size_t n = frame_make(bytes, at, &s->regs, s->mask, &s->state,
				    true);
	struct user_regs_struct regs;

	return remote_write(s->r, at, bytes, n) &&
	       remote_write(s->r, at - 8, &libc->restorer, 8) &&
	       start_at(s, function, at - 8, a) && to_system_call(s) &&
	       to_system_call(s) && get_registers(s, &regs) ?
	       (int64_t)regs.rax : -1;
}

static bool is_done(const struct stopped *s, uint64_t call)
{
	uint64_t done = 0;

	return remote_read(s->r, call + offsetof(struct frame_call, done),
			   &done, sizeof(done)) && done != 0;
}

/* Wait until it stops: it is stopped when it is done, or else after a while, to
 * see what it waits for. */
static int next_stop(const struct stopped *s, uint64_t call, uint64_t us)
{
	const uint64_t late = now_us() + us;
	bool asked = false;
	int status;

	while ((status = wait_stop(s->tid, STEP_US)) == -1) {
		if (asked || (!is_done(s, call) && now_us() < late))
			continue;
		ptrace(PTRACE_INTERRUPT, s->tid, 0, 0);
		asked = true;
	}
	return status;
}

/* FAILED: it has ended, failed, or was given up. BUSY: it was not begun, or
 * given up, since another thread held the loader's lock. LEFT: it can be
 * neither given up nor waited for, since others may wait for us. */
enum outcome { DONE, FAILED, BUSY, LEFT };

/* Run our code until it is done. If it waits for a lock, and does not hold the
 * loader's, nothing is begun yet, and the call can be given up. Else it is
 * slow, and goes on, twice as long each time: it is stopped seldom, and so also
 * if somebody stops us. */
static enum outcome run_call(const struct stopped *s,
			     const struct sleeper_libc *libc, uint64_t call)
{
	const uint64_t begun = now_us();
	uint64_t wait = s->patience_us;

	for (int signal = 0;; wait = wait < CALL_US ? 2 * wait : wait) {
		ptrace(PTRACE_CONT, s->tid, 0, (void *)(long)signal);
		const int status = next_stop(s, call, wait);
		const bool done = is_done(s, call);

		if (status == 0)
			return FAILED;
		if (is_interrupt(status) && done)
			return DONE;
		const uint64_t lock = is_interrupt(status) ?
				      awaited_lock(s, libc) : 0;
		const uint64_t us = now_us() - begun;

		if (lock && sleeper_is_loaders(libc, lock))
			return BUSY;
		if (lock && us >= CALL_US)
			return FAILED;
		if (is_interrupt(status) && us >= LEAVE_US)
			return LEFT;
		signal = is_interrupt(status) ? 0 : WSTOPSIG(status);
		if (!done && is_fault(signal))
			return FAILED;
	}
}

/* What goes there: our code; then, where it can be written, the call, its text;
 * at the end a frame, and below that the stack. */
enum { CALL_AT = 4096, TEXT_AT = 2 * CALL_AT, TEXT_MAX = PATH_MAX,
       FRAME_AT = SCRATCH - FRAME_MAX };

/* What a thread has left that went on without us; 0: nothing. */
static uint64_t left_over;

/* Nothing is both written and executed: where the kernel denies that (MDWE), it
 * also denies to execute what could be written before, but not to write what
 * could be executed. Returns 0: it cannot be had. */
static uint64_t map_scratch(const struct stopped *s,
			    const struct sleeper_libc *libc,
			    const struct stopped_call *c)
{
	const int64_t low = call_small(s, libc, c->map,
		(uint64_t[4]){ 0, SCRATCH, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE });

	if (low <= 0 || low % CALL_AT != 0)
		return 0;
	if (call_small(s, libc, c->protect,
		       (uint64_t[4]){ (uint64_t)low + CALL_AT,
				      SCRATCH - CALL_AT,
				      PROT_READ | PROT_WRITE }) == 0)
		return (uint64_t)low;
	call_small(s, libc, c->unmap, (uint64_t[4]){ (uint64_t)low, SCRATCH });
	return 0;
}

/* A debugger's way: not even the program can write there. */
static bool put_code(const struct stopped *s, uint64_t at)
{
	const size_t n = (size_t)(frame_stub_end - frame_stub);

	for (size_t i = 0; i < n; i += sizeof(long)) {
		const size_t rest = n - i;
		long word = 0;

		memcpy(&word, frame_stub + i,
		       rest < sizeof(word) ? rest : sizeof(word));
		if (ptrace(PTRACE_POKEDATA, s->tid, (void *)(at + i),
			   (void *)word) != 0)
			return false;
	}
	return true;
}

static bool put_call(const struct stopped *s, const struct stopped_call *c,
		     uint64_t low)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_call call = {
		.function = c->function, .a = c->text ? low + TEXT_AT : c->a,
		.b = c->b, .explain = c->explain, .errno_at = c->errno_at,
		.frame = low + FRAME_AT, .wait = { 0, TAKE_OVER_NS },
	};
	const size_t n = frame_make(bytes, low + FRAME_AT, &s->regs, s->mask,
				    &s->state, false);

	return put_code(s, low) &&
	       remote_write(s->r, low + CALL_AT, &call, sizeof(call)) &&
	       remote_write(s->r, low + FRAME_AT, bytes, n) &&
	       (!c->text || (strlen(c->text) < TEXT_MAX &&
			     remote_write(s->r, low + TEXT_AT, c->text,
					  strlen(c->text) + 1)));
}

static void take_result(const struct stopped *s, struct stopped_call *c,
			uint64_t low)
{
	struct frame_call call = { .text = 0 };

	remote_read(s->r, low + CALL_AT, &call, sizeof(call));
	c->result = call.result;
	for (size_t i = 0; call.text && i + 1 < sizeof(c->why); i++)
		if (!remote_read(s->r, call.text + i, &c->why[i], 1) ||
		    !c->why[i])
			return;
}

/* Has it waited for us too long, and gone on by itself? */
static bool has_gone_on(const struct stopped *s, uint64_t low)
{
	struct user_regs_struct regs;

	return get_registers(s, &regs) && regs.rip - low >= CALL_AT;
}

static void tidy(const struct stopped *s, const struct sleeper_libc *libc,
		 const struct stopped_call *c)
{
	if (left_over)
		call_small(s, libc, c->unmap,
			   (uint64_t[4]){ left_over, SCRATCH });
	left_over = 0;
}

/* Whatever becomes of us, the thread comes back by a frame. Returns NULL, or
 * why it was not done. */
static const char *do_call(struct stopped *s, const struct sleeper_libc *libc,
			   struct stopped_call *c)
{
	tidy(s, libc, c);
	if (c->function == 0)
		return NULL;
	const uint64_t low = map_scratch(s, libc, c);

	if (low == 0)
		return "it cannot map memory for code: it has no room, or the "
		       "system forbids it";
	enum outcome end = put_call(s, c, low) ? BUSY : FAILED;

	/* That was some time ago: better not to begin than to give up. */
	if (end == BUSY && !sleeper_loader_holder(s->r, libc, 0))
		end = start_at(s, low, low + FRAME_AT - 64,
			       (uint64_t[4]){ low + CALL_AT }) ?
		      run_call(s, libc, low + CALL_AT) : FAILED;

	s->is_itself = end == LEFT;
	if (end == LEFT)
		return "the call in it does not return";
	if (end == DONE)
		take_result(s, c, low);
	s->is_itself = end == DONE && has_gone_on(s, low);
	left_over = low;
	if (!s->is_itself)
		tidy(s, libc, c);
	return end == DONE ? NULL :
	       end == BUSY ? loading : "the call in it did not return";
}

/* A signal to us must not leave the thread with our registers. Returns NULL, or
 * why it was not done; *stood: not because the thread did not sit there any
 * more. */
static const char *do_stopped(struct stopped *s,
			      const struct sleeper_libc *libc,
			      const struct sleeper *at,
			      struct stopped_call *c, bool *stood)
{
	const char *why = "no thread of it could be stopped";
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	*stood = stop_thread(s, at);
	if (*stood) {
		if (sleeper_loader_holder(s->r, libc, 0)) {
			why = loading;
		} else {
			why = do_call(s, libc, c);
		}
		put_back(s);
		*stood = why != loading;
		const uint64_t ns = (now_us() - s->since_us) * 1000;

		if (ns > c->longest_ns)
			c->longest_ns = ns;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return why;
}

static const char *why_not(const struct stopped *s, const struct sleeper *c)
{
	if (target_is_confined(s->tid))
		return CONFINED;
	if (target_has_shadow_stack(s->tid))
		return SHADOWED;
	return remote_may_write(s->r, small_at(c->sp) - 8, c->sp) ? NULL :
	       CRAMPED;
}

/* Try each thread once, of those that would wait anew, or of the others.
 * Returns whether one was stopped. */
static bool try_threads(struct stopped *s, const struct sleeper_libc *libc,
			struct stopped_call *call, bool anew, const char **why)
{
	char path[64];
	bool stood = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->r->pid);
	DIR *const threads = opendir(path);

	for (const struct dirent *e; !stood && !hung && threads &&
	     (e = readdir(threads)); ) {
		struct sleeper c;

		s->tid = atoi(e->d_name);
		if (!sleeper_read(s->r, s->tid, libc, &c) ||
		    c.waits_anew != anew)
			continue;
		*why = why_not(s, &c);
		if (!*why && sleeper_loader_holder(s->r, libc, 0))
			*why = loading;
		if (!*why)
			*why = do_stopped(s, libc, &c, call, &stood);
	}
	if (threads)
		closedir(threads);
	return stood;
}

/* Each thread once, those that would wait anew last. */
static bool try_all(struct stopped *s, const struct sleeper_libc *libc,
		    struct stopped_call *call, const char **why)
{
	return try_threads(s, libc, call, false, why) ||
	       try_threads(s, libc, call, true, why);
}

static const char *find_and_do(const struct remote *r,
			       const struct sleeper_libc *libc,
			       struct stopped_call *call, bool waits)
{
	static struct stopped s;
	const char *why = "none of its threads waits for something (sleeps, "
			  "reads, polls), where it could be stopped safely: "
			  "try again, or start it with LD_PRELOAD=libweft.so";

	s.r = r;
	s.patience_us = LOADER_US;
	for (int ms = 0; ms < SEARCH_MS; ms += SEARCH_STEP_MS) {
		if (try_all(&s, libc, call, &why))
			return why;
		if (hung)
			return HANGS;
		if (proc_status(r->pid, "Threads:") < 1)
			return "it has ended";
		if (!waits)
			break;
		if (ms >= SEARCH_MS / 2)
			s.patience_us = LAST_LOADER_US;
		poll(NULL, 0, SEARCH_STEP_MS);
	}
	return why;
}

const char *stopped_do(const struct remote *r, const struct sleeper_libc *libc,
		       struct stopped_call *call, bool waits)
{
	struct stopped_call none = *call;

	if (still_hangs())
		return HANGS;
	const char *const why = find_and_do(r, libc, call, waits);

	if (left_over == 0)
		return why;
	none.function = 0;
	find_and_do(r, libc, &none, waits);
	call->longest_ns = none.longest_ns;
	return why;
}

#else

const char *stopped_do(const struct remote *r, const struct sleeper_libc *libc,
		       struct stopped_call *call, bool waits)
{
	(void)waits;
	(void)r;
	(void)libc;
	(void)call;
	return "libraries can be loaded into it on x86-64 only";
}

#endif
