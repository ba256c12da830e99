/* p_image.c - "p_image PID": what could make the modules of a process behave
 * otherwise: the rights of what is mapped of them, a sum of each part that
 * cannot be written, and in the others each word that points into code.
 * libweft.so is left out.
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 1000, PAGE = 4096 };

static struct part {
	uint64_t from, to;
	char rights[8], file[256];
} parts[PARTS];
static int count;

static int is_code(uint64_t word)
{
	for (int i = 0; i < count; i++)
		if (word >= parts[i].from && word < parts[i].to)
			return parts[i].rights[2] == 'x';
	return 0;
}

static void show(int mem, const struct part *p)
{
	uint64_t words[PAGE / 8], sum = 0;

	printf("%s %s at %" PRIx64 ", %" PRIu64 " bytes\n", p->file, p->rights,
	       p->from, p->to - p->from);
	for (uint64_t at = p->from; p->rights[0] == 'r' && at < p->to;
	     at += PAGE) {
		if (pread(mem, words, PAGE, (off_t)at) != PAGE)
			break;
		for (int i = 0; i < PAGE / 8; i++) {
			sum = (sum ^ words[i]) * UINT64_C(0x100000001b3);
			if (p->rights[1] == 'w' && is_code(words[i]))
				printf("  %" PRIx64 ": %" PRIx64 "\n",
				       at + 8 * (uint64_t)i, words[i]);
		}
	}
	if (p->rights[1] != 'w')
		printf("  sum %" PRIx64 "\n", sum);
}

int main(int argc, char **argv)
{
	char path[64], line[4352];

	snprintf(path, sizeof(path), "/proc/%s/maps", argc > 1 ? argv[1] : "");
	FILE *const maps = fopen(path, "r");

	snprintf(path, sizeof(path), "/proc/%s/mem", argc > 1 ? argv[1] : "");
	const int mem = open(path, O_RDONLY);

	if (!maps || mem < 0)
		return 1;
	while (count < PARTS && fgets(line, sizeof(line), maps)) {
		struct part *const p = &parts[count];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s "
			   "%255[^\n]", &p->from, &p->to, p->rights,
			   p->file) >= 3)
			count++;
	}
	for (int i = 0; i < count; i++)
		if (parts[i].file[0] == '/' &&
		    strncmp(parts[i].file, "/dev/", 5) != 0 &&
		    !strstr(parts[i].file, "/libweft.so"))
			show(mem, &parts[i]);
	return 0;
}
