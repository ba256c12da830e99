/* liveness.c - robust mutexes. libc keeps a list of a thread's for the kernel; a
 * child that the program made by clone itself has none, and libc takes it for
 * its parent. It gets a list of ours. SPDX-License-Identifier: MIT */
#include "tracer/host/pool/liveness.h"
#include "tracer/host/base/base.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct robust_list_head ours;
static THREAD_LOCAL int is_ours;

void liveness_begin(void)
{
	struct robust_list_head *known = &ours;
	size_t size;

	is_ours = 0;
	if (syscall(SYS_get_robust_list, 0, &known, &size) != 0 ||
	    known)
		return;
	ours = (struct robust_list_head){
		.list = { &ours.list },
		.futex_offset = (long)offsetof(pthread_mutex_t, __data.__lock) -
			(long)offsetof(pthread_mutex_t, __data.__list.__next),
	};
	is_ours = syscall(SYS_set_robust_list, &ours, sizeof(ours)) == 0;
}

static int hold(pthread_mutex_t *m)
{
	struct robust_list *const node =
		(struct robust_list *)&m->__data.__list.__next;
	int free = 0;
	int held;

	ours.list_op_pending = node;
	held = __atomic_compare_exchange_n(&m->__data.__lock, &free,
					   (int)syscall(SYS_gettid), 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (held) {
		node->next = ours.list.next;
		barrier();
		ours.list.next = node;
	}
	barrier();
	ours.list_op_pending = NULL;
	return held;
}

int liveness_hold(pthread_mutex_t *m)
{
	return is_ours ? hold(m) : pthread_mutex_trylock(m) == 0;
}
