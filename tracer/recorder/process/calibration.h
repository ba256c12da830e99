/* calibration.h - what recording a call costs on this machine, for what samples
 * do not tell.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* All zero: none was begun. */
struct calibration {
	pid_t child;               /* that measures; 0: none does */
	int from;                  /* the pipe from it, while there is one */
	double cost, error;        /* ns a native call, both hooks together;
	                            * 0: not known */
};

/* Have a child process measure, which loads libweft.so and records calls into a
 * small pool of its own. Wait for it, but no longer than some ms. library:
 * absolute path, or the value of LD_PRELOAD that begins with it. tsc: what the
 * recording's clock is. Whatever goes wrong, the cost is not known. */
void calibration_begin(struct calibration *c, const char *library, bool tsc);
/* Take what came later than that, if it is there. True: the cost is known from
 * now on. */
bool calibration_poll(struct calibration *c);
/* Take it if it is there, and end the child. */
void calibration_end(struct calibration *c);
