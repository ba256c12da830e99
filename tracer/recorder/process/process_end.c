/* process_end.c - a descriptor of each process can be read once it has ended.
 * While it is a zombie, /proc has its status; after that the kernel tells it
 * through the descriptor, since Linux 6.15 (linux/pidfd.h there).
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/process_end.h"
#include "tracer/recorder/process/process_watch.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first version of it, which newer kernels fill, too. */
struct ended {
	uint64_t mask;
	uint32_t others[13];       /* groups, numbers and owners */
	int32_t status;
};
enum { ENDED_HAS_STATUS = 1 << 3 };
#define ASK_ENDED _IOWR(0xFF, 11, struct ended)
_Static_assert(sizeof(struct ended) == 64, "as the kernel has it");

enum { AT_ONCE = 16 };

int process_ends_init(struct process_ends *e, const struct pool_owner *owner)
{
	const uint32_t n = owner->process_slots + 1;

	e->slot = calloc(n, sizeof(*e->slot));
	e->all = epoll_create1(EPOLL_CLOEXEC);
	if (!e->slot || e->all < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		e->slot[i] = (struct process_end){ .fd = -1, .serial = ~0u };
	e->owner = owner;
	return 0;
}

static bool ask_kernel(int fd, int *status)
{
	struct ended its = { .mask = ENDED_HAS_STATUS };

	if (ioctl(fd, ASK_ENDED, &its) != 0 || !(its.mask & ENDED_HAS_STATUS))
		return false;
	*status = its.status;
	return true;
}

/* Its parent may wait for it at any time: then it is a zombie no more. */
static int status_of(const struct process_end *p)
{
	int status;

	if (ask_kernel(p->fd, &status))
		return status;
	status = process_zombie_status(p->pid);
	return status < 0 && !ask_kernel(p->fd, &status) ? -1 : status;
}

static void forget_process(struct process_end *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void watch_process(struct process_ends *e, uint32_t i, pid_t pid)
{
	struct process_end *const p = &e->slot[i];
	struct epoll_event its = { .events = EPOLLIN, .data.u32 = i };

	forget_process(p);
	p->pid = pid;
	/* Not one that is older than we, and means nothing to us. */
	if (!process_exists(pid) && process_zombie_status(pid) < 0)
		return;
	p->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p->fd >= 0 && epoll_ctl(e->all, EPOLL_CTL_ADD, p->fd, &its) != 0)
		forget_process(p);
}

static void watch_new(struct process_ends *e, pid_t not, pid_t attached)
{
	const uint32_t end = e->owner->process_slots;

	for (uint32_t i = 0; i < end; i++) {
		const struct pool_process *const slot = &e->owner->processes[i];
		const pid_t pid = (pid_t)slot->pid;

		if (atomic_load(&slot->state) != SLOT_USED ||
		    slot->serial == e->slot[i].serial)
			continue;
		e->slot[i].serial = slot->serial;
		if (pid != not && pid != attached)
			watch_process(e, i, pid);
	}
	/* Its number in the pool may be that of another PID namespace. */
	if (attached > 0 && e->slot[end].pid != attached)
		watch_process(e, end, attached);
}

void process_ends_poll(struct process_ends *e, pid_t not, pid_t attached,
		       process_end_fn *fn, void *ctx)
{
	struct epoll_event event[AT_ONCE];
	int n;

	if (!e->owner)
		return;
	while ((n = epoll_wait(e->all, event, AT_ONCE, 0)) > 0) {
		for (int i = 0; i < n; i++) {
			struct process_end *const p =
				&e->slot[event[i].data.u32];
			const int status = status_of(p);

			forget_process(p);
			fn(ctx, p->pid, status);
		}
	}
	watch_new(e, not, attached);
}
