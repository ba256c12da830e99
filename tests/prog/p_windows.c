/* p_windows.c - "p_windows N [again]": calls inside() while it sees that
 * recording is on and outside() while it is off, until that has changed N
 * times; at most for 20 s, as it may begin after a window, or sleep through
 * one. again: it turns recording on before each call. Prints its own counts.
 * Only to be recorded.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#pragma weak weft_status
#pragma weak weft_resume

#define UNSEEN __attribute__((no_instrument_function))
enum { TURN = 64, PAUSE_US = 500 };
void inside(void);
void outside(void);
__attribute__((noinline)) void inside(void) { __asm__ volatile(""); }
__attribute__((noinline)) void outside(void) { __asm__ volatile(""); }

UNSEEN static int is_on(void)
{
	struct weft_status s = { .size = sizeof(s) };

	weft_status(&s);
	return s.on;
}

UNSEEN int main(int argc, char **argv)
{
	const int wanted = argc > 1 ? atoi(argv[1]) : 1;
	const bool again = argc > 2;
	long in = 0, out = 0;
	int changes = 0;
	const time_t begun = time(NULL);
	int was = is_on();

	puts("begun");
	fflush(stdout);
	while (changes < wanted && time(NULL) < begun + 20) {
		for (int i = 0; i < TURN; i++) {
			if (again)
				weft_resume();
			const int on = is_on();

			changes += on != was;
			was = on;
			if (on)
				inside();
			else
				outside();
			in += on;
			out += !on;
		}
		usleep(PAUSE_US);
	}
	printf("inside %ld\noutside %ld\nchanges %d\n", in, out, changes);
	return 5;
}
