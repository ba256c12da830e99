/* amount.h - times and sizes as users write and read them.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a time such as "500ns", "2us", "1.5ms", "30s", "5min" or "1h" as ns.
 * From 1 ns to 1,000 days. False: it is none, and *ns is as it was. */
bool amount_time(const char *text, uint64_t *ns);

/* Read a size such as "64M" as bytes; K, M and G, or k, m and g, are powers of
 * 1024. From 1 byte to 1 TiB. False: it is none, and *bytes is as it was. */
bool amount_size(const char *text, uint64_t *bytes);

/* Write "1 record", or "2000 records": nouns is the plural. Returns out. */
const char *amount_many(char *out, size_t room, uint64_t n, const char *nouns);

/* Write a size such as "1.2 GB" to out. Units are powers of 1000. Returns
 * out. */
const char *amount_print(char *out, size_t room, double bytes);

/* Write a time such as "17.538 us" to out. Returns out. */
const char *amount_print_time(char *out, size_t room, double ns);
