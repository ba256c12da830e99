/* pool_owner.c - makes the pool: the file, its layout, its mutexes, its pages;
 * and removes, in time, the pools that dead recorders left. Does not know what
 * is done with the buffers.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/base/memory_limit.h"
#include "tracer/recorder/base/message.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	PAGE = 4096,
	SMALL_BYTES = POOL_SMALL_WORDS * 8,
	BIG_BYTES = POOL_BIG_WORDS * 8,
	MAX_FIRST = 1024,          /* small buffers that are there at once */
	MAX_THREADS = 8192,
	MAX_PROCESSES = 1024,
	DEFAULT_BYTES = 64 << 20,
	SMALLEST_BYTES = 1 << 20,
	SLICE = 16,                /* big buffers that get pages at once */
	MOST_MORE = 512,           /* the same of small ones, later */
	KEPT_MODE = 0400,          /* of a pool that a dead recorder left, */
	KEPT_SECONDS = 3600,       /* and how long it stays */
};

/* ---- mutexes ---- */

void pool_mutex_renew(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	memset(mutex, 0, sizeof(*mutex));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* glibc's mutex begins with its futex. The kernel's robust list makes that part
 * of the ABI. */
static uint32_t futex_word(const pthread_mutex_t *mutex)
{
	return __atomic_load_n((const uint32_t *)(const void *)mutex,
			       __ATOMIC_ACQUIRE);
}

bool pool_mutex_died(const pthread_mutex_t *mutex)
{
	return (futex_word(mutex) & FUTEX_OWNER_DIED) != 0;
}

bool pool_mutex_held(const pthread_mutex_t *mutex)
{
	const uint32_t word = futex_word(mutex);

	return (word & FUTEX_TID_MASK) != 0 && (word & FUTEX_OWNER_DIED) == 0;
}

void pool_mutex_look(pthread_mutex_t *mutex)
{
	uint32_t word = futex_word(mutex);

	if (pool_mutex_held(mutex) &&
	    kill((pid_t)(word & FUTEX_TID_MASK), 0) != 0 && errno == ESRCH)
		__atomic_compare_exchange_n((uint32_t *)(void *)mutex, &word,
					    FUTEX_OWNER_DIED, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* ---- layout ---- */

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint32_t within(uint64_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : (uint32_t)n;
}

/* 1,000 idle threads take 8 of 64 MiB. */
static uint32_t first_small(uint64_t bytes)
{
	return within(bytes / 8 / SMALL_BYTES, 8, MAX_FIRST);
}

/* The parts before the buffers. Returns where they end. */
static uint64_t lay_out_head(struct pool *p, uint64_t bytes)
{
	uint64_t at = whole_pages(sizeof(*p));

	p->thread_slots = within(bytes / SMALL_BYTES, 64, MAX_THREADS);
	p->process_slots = within(bytes / 65536, 16, MAX_PROCESSES);
	p->process_offset = at;
	at += whole_pages(p->process_slots * sizeof(struct pool_process));
	p->thread_offset = at;
	at += whole_pages(p->thread_slots * sizeof(struct pool_thread));
	while (p->verdict_slots > bytes / 32 / 8)
		p->verdict_slots /= 2;
	p->verdict_offset = at;
	at += whole_pages(p->verdict_slots * UINT64_C(8));
	p->state_offset = at;
	/* There can never be more of them than this. */
	return at + whole_pages((p->thread_slots + bytes / BIG_BYTES) * 8);
}

int pool_owner_layout(struct pool *p, uint64_t bytes, uint64_t most)
{
	const uint32_t first = first_small(bytes);

	if (bytes < SMALLEST_BYTES)
		return -1;
	p->small_offset = lay_out_head(p, bytes);
	const uint64_t at = p->small_offset + (uint64_t)first * SMALL_BYTES;

	if (at + 2 * BIG_BYTES > bytes)
		return -1;
	p->big_buffers = (uint32_t)((bytes - at) / BIG_BYTES);
	const uint64_t big = (uint64_t)p->big_buffers * BIG_BYTES;
	const uint64_t room = most < at + big ? 0 : most - at - big;

	p->small_buffers = first + within(room / SMALL_BYTES, 0,
					  p->thread_slots - first);
	p->big_offset = p->small_offset +
			(uint64_t)p->small_buffers * SMALL_BYTES;
	p->size = p->big_offset + big;
	assert(at + big <= bytes && p->small_buffers >= first);
	return 0;
}

/* Take private copies of the geometry while nobody else can write it. */
static void copy_geometry(struct pool_owner *o)
{
	struct pool *const p = o->pool;

	o->processes = pool_process(p, 0);
	o->threads = pool_thread(p, 0);
	o->states = pool_state(p, 0);
	o->verdicts = pool_verdicts(p);
	o->verdict_slots = p->verdict_slots;
	o->process_slots = p->process_slots;
	o->thread_slots = p->thread_slots;
	o->small = p->small_buffers;
	o->big = p->big_buffers;
	o->small_base = pool_buffer(p, 0);
	o->big_base = pool_buffer(p, o->small);
	o->recording = p->recording;
	assert(pool_owner_valid(o));
}

bool pool_owner_valid(const struct pool_owner *o)
{
	const char *const base = (const char *)o->pool;
	const void *const end[] = {
		base + sizeof(*o->pool), o->processes + o->process_slots,
		o->threads + o->thread_slots,
		o->verdicts + o->verdict_slots,
		o->states + pool_owner_buffers(o),
		o->small_base + (size_t)o->small * POOL_SMALL_WORDS,
		o->big_base + (size_t)o->big * POOL_BIG_WORDS,
	};
	const void *const start[] = {
		o->processes, o->threads, o->verdicts, o->states, o->small_base,
		o->big_base, base + o->size,
	};

	for (size_t i = 0; i < sizeof(end) / sizeof(*end); i++)
		if ((uintptr_t)end[i] > (uintptr_t)start[i])
			return false;
	return o->recording != 0 && o->small > 0 && o->big > 0;
}

/* ---- the file ---- */

uint64_t pool_folder_free(void)
{
	struct statvfs fs;

	if (statvfs(POOL_FOLDER, &fs) != 0)
		return 0;
	const uint64_t free = (uint64_t)fs.f_bavail * fs.f_frsize;
	const uint64_t share = memory_limit("/proc/self/cgroup",
					    "/sys/fs/cgroup") / 4;

	return free < share ? free : share;
}

/* A pool in POOL_FOLDER, open. Others may make files of any name there. */
struct left {
	int fd;
	const char *name;
	struct stat st;
};

/* An empty file is a pool in the making that is not locked yet: it takes no
 * memory and is kept. */
static bool is_abandoned(struct left *l)
{
	return fstat(l->fd, &l->st) == 0 && S_ISREG(l->st.st_mode) &&
	       l->st.st_uid == getuid() && l->st.st_size > 0 &&
	       flock(l->fd, LOCK_EX | LOCK_NB) == 0;
}

/* Whether weft recover may still want it: for an hour after it was first found,
 * which its mode and time tell from then on, if it takes a fourth at most of
 * what could be used. */
static bool is_worth_keeping(const struct left *l)
{
	if ((uint64_t)l->st.st_blocks * 512 > pool_folder_free() / 4)
		return false;
	if ((l->st.st_mode & 0777) == KEPT_MODE)
		return time(NULL) - l->st.st_mtime < KEPT_SECONDS;
	if (fchmod(l->fd, KEPT_MODE) != 0 || futimens(l->fd, NULL) != 0)
		return false;
	if (isatty(STDERR_FILENO))
		message("note: a recorder that died left its pool: " POOL_FOLDER
			"/%s; it is kept for an hour, for weft recover",
			l->name);
	return true;
}

/* Remove the pools of this user whose recorders have died, but those that are
 * worth keeping. A living one holds the lock of its pool. The lock ends with
 * it, in whatever way it ends. */
static void pool_cleanup(void)
{
	char prefix[32];
	DIR *const folder = opendir(POOL_FOLDER);

	if (!folder)
		return;
	snprintf(prefix, sizeof(prefix), "weft-%u-", (unsigned)getuid());
	for (const struct dirent *e; (e = readdir(folder)); ) {
		struct left l = { .name = e->d_name };

		if (strncmp(l.name, prefix, strlen(prefix)) != 0)
			continue;
		l.fd = openat(dirfd(folder), l.name, O_RDONLY | O_NOFOLLOW |
			      O_CLOEXEC | O_NONBLOCK);
		if (l.fd < 0)
			continue;
		if (is_abandoned(&l) && !is_worth_keeping(&l))
			unlinkat(dirfd(folder), l.name, 0);
		close(l.fd);
	}
	closedir(folder);
}

static uint64_t limit_of(__rlimit_resource_t resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 ? limit.rlim_cur :
	       RLIM_INFINITY;
}

/* A file may not be larger (ulimit -f). */
static uint64_t file_limit(void)
{
	return limit_of(RLIMIT_FSIZE);
}

/* Where address space is limited (ulimit -v), buffers for later have none. */
static uint64_t most_bytes(uint64_t bytes)
{
	const uint64_t file = file_limit();

	return limit_of(RLIMIT_AS) == RLIM_INFINITY || file < bytes ? file :
	       bytes;
}

static uint64_t choose_bytes(uint64_t wish)
{
	const uint64_t third = pool_folder_free() / 3;
	const uint64_t file = file_limit();
	const uint64_t least = third < file ? third : file;

	if (wish > 0)
		return wish;
	return least < DEFAULT_BYTES ? least : DEFAULT_BYTES;
}

/* Make and lock the file. It is empty until it is locked: pool_cleanup keeps
 * empty files. */
static int open_file(struct pool_owner *o)
{
	uint64_t random;

	for (int tries = 0; tries < 8; tries++) {
		if (getrandom(&random, sizeof(random), 0) !=
		    (ssize_t)sizeof(random))
			return -1;
		snprintf(o->path, sizeof(o->path),
			 POOL_FOLDER "/weft-%u-%016" PRIx64,
			 (unsigned)getuid(), random);
		o->fd = open(o->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW |
			     O_CLOEXEC, 0600);
		if (o->fd >= 0 || errno != EEXIST)
			break;
	}
	if (o->fd < 0)
		return -1;
	return flock(o->fd, LOCK_EX | LOCK_NB);
}

/* Make the pages of that range exist: an error now instead of SIGBUS later. */
static int give_pages(struct pool_owner *o, const void *start, size_t bytes)
{
	const uintptr_t from = (uintptr_t)start & ~(uintptr_t)(PAGE - 1);
	const size_t whole = (uintptr_t)start + bytes - from;

	if (madvise((void *)from, whole, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	/* Before Linux 5.14: pages of the file are as good. */
	return posix_fallocate(o->fd, (off_t)(from - (uintptr_t)o->pool),
			       (off_t)whole) == 0 ? 0 : -1;
}

static struct pool_owner *guarded;

/* Any recorded process can cut the file. What is gone is all zeros from then
 * on, which is no worse than what else it can write there. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
	const int saved = errno;

	(void)context;
	if (at - (uintptr_t)guarded->pool < guarded->size &&
	    mmap((void *)at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		atomic_store(&guarded->is_cut, true);
	else
		signal(number, SIG_DFL);
	errno = saved;
}

static void guard(struct pool_owner *o)
{
	const struct sigaction a = { .sa_sigaction = on_bus_error,
				     .sa_flags = SA_SIGINFO };

	guarded = o;
	sigaction(SIGBUS, &a, NULL);
}

/* The part before the buffers gets its pages here, the buffers get theirs in
 * pool_owner_populate. */
static int map_file(struct pool_owner *o, const struct pool *shape)
{
	struct stat st;

	if (ftruncate(o->fd, (off_t)shape->size) != 0 ||
	    fstat(o->fd, &st) != 0)
		return -1;
	o->size = shape->size;
	o->device = st.st_dev;
	o->inode = st.st_ino;
	o->pool = mmap(NULL, o->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       o->fd, 0);
	if (o->pool == MAP_FAILED)
		return -1;
	guard(o);
	/* A process that maps the pool is taken for a recorded one. */
	madvise(o->pool, o->size, MADV_DONTFORK);
	if (give_pages(o, o->pool, shape->small_offset) != 0) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(o->pool, shape, sizeof(*shape));
	return 0;
}

/* The magic number comes last: a process that finds it finds all the rest. */
static void fill_pool(struct pool_owner *o, const struct pool_wish *wish)
{
	struct pool *const p = o->pool;

	p->version = POOL_VERSION;
	p->on_full = (uint32_t)wish->on_full;
	p->use_tsc = wish->tsc;
	p->lua = wish->lua;
	p->native = wish->native;
	p->waits = wish->waits;
	p->heap = wish->heap;
	p->mode = wish->counts ? POOL_COUNTS : POOL_CALLS;
	p->attached = wish->attached;
	while (p->recording == 0)
		if (getrandom(&p->recording, 8, 0) != 8)
			p->recording = (uint64_t)o->inode << 20 ^
				       (uint64_t)getpid();
	atomic_store(&p->generation, POOL_GENERATION_STEP |
		     (wish->awaits ? (unsigned)POOL_AWAITS : 0u) |
		     (wish->paused ? 0u : (unsigned)POOL_ON));
	atomic_store(&p->next_process, 1);
	atomic_store(&p->next_thread, 1);
	atomic_store(&p->next_vm, 1);
	atomic_store(&p->next_coroutine, 1);
	copy_geometry(o);
	for (uint32_t i = 0; i < o->process_slots; i++)
		pool_mutex_renew(&o->processes[i].alive);
	for (uint32_t i = 0; i < o->thread_slots; i++)
		pool_mutex_renew(&o->threads[i].alive);
	for (uint32_t i = 0; i < pool_owner_buffers(o); i++)
		atomic_store(&o->states[i], buffer_word(BUFFER_CLOSED, 0, 0));
	pool_mutex_renew(&p->recorder);
	pthread_mutex_lock(&p->recorder);
	__atomic_store_n(&p->magic, POOL_MAGIC, __ATOMIC_RELEASE);
}

/* An emulator that hands on a program's system calls has none. */
static bool has_robust_lists(void)
{
	struct robust_list_head *list;
	size_t size;

	return syscall(SYS_get_robust_list, 0, &list, &size) == 0;
}

/* The parts of a pool, and of a thread's state in the program, are aligned to
 * pages of the usual size. */
static bool has_usual_pages(void)
{
	const long page = sysconf(_SC_PAGESIZE);

	if (page != PAGE)
		message("this kernel has pages of %ld bytes: weft needs pages "
			"of %d bytes", page, PAGE);
	return page == PAGE;
}

int pool_owner_create(struct pool_owner *o, const struct pool_wish *wish)
{
	struct pool shape = {
		.verdict_slots = wish->verdicts ? VERDICT_SLOTS : 0
	};

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->looks = wish->attached || !has_robust_lists();
	if (!has_usual_pages())
		return -1;
	pool_cleanup();
	const uint64_t bytes = choose_bytes(wish->bytes);

	if (pool_owner_layout(&shape, bytes, most_bytes(bytes)) != 0) {
		message("a pool of %" PRIu64 " KiB is too small, at least %d "
			"KiB are needed: %s", bytes / 1024,
			SMALLEST_BYTES / 1024, wish->bytes > 0 ?
			"give a larger --pool-size" :
			"make room in " POOL_FOLDER ", or raise the limits of "
			"memory (control group) and of files (ulimit -f)");
		return -1;
	}
	shape.asked = bytes;
	if (open_file(o) != 0 || map_file(o, &shape) != 0) {
		message("cannot make the buffer pool \"%s\": %s%s", o->path,
			strerror(errno), errno == EFBIG ? ": give a smaller "
			"--pool-size, or raise the limit (ulimit -f)" : "");
		if (o->fd >= 0)
			unlink(o->path);
		return -1;
	}
	fill_pool(o, wish);
	return 0;
}

static void open_buffers(struct pool_owner *o, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++)
		atomic_store_explicit(&o->states[i],
				      buffer_word(BUFFER_FREE, 0, 0),
				      memory_order_release);
}

/* Returns whether there was room for n more. */
static bool open_small(struct pool_owner *o, uint32_t n)
{
	if (give_pages(o, pool_owner_buffer(o, o->small_open),
		       (size_t)n * SMALL_BYTES) != 0)
		return false;
	open_buffers(o, o->small_open, n);
	o->small_open += n;
	return true;
}

uint32_t pool_owner_grow(struct pool_owner *o)
{
	const uint32_t left = o->small - o->small_open;
	const uint32_t more = within(o->small_open / 2, 1, MOST_MORE);

	if (left == 0 || o->cannot_grow)
		return 0;
	const uint32_t n = within(pool_folder_free() / 4 / SMALL_BYTES, 0,
				  more < left ? more : left);

	if (n > 0 && open_small(o, n))
		return n;
	o->cannot_grow = true;
	message(POOL_FOLDER " has no room for the buffers of more than %u "
		"threads that live at one time: make room there",
		o->small_open + o->big);
	return 0;
}

uint32_t pool_owner_populate(struct pool_owner *o)
{
	uint32_t big = 0;

	open_small(o, first_small(o->pool->asked));
	while (big < o->big) {
		const uint32_t left = o->big - big;
		const uint32_t n = left < SLICE ? left : SLICE;

		if (give_pages(o, pool_owner_buffer(o, o->small + big),
			       (size_t)n * BIG_BYTES) != 0)
			break;
		open_buffers(o, o->small + big, n);
		big += n;
	}
	if (big < o->big)
		message(POOL_FOLDER " is full: only %u of %u big buffers of "
			"the pool can be used", big, o->big);
	return big;
}

uint32_t pool_owner_fill(const struct pool_owner *o)
{
	uint32_t open = 0, used = 0;

	for (uint32_t i = 0; i < pool_owner_buffers(o); i++) {
		const enum buffer_state s =
			buffer_state(atomic_load(&o->states[i]));

		open += s != BUFFER_CLOSED;
		used += s != BUFFER_CLOSED && s != BUFFER_FREE;
	}
	return open == 0 ? 0 : (uint32_t)(UINT64_C(100) * used / open);
}

void pool_owner_remove(struct pool_owner *o)
{
	if (o->fd >= 0)
		unlink(o->path);
}
