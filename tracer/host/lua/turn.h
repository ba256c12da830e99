/* turn.h - a VM whose calls are recorded comes to be sampled, as the recorder's
 * budget asks (lua_vm_is_to_turn), and the other way round. Not busy.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/coroutine.h"

/* In an event of co, whose calls are recorded. sp: of the hook. false: its VM
 * cannot be sampled now. */
bool lua_turn_sampled(struct coroutine *co, uint64_t sp);

/* A call or resume on co begins, in none of any VM's: if each call is to be
 * recorded again, it is from now on. Where calls are not seen to begin, a VM
 * stays sampled. */
void lua_turn_exact(const struct coroutine *co);
