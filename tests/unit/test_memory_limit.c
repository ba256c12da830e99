/* test_memory_limit.c - limits of control groups, in made-up folders.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/base/memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char folder[64], groups[96];

static void put(const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *const f = fopen(path, "w");

	REQUIRE(f);
	fputs(text, f);
	fclose(f);
}

static void make(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_EQ(mkdir(path, 0700), 0);
}

static void begin(const char *text)
{
	snprintf(folder, sizeof(folder), "/tmp/weft-test-XXXXXX");
	REQUIRE(mkdtemp(folder));
	snprintf(groups, sizeof(groups), "%s/groups", folder);
	put("groups", text);
}

static void end(uint64_t limit)
{
	char command[96];

	CHECK_EQ(memory_limit(groups, folder), limit);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
}

void test_memory_limit_of_version_2_is_the_smallest_above(void)
{
	begin("0::/a/b\n");
	make("a");
	make("a/b");
	put("memory.max", "1000000000\n");
	put("a/memory.max", "50000000\n");
	put("a/b/memory.max", "max\n");
	end(50000000);
}

void test_memory_limit_of_version_1(void)
{
	begin("5:cpu,memory2:/a\n4:memory:/a\n0::/\n");
	make("memory");
	make("memory/a");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/a/memory.limit_in_bytes", "70000000\n");
	end(70000000);
}

void test_memory_limit_in_a_container(void)
{
	begin("0::/host/only\n");
	put("memory.max", "30000000\n");
	end(30000000);
}

void test_memory_limit_unknown(void)
{
	begin("nothing\n0::/../..\n");
	end(UINT64_MAX);
	CHECK_EQ(memory_limit("/nowhere", "/nowhere"), UINT64_MAX);
}
