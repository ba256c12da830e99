/* birth.h - the states of threads come from here, and go back.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/thread_state.h"

/* A state to begin with, which nobody has; NULL: no memory, which is noted. */
struct thread_state *birth_new(void);

/* The opposite: nobody has it any more. */
void birth_give_back(struct thread_state *s);

/* What the pool asks for: are calls counted, or some of them left out? */
void birth_choose(struct thread_state *s);

/* Gives a new state an empty stack, and no buffer. below: of the hook that is
 * interrupted, NULL: of the thread. false: the pool has no slot for the thread,
 * and the state was given back. counts: such a thread is counted. All but
 * window, awaits, natives and generation are set. */
bool birth_begin(struct thread_state *s, struct thread_state *below,
		 bool counts);

/* Who this thread is, in a recording that has not heard of it. false: the pool
 * has no slot for it. */
bool birth_identify(struct thread_state *s, bool counts);

/* The table of words holds for as long as no module goes. */
void birth_check_table(struct thread_state *s);
