/* test.h - what a unit test may say. A test is a function void test_X(void) in
 * tests/unit/; it needs no registration. A check that fails is reported and the
 * test goes on; REQUIRE leaves the function.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Each returns whether the check held; a failure is printed and counted. */
bool test_check(bool held, const char *what, const char *file, int line);
bool test_check_eq(long long a, long long b, const char *what,
		   const char *file, int line);
bool test_check_str(const char *a, const char *b, const char *what,
		    const char *file, int line);
bool test_check_mem(const void *a, const void *b, size_t n, const char *what,
		    const char *file, int line);

#define CHECK(cond) test_check((cond), #cond, __FILE__, __LINE__)
/* Integers. */
#define CHECK_EQ(a, b)                                                         \
	test_check_eq((long long)(a), (long long)(b), #a " == " #b, __FILE__,  \
		      __LINE__)
/* Strings; NULL equals NULL only. */
#define CHECK_STR(a, b)                                                        \
	test_check_str((a), (b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_MEM(a, b, n)                                                     \
	test_check_mem((a), (b), (n), #a " == " #b, __FILE__, __LINE__)
#define REQUIRE(cond)                                                          \
	do {                                                                   \
		if (!CHECK(cond))                                              \
			return;                                                \
	} while (0)

/* Ends the test as skipped. Only where the machine lacks something. */
_Noreturn void test_skip(const char *reason);

/* Makes a temporary file with these bytes; its path lies in a buffer that the
 * next call reuses. The file is removed when the test ends. */
const char *test_file(const void *bytes, size_t n);

/* The tests of one program: made by tests/gen.sh. */
struct test_case {
	const char *name;
	void (*run)(void);
};

extern const struct test_case test_cases[];
