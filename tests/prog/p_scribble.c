/* p_scribble.c - "p_scribble SEED FOLDER [cut]": writes noise all over the
 * pool, and sends noise to the control sockets in FOLDER. Most words are such
 * as the pool may hold: counts, states, process ids. cut: in the end, two
 * thirds of the pool's file go.
 * flags: -I.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/control.c"
#include "tracepoints/pool.h"

#include <sched.h>
#include <sys/mman.h>

enum { ROUNDS = 400, WORDS = 4000, LINES = 100 };

static uint64_t noise;

static uint64_t next(void)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	return noise ^= noise << 17;
}

static uint64_t value(void)
{
	switch (next() % 6) {
	case 0: return 0;
	case 1: return UINT64_MAX;
	case 2: return next() % 64;
	case 3: return (uint64_t)getppid();
	case 4: return buffer_word(next() % 6, next() % 64, next() % 4);
	default: return next();
	}
}

/* Half of them go to the tables before the buffers: these are small. */
static void scribble(char *pool, const struct pool *p, size_t size)
{
	for (int i = 0; i < WORDS; i++) {
		const size_t room = next() % 2 ? size : p->small_offset;
		const uint64_t word = value();

		memcpy(pool + next() % (room / 8) * 8, &word,
		       next() % 3 ? 8 : 4);
	}
}

/* For control_each: half a request, or one that there is not. */
static void babble(void *ctx, const char *name, int connection)
{
	char text[256];
	const size_t length = 1 + next() % sizeof(text);

	(void)ctx, (void)name;
	for (size_t i = 0; i < length; i++)
		text[i] = (char)next();
	if (connection < 0)
		return;
	send(connection, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(connection);
}

int main(int argc, char **argv)
{
	const char *const name = getenv(POOL_ENV);
	const char *const path = name ? strchr(name, '/') : NULL;
	const int fd = path ? open(path, O_RDWR) : -1;
	const int folder = argc > 2 ? control_open(argv[2]) : -1;
	struct stat st;

	if (fd < 0 || folder < 0 || fstat(fd, &st) != 0)
		return 3;
	char *const pool = mmap(NULL, (size_t)st.st_size,
				PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (pool == MAP_FAILED)
		return 4;
	struct pool whole;

	memcpy(&whole, pool, sizeof(whole));
	noise = strtoull(argv[1], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < ROUNDS; i++) {
		scribble(pool, &whole, (size_t)st.st_size);
		if (i % (ROUNDS / LINES) == 0)
			control_each(folder, babble, NULL);
		sched_yield();
	}
	if (argc > 3 && ftruncate(fd, st.st_size / 3 / 4096 * 4096) != 0)
		return 5;
	puts("scribbled");
	return 0;
}
