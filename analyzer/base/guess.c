/* guess.c - the distance of two names, after Damerau and Levenshtein.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/guess.h"
#include "analyzer/base/order.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Longer names are not compared; CONTAINED: more than any distance. */
enum { LONGEST = 60, CONTAINED = 1000 };

void guess_init(struct guess *g, const char *wanted)
{
	*g = (struct guess){ .wanted = wanted, .distance = SIZE_MAX };
}

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Row i of the table has the distances of the first i characters of a to all
 * beginnings of b; two rows before are enough for exchanged characters. */
static size_t distance(const char *a, size_t m, const char *b, size_t n)
{
	size_t rows[3][LONGEST + 1];

	for (size_t k = 0; k <= n; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= m; i++) {
		size_t *const row = rows[i % 3];
		const size_t *const last = rows[(i - 1) % 3];
		const size_t *const before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= n; k++) {
			row[k] = MIN(last[k - 1] +
				       !is_same(a[i - 1], b[k - 1]),
				       MIN(last[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) &&
			    is_same(a[i - 2], b[k - 1]))
				row[k] = MIN(row[k], before[k - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

/* SIZE_MAX: not like it. Of names that contain it, the shortest is best. */
static size_t unlike(const struct guess *g, const char *name, size_t length)
{
	const size_t wanted = strlen(g->wanted);
	const size_t most = wanted < 6 ? 1 + (wanted > 2) : wanted / 3;
	size_t d;

	if (wanted == 0 || wanted > LONGEST || length == 0)
		return SIZE_MAX;
	if (length <= LONGEST && length <= wanted + most &&
	    wanted <= length + most) {
		d = distance(g->wanted, wanted, name, length);
		if (d <= most && d < wanted && d < length)
			return d;
	}
	for (size_t i = 0; wanted > 2 && i + wanted <= length; i++)
		if (strncasecmp(name + i, g->wanted, wanted) == 0)
			return CONTAINED + length;
	return SIZE_MAX;
}

void guess_offer(struct guess *g, const char *name, size_t length)
{
	const size_t d = unlike(g, name, length);

	if (d >= g->distance)
		return;
	g->distance = d;
	snprintf(g->best, sizeof(g->best), "%s", name);
}

const char *guess_text(const struct guess *g, const char *otherwise, char *to,
		       size_t size)
{
	to[0] = '\0';
	if (g->best[0] != '\0')
		snprintf(to, size, "; did you mean \"%s\"?", g->best);
	else if (otherwise)
		snprintf(to, size, "; %s", otherwise);
	return to;
}
