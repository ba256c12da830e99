/* kernel.h - all system calls of this library, but for clocks that the kernel
 * need not be asked for. Once the program has given up system calls, none is
 * made. Hook-safe, but for errno. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

#include <signal.h>
#include <sys/time.h>

struct robust_list_head;
struct stat;

/* Has the program given up system calls? It may be killed for one that it does
 * not make itself: no hook makes any from then on. */
extern HIDDEN bool kernel_confined;

/* It is about to. Memory is set aside for what hooks need afterwards, where
 * there is so much. */
void kernel_confine(void);

/* ---- memory ---- */

/* Zeroed memory of whole pages, which cost nothing until they are touched; once
 * the program is confined, of what was set aside. NULL: there is none. */
void *kernel_map(size_t size);
/* Give it back; once the program is confined, keep it. */
void kernel_unmap(void *at, size_t size);
/* The same, but it stays mapped, and is zeroed when it is touched again. */
void kernel_drop(void *at, size_t size);
/* Put such memory in the place of what is mapped there. False: not so, as
 * always once the program is confined. */
bool kernel_map_over(void *at, size_t size);
/* A child of fork or clone finds these pages zeroed. False: likewise. */
bool kernel_wipe_on_fork(void *at, size_t size);
/* May these pages of a module be written from now on? False: likewise, until
 * the loader has opened one since: then it has made such calls itself. */
bool kernel_protect(uint64_t from, uint64_t to, bool is_writable);
extern HIDDEN bool kernel_loads;
/* Can this byte be read? False: likewise. Leaves errno alone. */
bool kernel_can_read(const void *at);

/* ---- files: as if there were none, once the program is confined ---- */

/* -1: it cannot be opened. Unlike libc's, these are no places to be cancelled
 * at. */
int kernel_open(const char *path, int flags);
long kernel_read(int file, void *to, size_t size);
void kernel_close(int file);
bool kernel_stat(int file, struct stat *about);
/* Map it, shared. place: where; NULL: anywhere. NULL: it cannot be mapped. */
void *kernel_map_file(int file, size_t size, void *place);

/* What the kernel calls the program's file, NUL-terminated, cut if it is
 * longer; "": not known. Read at the start. */
extern HIDDEN char kernel_program[512];

/* ---- processes and threads ---- */

/* The numbers of the thread and of the process. */
uint32_t kernel_tid(void);
uint32_t kernel_pid(void);
/* In a child of fork, before kernel_pid. */
void kernel_forked(void);
/* The thread's name, which stays as it is once the program is confined. */
void kernel_thread_name(char name[16]);
/* The bounds of the thread's signal stack; 0: it has none, or likewise. */
void kernel_signal_stack(uint64_t *low, uint64_t *high);
/* Has the thread a list of mutexes of which the kernel tells others when it
 * ends? Yes, if that cannot be asked. */
bool kernel_has_robust_list(void);
bool kernel_set_robust_list(struct robust_list_head *list);
/* What the thread has run for, in ns; 0: not known. */
uint64_t kernel_cpu(void);

/* Sleep until someone wakes those that wait for this word, unless it is not as
 * it was seen; for 100 ms at most. False: the program may not; others were let
 * run for a moment, unless it is confined. */
bool kernel_wait(const _Atomic uint32_t *word, uint32_t seen);
void kernel_yield(void);

/* ---- ticks ---- */

/* Have this signal, by whose default nothing happens, sent to this thread each
 * time it has used so many ns of CPU time: who has not asked for one is not
 * disturbed by it. cookie: comes with it. The timer's number; negative: it
 * cannot be made, this thread holds the signal back, and could wait for it, or
 * the program is confined. All end when it becomes so. */
int kernel_tick_begin(int signal, uint64_t ns, const void *cookie);
void kernel_tick_end(int timer);
/* Those of all threads. */
void kernel_ticks_end(void);
/* Nobody in this child of fork has any. */
void kernel_ticks_forget(void);
/* Is nothing done at this signal? Then handler, called with all signals held
 * back, is from now on. True, too, if it is that already. */
typedef void kernel_handler(int signal, siginfo_t *, void *context);
bool kernel_handle(int signal, kernel_handler *handler);
/* Nothing is done at it any more, if handler was called: true. */
bool kernel_unhandle(int signal, kernel_handler *handler);

/* What is done at SIGPROF and when the next one comes, to be put back. */
struct kernel_prof {
	struct sigaction action;
	struct itimerval timer;
	bool is_known;           /* no: the program is confined */
};
struct kernel_prof kernel_prof(void);
void kernel_prof_restore(const struct kernel_prof *);

/* ---- signals ---- */

/* The signals that a thread blocks, as the kernel keeps them. */
struct kernel_signals {
	uint64_t blocked;
	bool is_held;
};

/* Hold back this thread's signals, and with them libc's cancellation, so that
 * nothing jumps out of what is done meanwhile: what must be given back, or must
 * not stay half done. Those that an instruction raises come through. Short, or
 * else the program's handlers come late. May be nested. Does nothing in a
 * program that is confined. Leaves errno alone. */
struct kernel_signals kernel_hold_signals(void);
void kernel_let_signals(struct kernel_signals before);
