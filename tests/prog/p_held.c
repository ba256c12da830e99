/* p_held.c - "p_held GO": its one thread waits for its input with all vector
 * registers in use, and has a malloc and a mprotect of its own, so that it can
 * hold up what a recorder has it do there. The loader calls the first, and who
 * leads the links of a library that has none to be written any more the second.
 * flags: -finstrument-functions -ldl
 * The lines of its input:
 *   on, off   waits until native calls are recorded, or not; says so
 *   hold      the next such call says "held", and waits for the file GO
 *   flood N   the next such call calls step N times, and says "flooded"
 *   deny      forbids itself to make memory executable (MDWE); says "denied"
 *   cramp     waits from now on where no stack is left; says "cramped"
 *   load F    opens library F; says "loaded"
 *   calls     says how often it called step, and whether its registers were
 *             always its own
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))
enum { ROOM = 64 << 20, HEAD = 16, WIDE = 64, WIDEST = 32, CRAMPED = 512 };

static _Alignas(16) unsigned char room[ROOM];
static size_t used;
static const char *go;
static volatile int sits, holds;
static volatile long floods;
static long calls, wrong;
long step(long n);

__attribute__((noinline)) long step(long n)
{
	__asm__ volatile("" : "+r"(n));
	calls++;
	return n + 1;
}

/* ---- its malloc ---- */

UNSEEN static void say(const char *text)
{
	if (syscall(SYS_write, 1, text, strlen(text)) < 0)
		_exit(3);
}

UNSEEN static void be_held(void)
{
	const struct timespec moment = { 0, 1000000 };
	const long n = floods;

	floods = 0;
	for (long i = 0; i < n; i++)
		step(i);
	if (n > 0)
		say("flooded\n");
	if (!holds)
		return;
	holds = 0;
	say("held\n");
	while (syscall(SYS_faccessat, AT_FDCWD, go, F_OK) != 0)
		syscall(SYS_nanosleep, &moment, NULL);
}

UNSEEN void *malloc(size_t n)
{
	const size_t whole = (n + HEAD + 15) & ~(size_t)15;
	const size_t at = used;

	used += whole;
	if (used > ROOM)
		abort();
	if (sits)
		be_held();
	memcpy(room + at, &n, sizeof(n));
	return room + at + HEAD;
}

int mprotect(void *at, size_t size, int rights);

UNSEEN int mprotect(void *at, size_t size, int rights)
{
	if (sits)
		be_held();
	return (int)syscall(SYS_mprotect, at, size, rights);
}

UNSEEN void free(void *p)
{
	(void)p;
}

UNSEEN void *calloc(size_t n, size_t size)
{
	return malloc(n * size); /* which is never used again */
}

UNSEEN void *realloc(void *old, size_t n)
{
	void *const p = malloc(n);
	size_t before = 0;

	if (old) {
		memcpy(&before, (char *)old - HEAD, sizeof(before));
		memcpy(p, old, before < n ? before : n);
	}
	return p;
}

/* ---- waiting ---- */

static _Alignas(WIDE) unsigned char before[WIDEST][WIDE], after[WIDEST][WIDE];
static char *stack;                /* NULL: the usual one */

#ifdef __x86_64__
#define EACH_LOW(_) _(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7) _(8) _(9) _(10) \
	_(11) _(12) _(13) _(14) _(15)
#define EACH_HIGH(_) _(16) _(17) _(18) _(19) _(20) _(21) _(22) _(23) _(24) \
	_(25) _(26) _(27) _(28) _(29) _(30) _(31)
#define PUT(i) "vmovdqu64 " #i "*64(%[from]), %%zmm" #i "\n"
#define GET(i) "vmovdqu64 %%zmm" #i ", " #i "*64(%[to])\n"
#define PUT_SHORT(i) "vmovdqu " #i "*64(%[from]), %%ymm" #i "\n"
#define GET_SHORT(i) "vmovdqu %%ymm" #i ", " #i "*64(%[to])\n"
#define READ "xor %%eax, %%eax; syscall\n"
#define IN_STACK "mov %%rsp, %%rbx; mov %[stack], %%rsp\n" READ               \
	"mov %%rbx, %%rsp\n"
#define OPERANDS                                                              \
	: "=a"(n), "+m"(after)                                                \
	: "D"(0), "S"(c), "d"(1), [from] "r"(before), [to] "r"(after),        \
	  [stack] "r"(stack)                                                  \
	: "rcx", "r11", "rbx", "memory", "xmm0", "xmm1", "xmm2", "xmm3",      \
	  "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",   \
	  "xmm12", "xmm13", "xmm14", "xmm15"

UNSEEN static long read_wide(char *c)
{
	long n;

	if (stack)
		__asm__ volatile(IN_STACK OPERANDS);
	else if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile(EACH_LOW(PUT) EACH_HIGH(PUT) READ
				 EACH_LOW(GET) EACH_HIGH(GET) "vzeroupper\n"
				 OPERANDS);
	else if (__builtin_cpu_supports("avx"))
		__asm__ volatile(EACH_LOW(PUT_SHORT) READ EACH_LOW(GET_SHORT)
				 "vzeroupper\n" OPERANDS);
	else
		__asm__ volatile(READ OPERANDS);
	return n;
}
#else
/* Nobody has a program of another processor load anything. */
UNSEEN static long read_wide(char *c)
{
	return read(0, c, 1);
}
#endif

UNSEEN static long next_byte(char *c)
{
	memcpy(after, before, sizeof(after));
	sits = 1;
	const long n = read_wide(c);

	sits = 0;
	wrong += memcmp(after, before, sizeof(after)) != 0;
	return n;
}

/* ---- what it is told ---- */

UNSEEN static int is_on(void)
{
	void *const weft = dlopen("libweft.so", RTLD_LAZY | RTLD_NOLOAD);
	int (*status)(struct weft_status *) = weft ?
		(int (*)(struct weft_status *))dlsym(weft, "weft_status") :
		NULL;
	struct weft_status s = { .size = sizeof(s) };

	step(0); /* which may be what a recorder waits for */
	if (status)
		status(&s);
	return s.on;
}

UNSEEN static const char *cramp(void)
{
	char *const p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p, 4096, PROT_NONE) != 0)
		return "no memory\n";
	stack = p + 4096 + CRAMPED;
	return "cramped\n";
}

UNSEEN static void obey(const char *line)
{
	char text[64];

	if (strcmp(line, "on") == 0 || strcmp(line, "off") == 0) {
		while (is_on() != (line[1] == 'n'))
			usleep(500);
		say(line[1] == 'n' ? "on\n" : "off\n");
	} else if (strcmp(line, "hold") == 0) {
		holds = 1;
	} else if (strncmp(line, "flood ", 6) == 0) {
		floods = atol(line + 6);
	} else if (strcmp(line, "deny") == 0) {
		say(prctl(65, 1, 0, 0, 0) == 0 ? "denied\n" : "cannot\n");
	} else if (strcmp(line, "cramp") == 0) {
		say(cramp());
	} else if (strncmp(line, "load ", 5) == 0) {
		say(dlopen(line + 5, RTLD_NOW) ? "loaded\n" : "not loaded\n");
	} else {
		snprintf(text, sizeof(text), "%ld calls, %ld wrong\n", calls,
			 wrong);
		say(text);
	}
}

UNSEEN int main(int argc, char **argv)
{
	char line[512];
	size_t n = 0;

	go = argc > 1 ? argv[1] : "go";
	for (int i = 0; i < WIDEST * WIDE; i++)
		before[i / WIDE][i % WIDE] = (unsigned char)(i * 7 + i / WIDE);
	while (n < sizeof(line) - 1 && next_byte(&line[n]) == 1) {
		if (line[n++] != '\n')
			continue;
		line[n - 1] = '\0';
		n = 0;
		obey(line);
	}
	say(wrong ? "wrong\n" : "right\n");
	return 0;
}
