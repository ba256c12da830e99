/* amount.c - one table of units. SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/amount.h"

#include "tracepoints/noun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool amount_size(const char *text, uint64_t *bytes)
{
	char *end;

	errno = 0;
	const unsigned long long n = strtoull(text, &end, 10);
	const char *const unit = "KMGkmg";
	const char *const u = *end ? strchr(unit, *end) : NULL;
	const unsigned shift = u ? 10 * (unsigned)((u - unit) % 3 + 1) : 0;

	if (errno != 0 || end == text || text[0] == '-' || n == 0 ||
	    (*end && (!u || end[1])) || n > UINT64_C(1) << (40 - shift))
		return false;
	*bytes = (uint64_t)n << shift;
	return true;
}

bool amount_time(const char *text, uint64_t *ns)
{
	static const struct { const char *unit; double ns; } units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
		{ "min", 60e9 }, { "h", 3600e9 } };
	char *end;
	const double n = strtod(text, &end);
	const char *const unit = end + strspn(end, " ");

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end != text && strcmp(unit, units[i].unit) == 0 &&
		    n * units[i].ns >= 1 && n * units[i].ns <= 86400e12) {
			*ns = (uint64_t)(n * units[i].ns);
			return true;
		}
	return false;
}

const char *amount_many(char *out, size_t room, uint64_t n, const char *nouns)
{
	const size_t used = (size_t)snprintf(out, room, "%" PRIu64 " ", n);

	if (used < room)
		noun_print(out + used, room - used, n, nouns);
	return out;
}

const char *amount_print(char *out, size_t room, double bytes)
{
	static const char *const unit[] = { "bytes", "KB", "MB", "GB", "TB" };
	size_t i = 0;

	for (; bytes >= 1000 && i + 1 < sizeof(unit) / sizeof(*unit); i++)
		bytes /= 1000;
	snprintf(out, room, i == 0 ? "%.0f %s" : "%.1f %s", bytes, unit[i]);
	return out;
}

const char *amount_print_time(char *out, size_t room, double ns)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	size_t i = 0;

	for (; ns >= 1000 && i + 1 < sizeof(unit) / sizeof(*unit); i++)
		ns /= 1000;
	snprintf(out, room, "%.6g %s", ns, unit[i]);
	return out;
}
