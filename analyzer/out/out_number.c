/* out_number.c - numbers as people read them: grouped counts, times with four
 * digits, shares, bytes, dates. Needs no locale.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_number.h"

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
	/* Plurals, and what the noun ends with instead. The first that fits is
	 * taken, so that "s" is the last: "matches" is not "matche". */
	static const struct { const char *many, *one; } endings[] = {
		{ "sses", "ss" }, { "ches", "ch" }, { "ies", "y" }, { "s", "" }
	};
	size_t length = strlen(nouns);
	const char *ending = "";

	for (size_t i = 0; count == 1 && i < 4; i++) {
		const size_t n = strlen(endings[i].many);

		if (length < n || strcmp(nouns + length - n, endings[i].many))
			continue;
		length -= n;
		ending = endings[i].one;
		break;
	}
	out_number_count(to, count);
	snprintf(to + strlen(to), OUT_NUMBER - strlen(to), " %.*s%s",
		 (int)length, nouns, ending);
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

char *out_number_digits(char *to, uint64_t value, unsigned least)
{
	char digits[20];
	unsigned count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0 || count < least);
	while (count > 0)
		*to++ = digits[--count];
	return to;
}

void out_number_put(FILE *to, const char *before, uint64_t value)
{
	char digits[20];
	const char *const end = out_number_digits(digits, value, 1);

	fputs_unlocked(before, to);
	fwrite_unlocked(digits, 1, (size_t)(end - digits), to);
}
