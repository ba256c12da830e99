/* liveness.h - the mutexes by which the kernel tells the recorder of a thread's end.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_POOL_LIVENESS_H
#define WEFT_TRACER_HOST_POOL_LIVENESS_H

#include <pthread.h>

/* To be called first by a new process: after clone without the help of libc
 * the kernel knows of no list of mutexes. Hook-safe. */
void liveness_begin(void);

/* Hold it until the calling thread ends; whether nobody else does. Hook-safe. */
int liveness_hold(pthread_mutex_t *m);

#endif
