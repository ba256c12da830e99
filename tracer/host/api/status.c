/* status.c - what a program may ask about its own recording, and native records
 * on and off. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/region.h"
#include "tracer/host/lua/vm.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/api/weft.h"

#include <errno.h>
#include <string.h>

/* Records that were lost, not what was only counted beside them. */
static uint64_t lost_here(void)
{
	static const enum lost what[] = {
		LOST_FULL, LOST_DEPTH, LOST_NESTED, LOST_SWITCH, LOST_NAMES,
	};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < process_view.thread_slots; i++) {
		struct pool_thread *const t = &process_view.threads[i];

		if (atomic_load(&t->state) != SLOT_USED ||
		    t->process != process_serial)
			continue;
		for (size_t k = 0; k < sizeof(what) / sizeof(what[0]); k++)
			sum += atomic_load(&t->lost[what[k]]);
	}
	return sum;
}

EXPORT int weft_status(struct weft_status *status)
{
	const int saved = errno;
	struct weft_status now = { .size = sizeof(now) };

	if (!status || status->size < sizeof(status->size))
		return -1;
	if (process_ready()) {
		now.recorded = 1;
		now.on = lua_vm_on();
		now.native = !atomic_load(&process_no_native);
		now.lua = process_view.lua;
		now.inside_only = atomic_load(&region_only);
		now.lost = lost_here();
	}
	now.size = status->size < sizeof(now) ? status->size : sizeof(now);
	memcpy(status, &now, now.size);
	errno = saved;
	return now.recorded ? 0 : -1;
}

/* Native calls that are open at this moment would stay on the stack for ever, or
 * return unseen: a new window begins, as after a pause. */
EXPORT int weft_native(int on)
{
	const int saved = errno;
	int was;

	if (!process_ready()) {
		errno = saved;
		return -1;
	}
	was = !atomic_exchange(&process_no_native, on == 0);
	if (was != (on != 0)) {
		__atomic_store_n(&thread_native_pool, NULL, __ATOMIC_SEQ_CST);
		if (weft_pause())
			weft_resume();
	}
	errno = saved;
	return was;
}
