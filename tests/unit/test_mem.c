/* test_mem.c - the tracer's look at memory that may not be there. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Three pages, of which the middle one may not be read. */
static char *pages(void)
{
	char *const p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK(mprotect(p + PAGE, PAGE, PROT_NONE) == 0);
	return p;
}

void test_mem_tells_what_can_be_read(void)
{
	char *const p = pages();

	errno = EINVAL;
	CHECK(kernel_can_read(p));
	CHECK(kernel_can_read(p + PAGE - 1));
	CHECK(!kernel_can_read(p + PAGE));
	CHECK(!kernel_can_read(p + 2 * PAGE - 1));
	CHECK(kernel_can_read(p + 2 * PAGE));
	CHECK(!kernel_can_read(NULL));
	CHECK(!kernel_can_read((void *)0x7fffffffffff));
	CHECK(!kernel_can_read((void *)UINT64_C(0xdead000000000000)));
	CHECK(kernel_can_read("constant"));
	CHECK_EQ(errno, EINVAL);
	munmap(p, 3 * PAGE);
	CHECK(!kernel_can_read(p));
}

void test_mem_copies_all_or_says_no(void)
{
	char *const p = pages(), to[64] = "";

	p[PAGE - 64] = 'a';
	p[PAGE - 1] = 'z';
	CHECK(memory_copy(to, p + PAGE - 64, 64));
	CHECK_EQ(to[0], 'a');
	CHECK_EQ(to[63], 'z');
	CHECK(!memory_copy(to, p + PAGE - 63, 64));
	CHECK(!memory_copy(to, p + 2 * PAGE - 1, 1));
	CHECK(memory_copy(to, p + 2 * PAGE, 64));
	munmap(p, 3 * PAGE);
}
