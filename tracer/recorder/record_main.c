/* record_main.c - weft-record: `weft record [options] -- program args`.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/recording.h"
#include "tracer/recorder/message.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static struct recording r;
	int status = options_read(&r.opt, argc, argv);

	if (status >= 0) {
		fflush(stdout);
		return status;
	}
	say_quiet(r.opt.quiet);
	if (start_recording(&r, &status) == 0) {
		/* A reader of our messages may go; the recording stays. */
		signal(SIGPIPE, SIG_IGN);
		loop_run(&r);
		close_recording(&r);
		summary_print(&r);
		status = program_exit_like(&r.program);
	}
	/* LTTng's destructors wait for its threads; nothing of ours is left to
	 * do, and they may hang. */
	_exit(status);
}
