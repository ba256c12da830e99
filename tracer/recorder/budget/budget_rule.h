/* budget_rule.h - which functions are to be recorded so that recording costs
 * no more than a budget allows: a rule without memory, clock or program.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/verdict.h"

/* A function, as far as it was seen. */
struct budget_function {
	double rate;               /* calls in a second of CPU time */
	double ns;                 /* of a call, mean, as recorded */
	enum verdict verdict;      /* what holds; budget_decide changes it */
	uint32_t demotions;        /* how often it came to be counted, */
	double held;               /* s: it stays so at least until then */
	bool is_vm;                /* a Lua state, of whose calls none costs
				    * anything while it is not recorded */
};

/* What was seen of the program since a verdict changed last. */
struct budget_sight {
	double limit;              /* the budget: a share of CPU time, 0 to 1 */
	double share, error;       /* what recording takes, +- one standard
				    * error */
	double other;              /* calls a second that no verdict spares,
				    * each as many as it costs */
	double now;                /* s */
};

/* What a call costs, as a part of what a recorded one does. */
double budget_price(const struct budget_function *);

/* Change verdicts, if the share is surely above the limit, or surely below
 * half of it. Counted are from then on, until the rest should cost 0.7 of the
 * limit, functions that are called most often and take least; functions that
 * take 10 us and more never are. Recorded again are the rarest, until all
 * should cost 0.6 of it. Each time that a function comes to be counted holds
 * twice as long as the one before: 2 s to 4 minutes. Returns how many verdicts
 * it has changed. */
uint32_t budget_decide(const struct budget_sight *s, struct budget_function *f,
		       uint32_t n);
