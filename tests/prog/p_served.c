/* p_served.c - serves two hundred requests that come quickly, but for one that
 * a client thinks about first. Nothing of it is slow.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#define SEEN __attribute__((noinline))

enum { REQUESTS = 200 };

static int ends[2];
static volatile unsigned long sink;

SEEN static void handle(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sink += i;
}

SEEN static int next_request(void)
{
	char c;
	struct iovec to = { &c, 1 };
	struct msghdr m = { .msg_iov = &to, .msg_iovlen = 1 };

	return recvmsg(ends[0], &m, 0) == 1;
}

static void *ask(void *unused)
{
	for (int i = 0; i < REQUESTS; i++) {
		if (i == 100)
			nanosleep(&(struct timespec){ .tv_nsec = 400000000 },
				  NULL);
		if (send(ends[1], "x", 1, 0) != 1)
			break;
	}
	shutdown(ends[1], SHUT_WR);
	return unused;
}

int main(void)
{
	pthread_t client;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	pthread_create(&client, NULL, ask, NULL);
	while (next_request())
		handle();
	pthread_join(client, NULL);
	return 0;
}
