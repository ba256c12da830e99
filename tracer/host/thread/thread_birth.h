/* thread_birth.h - a thread's state before it is anybody's, and after. For state.c.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_THREAD_BIRTH_H
#define WEFT_TRACER_HOST_THREAD_THREAD_BIRTH_H

#include "tracer/host/thread/thread_state.h"

/* The pool's generation at which this thread could get no state, 0: never: to
 * try at each call would cost several system calls every time. */
extern THREAD_LOCAL uint32_t thread_refused;

/* A state with an empty stack and no buffer; below: of the hook that is
 * interrupted, NULL: of the thread. NULL: no memory, or no place in the pool,
 * which is counted. */
struct thread_state *thread_birth(struct thread_state *below);
void thread_give_back(struct thread_state *s);

/* Who this thread is, in a recording that has not heard of it. 0: there is no
 * place for it. */
int thread_identify(struct thread_state *s);
void thread_count_unslotted(void);

/* What is known of functions' modules, made right where modules have gone. */
void thread_check_table(struct thread_state *s);

#endif
