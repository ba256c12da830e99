/* out_number.h - numbers as people read them. Each function writes into the
 * caller's buffer, which has OUT_NUMBER bytes, and returns it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { OUT_NUMBER = 64 };

/* 12,345,678 */
char *out_number_count(char *to, uint64_t value);
/* "1 call", "2,000 calls". nouns is the plural of a short noun, of which the
 * singular is made: see the endings. */
char *out_number_many(char *to, uint64_t count, const char *nouns);
/* A time with four digits: "1.234 s", "12.34 ms", "20.1 ns"; 0 is "0". */
char *out_number_time(char *to, double ns);
/* "12.3%"; "0.0%" if the whole is 0. */
char *out_number_share(char *to, uint64_t part, uint64_t whole);
/* "1.2 GB": powers of 1000 */
char *out_number_bytes(char *to, uint64_t bytes);
/* CLOCK_REALTIME in ns as "2026-11-21 08:06:35 UTC"; "unknown date" if it
 * cannot be shown */
char *out_number_date(char *to, uint64_t real_ns);


/* For files of millions of numbers, where printf would take most of the time:
 * the digits of a value, which may begin with zeros; returns where they end,
 * which has no 0 byte. At least so many digits, at most 20. */
char *out_number_digits(char *to, uint64_t value, unsigned least);
/* before, and a value's digits. */
void out_number_put(FILE *, const char *before, uint64_t value);
