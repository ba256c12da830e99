/* spill.c - writes chunks to a plain file. Knows nothing of their contents.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "spill.weft";

/* All of it, or negative. */
static int write_at(int fd, const void *data, uint64_t bytes, uint64_t at)
{
	const char *from = data;

	while (bytes > 0) {
		const ssize_t n = pwrite(fd, from, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		from += n;
		at += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

int spill_open(struct spill *s, int folder, const uint64_t *placeholder)
{
	s->folder = folder;
	s->end = SPILL_RESERVE_WORDS * 8;
	s->fd = openat(folder, file_name, O_RDWR | O_CREAT | O_EXCL |
		       O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return -1;
	if (write_at(s->fd, placeholder, s->end, 0) == 0)
		return 0;
	const int why = errno;

	spill_discard(s);
	errno = why;
	return -1;
}

int spill_write(struct spill *s, const uint64_t *words, uint32_t n)
{
	if (s->fd < 0)
		return -1;
	if (write_at(s->fd, words, (uint64_t)n * 8, s->end) == 0) {
		s->end += (uint64_t)n * 8;
		return 0;
	}
	const int why = errno;

	/* Half a chunk helps nobody; failing to cut it off harms nobody, as
	 * readers carve by magic and checksum. */
	if (ftruncate(s->fd, (off_t)s->end) != 0)
		errno = why;
	errno = why;
	return -1;
}

bool spill_is_gone(const struct spill *s)
{
	struct stat st;

	return s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_nlink == 0;
}

int spill_close(struct spill *s, const uint64_t *last)
{
	if (s->fd < 0)
		return -1;
	const int bad = write_at(s->fd, last, SPILL_RESERVE_WORDS * 8, 0);
	const int unclosed = close(s->fd);

	s->fd = -1;
	return bad != 0 || unclosed != 0 ? -1 : 0;
}

void spill_discard(struct spill *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	unlinkat(s->folder, file_name, 0);
}
