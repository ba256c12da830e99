/* client.h - `weft status` and the other commands that speak to recordings that
 * run.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Whether that is the name of such a command. */
bool client_knows(const char *name);
/* Run it: argv[0] is its name, the rest its operands. Returns weft's exit
 * status: 0 done, 1 usage, 2 no such recording, or it refuses. */
int client_run(int argc, char **argv);
