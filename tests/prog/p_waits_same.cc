/* p_waits_same.cc - what functions that wait give back: locks of each kind,
 * errno, cancellation, signal handlers and jumps during a wait, fork and vfork.
 * All that it prints is the same each time.
 * flags: -std=c++17 -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <future>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <shared_mutex>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <threads.h>
#include <unistd.h>

#define SAY(what) printf("%-32s %d\n", #what, (int)(what))
#define SAY_ERRNO(what) \
	do { \
		errno = 0; \
		const int is = (int)(what); \
		printf("%-32s %d %s\n", #what, is, strerrorname_np(errno)); \
	} while (0)

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* ---- mutexes ---- */

static pthread_mutex_t kind_of(int type, int robust, int protocol)
{
	pthread_mutex_t m;
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutex_init(&m, &a);
	return m;
}

static void *leave_locked(void *m)
{
	pthread_mutex_lock((pthread_mutex_t *)m);
	return nullptr;
}

static void *take_in_turn(void *m)
{
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock((pthread_mutex_t *)m);
		if (i % 50 == 0)
			usleep(100);
		pthread_mutex_unlock((pthread_mutex_t *)m);
	}
	return nullptr;
}

static void contend(pthread_mutex_t *m)
{
	pthread_t t[4];

	for (auto &one : t)
		pthread_create(&one, nullptr, take_in_turn, m);
	for (auto &one : t)
		SAY(pthread_join(one, nullptr));
	SAY(m->__data.__lock & 0x3fffffff);
}

static void mutexes()
{
	const int stalled = PTHREAD_MUTEX_STALLED, none = PTHREAD_PRIO_NONE;
	pthread_mutex_t usual = PTHREAD_MUTEX_INITIALIZER,
		again = kind_of(PTHREAD_MUTEX_RECURSIVE, stalled, none),
		strict = kind_of(PTHREAD_MUTEX_ERRORCHECK, stalled, none),
		robust = kind_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
				 none),
		pi = kind_of(PTHREAD_MUTEX_NORMAL, stalled,
			     PTHREAD_PRIO_INHERIT);
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);
	struct timespec later = in_ms(CLOCK_MONOTONIC, 20);
	pthread_t t;

	for (auto *m : { &usual, &again, &strict, &robust, &pi })
		contend(m);
	SAY(pthread_mutex_lock(&again));
	SAY(pthread_mutex_lock(&again));
	SAY(pthread_mutex_unlock(&again));
	SAY(pthread_mutex_unlock(&again));
	SAY(pthread_mutex_unlock(&again));
	SAY(pthread_mutex_lock(&strict));
	SAY(pthread_mutex_lock(&strict));
	SAY(pthread_mutex_unlock(&strict));
	SAY(pthread_mutex_unlock(&strict));
	pthread_mutex_lock(&usual);
	SAY(pthread_mutex_timedlock(&usual, &soon));
	SAY(pthread_mutex_clocklock(&usual, CLOCK_MONOTONIC, &later));
	pthread_create(&t, nullptr, leave_locked, &robust);
	pthread_join(t, nullptr);
	SAY(pthread_mutex_lock(&robust));
	SAY(pthread_mutex_consistent(&robust));
	SAY(pthread_mutex_unlock(&robust));
	pthread_create(&t, nullptr, leave_locked, &robust);
	pthread_join(t, nullptr);
	SAY(pthread_mutex_lock(&robust));
	SAY(pthread_mutex_unlock(&robust));
	SAY(pthread_mutex_lock(&robust));
}

/* ---- C11, C++ ---- */

static void other_locks()
{
	std::mutex one;
	std::timed_mutex timed;
	std::shared_mutex shared;
	std::condition_variable filled;
	int sum = 0, seen = 0;
	bool full = false;
	mtx_t c11;
	cnd_t c11_filled;
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);

	auto add = [&] {
		for (int i = 0; i < 500; i++) {
			const std::lock_guard<std::mutex> held(one);
			sum++;
		}
		std::unique_lock<std::shared_mutex> written(shared);
		usleep(1000);
		seen++;
		written.unlock();
		const std::shared_lock<std::shared_mutex> read(shared);
		usleep(1000);
	};
	std::thread a(add), b(add), c(add);
	a.join();
	b.join();
	c.join();
	SAY(sum);
	SAY(seen);
	std::thread producer([&] {
		usleep(10000);
		const std::lock_guard<std::mutex> held(one);
		full = true;
		filled.notify_all();
	});
	std::unique_lock<std::mutex> held(one);
	filled.wait(held, [&] { return full; });
	SAY(full);
	SAY(filled.wait_for(held, std::chrono::milliseconds(5)) ==
	    std::cv_status::timeout);
	held.unlock();
	producer.join();
	timed.lock();
	SAY(std::async(std::launch::async, [&] {
		return timed.try_lock_for(std::chrono::milliseconds(5));
	}).get());
	mtx_init(&c11, mtx_timed | mtx_recursive);
	cnd_init(&c11_filled);
	SAY(mtx_lock(&c11));
	SAY(mtx_lock(&c11));
	SAY(mtx_unlock(&c11));
	SAY(cnd_timedwait(&c11_filled, &c11, &soon));
	SAY(mtx_unlock(&c11));
}

/* ---- cancellation ---- */

static int pipes[2];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static std::atomic<int> about, cleaned;

static void clean(void *locked)
{
	cleaned++;
	if (locked)
		pthread_mutex_unlock(&guard);
}

static void *wait_for_ever(void *how)
{
	char byte;

	pthread_cleanup_push(clean, how == (void *)1 ? &guard : nullptr);
	about++;
	if (how == (void *)1) {
		pthread_mutex_lock(&guard);
		for (;;)
			pthread_cond_wait(&never, &guard);
	} else if (how == (void *)2) {
		const struct timespec long_time = { 1000, 0 };

		nanosleep(&long_time, nullptr);
	} else {
		read(pipes[0], &byte, 1);
	}
	pthread_cleanup_pop(1);
	return nullptr;
}

static void cancellation()
{
	pthread_t t[3];
	void *result;

	pipe(pipes);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], nullptr, wait_for_ever, (void *)i);
	while (about < 3)
		usleep(1000);
	usleep(20000);
	for (auto one : t) {
		SAY(pthread_cancel(one));
		SAY(pthread_join(one, &result));
		SAY(result == PTHREAD_CANCELED);
	}
	SAY(cleaned);
	SAY(pthread_mutex_lock(&guard));
	SAY(pthread_mutex_unlock(&guard));
}

/* ---- signal handlers ---- */

static sigjmp_buf out;
static std::atomic<int> handled;

static void handle(int)
{
	const int saved = errno;

	handled++;
	write(pipes[1], "", 0);
	errno = saved;
}

static void jump(int)
{
	siglongjmp(out, 1);
}

static void on_alarm(void (*handler)(int), int flags)
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = handler;
	a.sa_flags = flags;
	sigaction(SIGALRM, &a, nullptr);
	ualarm(10000, 0);
}

static void handlers()
{
	const struct timespec long_time = { 1000, 0 };
	struct pollfd one = { pipes[0], POLLIN, 0 };
	sem_t none;
	char byte;

	sem_init(&none, 0, 0);
	on_alarm(handle, 0);
	SAY_ERRNO(nanosleep(&long_time, nullptr));
	on_alarm(handle, 0);
	SAY_ERRNO(read(pipes[0], &byte, 1));
	on_alarm(handle, 0);
	SAY_ERRNO(poll(&one, 1, -1));
	on_alarm(handle, 0);
	SAY_ERRNO(sem_wait(&none));
	on_alarm(handle, 0);
	SAY_ERRNO(pause());
	SAY(handled);
	for (volatile int i = 0; i < 3; i++) {
		if (sigsetjmp(out, 1) == 0) {
			on_alarm(jump, 0);
			nanosleep(&long_time, nullptr);
		}
	}
	if (sigsetjmp(out, 1) == 0) {
		on_alarm(jump, SA_RESTART);
		read(pipes[0], &byte, 1);
	}
	SAY_ERRNO(write(-1, "", 1));
	SAY_ERRNO(read(-1, &byte, 1));
	SAY_ERRNO(poll(nullptr, 0, 1));
	SAY_ERRNO(connect(-1, nullptr, 0));
	SAY_ERRNO(accept(pipes[0], nullptr, nullptr));
}

/* ---- children ---- */

static void children()
{
	int status;
	pid_t pid;

	fflush(stdout);
	pthread_mutex_lock(&guard);
	pid = fork();
	if (pid == 0) {
		char byte = 'c';

		pthread_mutex_unlock(&guard);
		usleep(1000);
		_exit(write(pipes[1], &byte, 1) == 1 ? 3 : 4);
	}
	SAY(waitpid(pid, &status, 0) == pid);
	SAY(WEXITSTATUS(status));
	pthread_mutex_unlock(&guard);
	pid = vfork();
	if (pid == 0) {
		write(-1, "", 1);
		execl("/bin/true", "true", nullptr);
		_exit(5);
	}
	SAY(waitpid(pid, &status, 0) == pid);
	SAY(WEXITSTATUS(status));
	SAY_ERRNO(wait(nullptr));
}

int main()
{
	mutexes();
	other_locks();
	cancellation();
	handlers();
	children();
	return 0;
}
