/* waits.h - the functions of libc that may wait: X(name, look). look says what
 * its first argument tells before the call (waits.c): whether it waits at all,
 * for which object, and who holds that. Those that no look fits are ANY: each
 * of their calls is recorded. Nothing that has floating point arguments, or
 * more than six, may be here.
 * SPDX-License-Identifier: MIT */
#pragma once

/* A read, say, has stand-ins for its other names, too: the compiler's checked
 * one, and that of programs with large files. */
#define WAITS_OF_FILES(X)                                                      \
	X(read, ANY) X(__read_chk, ANY) X(write, ANY)                          \
	X(pread, ANY) X(pread64, ANY) X(__pread_chk, ANY)                      \
	X(__pread64_chk, ANY) X(pwrite, ANY) X(pwrite64, ANY)                  \
	X(readv, ANY) X(writev, ANY) X(preadv, ANY) X(preadv64, ANY)           \
	X(pwritev, ANY) X(pwritev64, ANY) X(sendfile, ANY)                     \
	X(sendfile64, ANY) X(splice, ANY) X(copy_file_range, ANY)              \
	X(fsync, ANY) X(fdatasync, ANY) X(syncfs, ANY) X(msync, ANY)           \
	X(flock, ANY) X(lockf, ANY) X(lockf64, ANY)

#define WAITS_OF_SOCKETS(X)                                                    \
	X(recv, ANY) X(__recv_chk, ANY) X(send, ANY) X(recvfrom, ANY)          \
	X(__recvfrom_chk, ANY) X(sendto, ANY) X(recvmsg, ANY) X(sendmsg, ANY)  \
	X(recvmmsg, ANY) X(sendmmsg, ANY) X(accept, ANY) X(accept4, ANY)       \
	X(connect, ANY) X(getaddrinfo, ANY)

#define WAITS_OF_EVENTS(X)                                                     \
	X(poll, ANY) X(__poll_chk, ANY) X(ppoll, ANY) X(__ppoll_chk, ANY)      \
	X(select, ANY) X(pselect, ANY) X(epoll_wait, ANY)                      \
	X(epoll_pwait, ANY) X(epoll_pwait2, ANY) X(nanosleep, ANY)             \
	X(clock_nanosleep, ANY) X(usleep, ANY) X(sleep, ANY)                   \
	X(thrd_sleep, ANY) X(pause, ANY) X(sigsuspend, ANY) X(sigwait, ANY)    \
	X(sigwaitinfo, ANY) X(sigtimedwait, ANY) X(wait, ANY)                  \
	X(waitpid, ANY) X(waitid, ANY) X(wait3, ANY) X(wait4, ANY)

#define WAITS_OF_LOCKS(X)                                                      \
	X(pthread_mutex_lock, MUTEX) X(pthread_mutex_timedlock, MUTEX)         \
	X(pthread_mutex_clocklock, MUTEX) X(mtx_lock, MUTEX)                   \
	X(mtx_timedlock, MUTEX) X(pthread_mutex_unlock, MUTEX_ENDS)            \
	X(mtx_unlock, MUTEX_ENDS)                                              \
	X(pthread_rwlock_rdlock, READ) X(pthread_rwlock_timedrdlock, READ)     \
	X(pthread_rwlock_clockrdlock, READ) X(pthread_rwlock_wrlock, WRITE)    \
	X(pthread_rwlock_timedwrlock, WRITE)                                   \
	X(pthread_rwlock_clockwrlock, WRITE)                                   \
	X(pthread_rwlock_unlock, RWLOCK_ENDS)                                  \
	X(sem_wait, SEMAPHORE) X(sem_timedwait, SEMAPHORE)                     \
	X(sem_clockwait, SEMAPHORE) X(sem_post, SEMAPHORE_ENDS)

#define WAITS_OF_THREADS(X)                                                    \
	X(pthread_cond_wait, CONDITION) X(pthread_cond_timedwait, CONDITION)   \
	X(pthread_cond_clockwait, CONDITION) X(cnd_wait, CONDITION)            \
	X(cnd_timedwait, CONDITION) X(pthread_cond_signal, CONDITION_ENDS)     \
	X(pthread_cond_broadcast, CONDITION_ENDS)                              \
	X(cnd_signal, CONDITION_ENDS) X(cnd_broadcast, CONDITION_ENDS)         \
	X(pthread_barrier_wait, BARRIER) X(pthread_join, JOIN)                 \
	X(pthread_timedjoin_np, JOIN) X(pthread_clockjoin_np, JOIN)            \
	X(thrd_join, JOIN) X(pthread_create, THREAD) X(thrd_create, THREAD)    \
	X(pthread_detach, DETACH) X(thrd_detach, DETACH)

#define WAITS_LIST(X)                                                          \
	WAITS_OF_FILES(X) WAITS_OF_SOCKETS(X) WAITS_OF_EVENTS(X)               \
	WAITS_OF_LOCKS(X) WAITS_OF_THREADS(X)
