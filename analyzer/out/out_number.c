/* out_number.c - numbers as people read them: grouped counts, times with four
 * digits, shares, bytes, dates. Needs no locale.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_number.h"

#include "tracepoints/noun.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

char *out_number_count(char *to, uint64_t value)
{
	char digits[24];
	const int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *at = to;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return to;
}

char *out_number_many(char *to, uint64_t count, const char *nouns)
{
	size_t n;

	out_number_count(to, count);
	n = strlen(to);
	to[n++] = ' ';
	noun_print(to + n, OUT_NUMBER - n, count, nouns);
	return to;
}

char *out_number_time(char *to, double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;
	double value = ns;

	if (!(ns > 0)) {
		strcpy(to, "0");
		return to;
	}
	/* 999.95 would be printed as 1000.0, so it gets the next unit. */
	for (; unit < 3 && value >= 999.95; unit++)
		value /= 1000;
	snprintf(to, OUT_NUMBER, "%.*f %s",
		 unit == 0 || value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3,
		 value, units[unit]);
	return to;
}

char *out_number_share(char *to, uint64_t part, uint64_t whole)
{
	snprintf(to, OUT_NUMBER, "%.1f%%",
		 whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole);
	return to;
}

char *out_number_bytes(char *to, uint64_t bytes)
{
	static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB",
					     "PB", "EB" };
	double value = (double)bytes;
	size_t unit = 0;

	for (; unit < 6 && value >= 999.95; unit++)
		value /= 1000;
	snprintf(to, OUT_NUMBER, unit == 0 ? "%.0f %s" : "%.1f %s", value,
		 units[unit]);
	return to;
}

char *out_number_date(char *to, uint64_t real_ns)
{
	const time_t seconds = (time_t)(real_ns / UINT64_C(1000000000));
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) ||
	    strftime(to, OUT_NUMBER, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
		strcpy(to, "unknown date");
	return to;
}

/* ---- for programs ------------------------------------------------------- */

/* How many digits it has: the bits times log10(2), or one more. */
static unsigned digits_of(uint64_t value)
{
	static const uint64_t ten_to[] = { 0, 10, 100, 1000, 10000, 100000,
		1000000, 10000000, 100000000, 1000000000, 10000000000,
		100000000000, 1000000000000, 10000000000000, 100000000000000,
		1000000000000000, 10000000000000000, 100000000000000000,
		1000000000000000000, UINT64_C(10000000000000000000) };
	const unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
	const unsigned least = bits * 1233 >> 12;

	return least + (value >= ten_to[least]);
}

/* Two digits at a time, from behind. */
char *out_number_digits(char *to, uint64_t value, unsigned least)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324"
		"25262728293031323334353637383940414243444546474849"
		"50515253545556575859606162636465666768697071727374"
		"75767778798081828384858687888990919293949596979899";
	const unsigned count = digits_of(value);
	char *const end = to + (count < least ? least : count);
	char *at = end;

	for (; value >= 100; value /= 100)
		memcpy(at -= 2, pairs + value % 100 * 2, 2);
	if (value >= 10)
		memcpy(at -= 2, pairs + value * 2, 2);
	else
		*--at = (char)('0' + value);
	while (at > to)
		*--at = '0';
	return end;
}

void out_number_put(FILE *to, const char *before, uint64_t value)
{
	char digits[20];
	const char *const end = out_number_digits(digits, value, 1);

	fputs_unlocked(before, to);
	fwrite_unlocked(digits, 1, (size_t)(end - digits), to);
}
