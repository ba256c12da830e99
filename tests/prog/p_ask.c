/* p_ask.c - asks an HTTP server: p_ask SOCKET N makes N requests, one after the
 * other, and prints the bodies of the answers. Waits for the server to appear.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TRIES = 2000, BETWEEN_US = 10000 };

static int reach(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	for (int i = 0; i < TRIES; i++) {
		const int s = socket(AF_UNIX, SOCK_STREAM, 0);

		if (s >= 0 && connect(s, (struct sockaddr *)&a, sizeof(a)) == 0)
			return s;
		close(s);
		usleep(BETWEEN_US);
	}
	return -1;
}

static int ask(const char *path)
{
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	char answer[8192];
	size_t n = 0;
	ssize_t got;
	const int s = reach(path);

	if (s < 0 || write(s, request, sizeof(request) - 1) < 0)
		return -1;
	while (n < sizeof(answer) - 1 &&
	       (got = read(s, answer + n, sizeof(answer) - 1 - n)) > 0)
		n += (size_t)got;
	close(s);
	answer[n] = '\0';
	const char *const body = strstr(answer, "\r\n\r\n");

	if (strncmp(answer, "HTTP/1.", 7) != 0 || !body ||
	    strncmp(answer + 8, " 200 ", 5) != 0)
		return -1;
	fputs(body + 4, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const int n = argc > 2 ? atoi(argv[2]) : 1;

	for (int i = 0; argc > 1 && i < n; i++) {
		if (ask(argv[1]) != 0) {
			fprintf(stderr, "p_ask: no answer %d\n", i);
			return 1;
		}
	}
	return 0;
}
