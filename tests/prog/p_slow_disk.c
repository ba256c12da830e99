/* p_slow_disk.c - preloaded into weft record: chunk N that it writes takes
 * until the program has made N times 10,000 calls, as the file PROGRESS counts
 * them. Says once how that ended, in the file PROGRESS.said: "fast" after 40
 * chunks, or "stuck" if the program did not go on for 20 s.
 * flags: -shared -fPIC -ldl
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP = 10000, CHUNKS = 40, RESERVED = 65536 };

static uint64_t progress(void)
{
	const int fd = open(getenv("PROGRESS"), O_RDONLY | O_CLOEXEC);
	uint64_t n = 0;

	if (fd < 0 || read(fd, &n, sizeof(n)) != sizeof(n))
		n = 0;
	close(fd);
	return n;
}

static void say(const char *what)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.said", getenv("PROGRESS"));
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);

	if (fd < 0 || write(fd, what, strlen(what)) < 0)
		_exit(99);
	close(fd);
}

static void take_long(void)
{
	static int chunks;

	if (chunks < 0)
		return;
	for (int i = 0; progress() < (uint64_t)(chunks * STEP); i++) {
		usleep(1000);
		if (i < 20000)
			continue;
		say("stuck");
		chunks = -1;
		return;
	}
	if (++chunks < CHUNKS)
		return;
	say("fast");
	chunks = -1;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	ssize_t (*const real)(int, const void *, size_t, off_t) =
		(ssize_t (*)(int, const void *, size_t, off_t))
		dlsym(RTLD_NEXT, "pwrite");

	if (at >= RESERVED)
		take_long();
	return real(fd, data, bytes, at);
}
