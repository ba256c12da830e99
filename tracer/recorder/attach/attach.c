/* attach.c - joining and leaving, by the mailbox of libweft.so in the program:
 * whichever thread calls its next hook does what is asked. None is stopped but
 * where the library must be loaded first.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/attach.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AGAIN_MS = 20, TELL_MS = 1000, LEAVE_MS = 500, LEAVE_STEP_MS = 5 };

#define FIELD(mailbox, name) ((mailbox) + offsetof(struct attach_mailbox, name))

static int refuse_program(const struct attach *a, const char *why)
{
	message("cannot attach to process %d (%s): %s",
		(int)a->target.remote.pid, a->target.name, why);
	return -1;
}

/* ---- finding the mailbox ---- */

/* Does the recorder live whose pool this is? It holds a mutex in the file. (The
 * file's lock may be held by a child of it, which ends a little later.) The
 * name may be anything. */
static bool is_recorded(const char *pool)
{
	const char *const path = strstr(pool, POOL_FOLDER "/weft-");
	const int fd = !path ? -1 : open(path, O_RDONLY | O_NOFOLLOW |
					 O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	pthread_mutex_t m;
	const bool read = pread(fd, &m, sizeof(m),
				offsetof(struct pool, recorder)) == sizeof(m);

	close(fd);
	return read && m.__data.__lock != 0 &&
	       (m.__data.__lock & FUTEX_OWNER_DIED) == 0;
}

static const char *why_not_now(const struct attach_mailbox *m)
{
	if (m->version != ATTACH_VERSION)
		return "its libweft.so is of another version of weft";
	if (m->state == ATTACH_LAUNCHED)
		return "it was started by weft record, which may still record "
		       "it";
	if (m->state == ATTACH_JOINED && is_recorded(m->joined))
		return "it is being recorded already";
	return NULL;
}

static int read_mailbox(struct attach *a, const struct remote_module *weft)
{
	const struct remote *const r = &a->target.remote;
	struct attach_mailbox m;

	a->mailbox = remote_symbol(r, weft, ATTACH_SYMBOL);
	if (a->mailbox == 0 || !remote_read(r, a->mailbox, &m, sizeof(m)))
		return refuse_program(a, "its libweft.so is of another version "
				      "of weft, or was replaced since");
	m.joined[ATTACH_PATH_MAX - 1] = '\0';
	const char *const why = why_not_now(&m);

	a->pool_size = m.pool_size;
	a->is_late |= m.is_late != 0;
	return why ? refuse_program(a, why) : 0;
}

static int find_mailbox(struct attach *a)
{
	const struct remote *const r = &a->target.remote;
	struct remote_module weft;

	a->is_late = !remote_find(r, "libweft.so", &weft);
	if (!a->is_late && read_mailbox(a, &weft) != 0)
		return -1;
	if (!a->is_late && a->of_libc)
		return refuse_program(a, "it was started with libweft.so, "
				      "which could only have seen its calls of "
				      "libc from the start: --waits and --heap "
				      "need a program without it, or one that "
				      "weft record starts");
	if (!a->is_late)
		return 0;
	const char *const why = load_begin(&a->load, r, a->target.exe,
					   a->of_libc);

	return why ? refuse_program(a, why) : 0;
}

int attach_find(struct attach *a, const char *text, uint64_t pool_bytes,
		bool of_libc)
{
	memset(a, 0, sizeof(*a));
	a->of_libc = of_libc;
	if (target_find(&a->target, text) != 0 || find_mailbox(a) != 0)
		return -1;
	a->is_used = true;
	if (a->pool_size > 0 && pool_bytes > 0 && a->pool_size != pool_bytes) {
		message("process %d (%s) was recorded before, and can only be "
			"recorded with a pool of the same size: leave "
			"--pool-size out, or give %" PRIu64,
			(int)a->target.remote.pid, a->target.name,
			a->pool_size);
		return -1;
	}
	return 0;
}

/* ---- joining ---- */

/* The order is the contract's. */
static bool ask_program(const struct remote *r, uint64_t mailbox,
			const char *pool, uint32_t wish)
{
	const uint32_t look = ATTACH_LOOK;
	const uint64_t unknown = 0;

	return remote_write(r, FIELD(mailbox, pool), pool,
			    ATTACH_PATH_MAX) &&
	       remote_write(r, FIELD(mailbox, wish), &wish, sizeof(wish)) &&
	       remote_write(r, FIELD(mailbox, search), &look, sizeof(look)) &&
	       remote_write(r, FIELD(mailbox, native), &unknown,
			    sizeof(unknown));
}

/* Before it is asked to join: then its first hook does. */
static const char *ensure_library(struct attach *a, const char *library,
				  struct remote_module *weft)
{
	const struct remote *const r = &a->target.remote;
	const char *why;

	if (remote_find(r, "libweft.so", weft))
		return NULL;
	why = load_library(&a->load, library);
	if (why || remote_find(r, "libweft.so", weft))
		return why;
	return "it has ended";
}

static int make_ready(struct attach *a, const char *library,
		      struct remote_module *weft)
{
	const char *const why = ensure_library(a, library, weft);

	if (why)
		return refuse_program(a, why);
	return read_mailbox(a, weft);
}

static bool has_own_lua(const struct attach *a)
{
	struct elf_file file;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe",
		 (int)a->target.remote.pid);
	return elf_file_read(path, &file) == 0 && file.has_lua;
}

static int lead_calls(struct attach *a, const struct remote_module *weft)
{
	const char *const why = load_lead(&a->load, weft);

	if (why) {
		ask_program(&a->target.remote, a->mailbox, a->pool,
			    ATTACH_LEAVE);
		return refuse_program(a, why);
	}
	message_summary("process %d (%s) was started without libweft.so: one "
			"thread of it stood still for %.1f ms",
			(int)a->target.remote.pid, a->target.name,
			(double)a->load.call.longest_ns / 1e6);
	if (has_own_lua(a))
		message_summary("it has a Lua of its own linked in, whose "
				"calls are recorded only if it is linked with "
				"weft and calls weft_lua_attach meanwhile");
	return 0;
}

int attach_begin(struct attach *a, struct pool_owner *owner, bool paused,
		 const char *library)
{
	struct remote_module weft;

	snprintf(a->pool, sizeof(a->pool), "-1:%" PRIu64 ":%" PRIu64 ":%s",
		 (uint64_t)owner->device, (uint64_t)owner->inode, owner->path);
	/* Root records what another user runs, who must be able to map it. */
	if (a->target.uid != geteuid() &&
	    fchown(owner->fd, a->target.uid, a->target.gid) != 0)
		return refuse_program(a, strerror(errno));
	if (a->is_late && make_ready(a, library, &weft) != 0)
		return -1;
	a->waits = true;
	a->paused = paused;
	if (!ask_program(&a->target.remote, a->mailbox, a->pool, ATTACH_JOIN))
		return refuse_program(a, "it has ended");
	return a->is_late ? lead_calls(a, &weft) : 0;
}

/* What the program has come to. It may have been told so before; a pool that it
 * was in before may be of a recorder that was killed. */
enum { ENDED = -1, WAITS, JOINED, OTHERS, REFUSED };

static int state_of(const struct attach *a)
{
	struct attach_mailbox m;

	if (!remote_read(&a->target.remote, a->mailbox, &m, sizeof(m)))
		return ENDED;
	m.joined[ATTACH_PATH_MAX - 1] = '\0';
	if (m.state == ATTACH_JOINED)
		return strcmp(m.joined, a->pool) == 0 ? JOINED :
		       is_recorded(m.joined) ? OTHERS : WAITS;
	return m.state == ATTACH_REFUSED ? REFUSED : WAITS;
}

static void tell_waiting(struct attach *a, uint64_t now_ms)
{
	if (a->since_ms == 0)
		a->since_ms = now_ms;
	if (a->told_waiting || now_ms - a->since_ms < TELL_MS)
		return;
	a->told_waiting = true;
	message_summary("waiting for process %d (%s) to call a function",
			(int)a->target.remote.pid, a->target.name);
}

bool attach_poll(struct attach *a, struct pool_owner *owner, uint64_t now_ms)
{
	load_poll(&a->load, now_ms);
	if (!a->waits || now_ms < a->next_ms)
		return true;
	tell_waiting(a, now_ms);
	a->next_ms = now_ms + AGAIN_MS;
	switch (state_of(a)) {
	case JOINED:
		a->waits = false;
		a->coroutines = atomic_load(&owner->pool->next_coroutine) - 1;
		if (!a->paused)
			pool_turn_on(owner->pool, 0);
		return true;
	case OTHERS:
		refuse_program(a, "it is being recorded already");
		return false;
	case REFUSED:
		refuse_program(a, "it could not map the pool: it has no "
			       "memory, may not make system calls (seccomp), "
			       "or threads of it have slept since too many "
			       "earlier recordings");
		return false;
	case ENDED:
		refuse_program(a, "it has ended");
		return false;
	default:
		ask_program(&a->target.remote, a->mailbox, a->pool,
			    ATTACH_JOIN);
		return true;
	}
}

/* ---- leaving ---- */

/* A child of fork has the mailbox where its parent has it. False: it is there
 * still. */
static bool has_left(const struct attach *a, pid_t pid)
{
	struct attach_mailbox m;
	struct remote r;

	if (remote_open(&r, pid) != 0)
		return true;
	const bool is_there = remote_read(&r, a->mailbox, &m, sizeof(m));
	const bool has = !is_there || m.state != ATTACH_JOINED ||
			 memcmp(m.joined, a->pool, sizeof(m.joined)) != 0;

	/* It must not join when we are gone. */
	if (!has || (is_there && m.wish == ATTACH_JOIN &&
		     memcmp(m.pool, a->pool, sizeof(m.pool)) == 0))
		ask_program(&r, a->mailbox, a->pool, ATTACH_LEAVE);
	remote_close(&r);
	return has;
}

static bool have_all_left(const struct attach *a,
			  const struct pool_owner *owner)
{
	bool all = has_left(a, a->target.remote.pid);

	for (uint32_t i = 0; i < owner->process_slots; i++) {
		const struct pool_process *const p = &owner->processes[i];

		if (atomic_load(&p->state) == SLOT_USED &&
		    (pid_t)p->pid != a->target.remote.pid)
			all &= has_left(a, (pid_t)p->pid);
	}
	return all;
}

void attach_end(struct attach *a, struct pool_owner *owner)
{
	if (!a->is_used || a->mailbox == 0)
		return;
	for (int ms = 0; !have_all_left(a, owner) && ms < LEAVE_MS;
	     ms += LEAVE_STEP_MS)
		poll(NULL, 0, LEAVE_STEP_MS);
	const char *const base = (const char *)owner->pool;
	const off_t from = (const char *)owner->small_base - base;

	fallocate(owner->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
		  (off_t)owner->size - from);
	remote_close(&a->target.remote);
}
