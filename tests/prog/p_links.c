/* p_links.c - "p_links PID [MODULE]": how many words in the data of its modules
 * (of those whose path has that text) point into the code of libweft.so. The
 * loader, libc and libweft.so are left out.
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t code, code_end;

static long count(int mem, uint64_t from, uint64_t to)
{
	uint64_t words[512];
	long found = 0;

	for (; from < to; from += sizeof(words)) {
		const ssize_t n = pread(mem, words, sizeof(words), (off_t)from);

		for (ssize_t i = 0; i < n / 8; i++)
			found += words[i] >= code && words[i] < code_end;
	}
	return found;
}

int main(int argc, char **argv)
{
	char path[64], line[4352], rights[8];
	const char *const wanted = argc > 2 ? argv[2] : "/";
	long found = 0;

	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	const int mem = open(path, O_RDONLY);

	snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
	for (int pass = 0; pass < 2; pass++) {
		FILE *const maps = fopen(path, "r");
		uint64_t from, to;

		while (maps && fgets(line, sizeof(line), maps)) {
			const char *const file = strchr(line, '/');

			if (!file || sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s",
					    &from, &to, rights) != 3)
				continue;
			if (strstr(file, "/libweft.so")) {
				if (pass == 0 && rights[2] == 'x') {
					code = from;
					code_end = to;
				}
			} else if (pass == 1 && rights[2] == '-' &&
				   strstr(file, wanted) &&
				   !strstr(file, "/libc.so") &&
				   !strstr(file, "/ld-linux") &&
				   strncmp(file, "/dev/", 5) != 0) {
				found += count(mem, from, to);
			}
		}
		if (maps)
			fclose(maps);
	}
	printf("%ld\n", code ? found : 0);
	return 0;
}
