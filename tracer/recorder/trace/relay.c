/* relay.c - reads the URL of a relay daemon, and holds a connection to it. The
 * kernel closes this when the daemon dies, and asks an idle machine each few
 * seconds whether it is there.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/relay.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 2000, IDLE_S = 5, AGAIN_S = 2, TIMES = 3 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

/* ":PORT" at *at, which moves on. Without it, to stays. */
static bool read_port(const char **at, char to[6])
{
	const size_t n = **at == ':' ? strspn(*at + 1, "0123456789") : 0;

	if (**at != ':')
		return true;
	if (n == 0 || n > 5 || atoi(*at + 1) < 1 || atoi(*at + 1) > 65535)
		return false;
	snprintf(to, 6, "%.*s", (int)n, *at + 1);
	*at += n + 1;
	return true;
}

bool relay_read(struct relay *r, const char *url)
{
	struct relay found = { "", "5342", "5343" };
	const bool is_known = strncmp(url, "tcp://", 6) == 0 ||
			      strncmp(url, "net://", 6) == 0;
	const char *at = is_known ? url + 6 : "";
	const bool is_6 = *at == '[';
	const size_t n = is_6 ? strspn(++at, "0123456789abcdefABCDEF:.") :
			 strspn(at, letters);

	if (n == 0 || n >= sizeof(found.host) || (is_6 && at[n] != ']'))
		return false;
	memcpy(found.host, at, n);
	at += n + is_6;
	if (!read_port(&at, found.control) || !read_port(&at, found.data))
		return false;
	while (*at == '/')
		at++;
	if (*at)
		return false;
	*r = found;
	return true;
}

void relay_url(const struct relay *r, char *out, unsigned long room)
{
	const bool is_6 = strchr(r->host, ':') != NULL;

	snprintf(out, room, "%s://%s%s%s:%s:%s", is_6 ? "net6" : "net",
		 is_6 ? "[" : "", r->host, is_6 ? "]" : "", r->control,
		 r->data);
}

static void set_option(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

/* Negative: it is not there. */
static int reach(const struct addrinfo *a)
{
	const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC |
			      SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int why = 0;
	socklen_t size = sizeof(why);

	if (fd < 0)
		return -1;
	if ((connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
	     errno == EINPROGRESS) && poll(&p, 1, CONNECT_MS) == 1 &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 &&
	    why == 0) {
		set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
		set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
		set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, AGAIN_S);
		set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, TIMES);
		return fd;
	}
	close(fd);
	return -1;
}

int relay_watch(const struct relay *r)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	int fd = -1;

	if (getaddrinfo(r->host, r->control, &want, &all) != 0)
		return -1;
	for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
		fd = reach(a);
	freeaddrinfo(all);
	return fd;
}
