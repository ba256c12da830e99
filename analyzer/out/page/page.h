/* page.h - a page for a browser: one file that needs nothing else, with the
 * tree, the functions, who calls whom, the coroutines and what ran when as
 * data, and scripts that draw them.
 *
 * This folder has the page's own files (browser/), which the build puts into
 * the program, and what writes the data. It may use analyzer/base,
 * model, watch, tables, merge and out.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/page/page_source.h"

#include <stdio.h>

/* No page is larger, whatever was recorded: a browser opens it at once. */
enum { PAGE_BYTES = 20000000 };

/* Write the page, and on it what it leaves out to keep that size. Times in it
 * are ticks, which the scripts show as ns. Adds the function "(other)" to the
 * sessions. The caller checks the file for errors. */
void page_write(FILE *, const struct page *);
