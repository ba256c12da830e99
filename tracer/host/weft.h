/* weft.h - what a program may tell the recording it runs in. Everything here is
 * safe to call when the program is not being recorded: it then does nothing.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_H
#define WEFT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Stop recording, in every process of the recording. Returns 1 if it was on,
 * 0 if not. Off costs about a nanosecond a call. */
int weft_pause(void);

/* Record (again), in every process of the recording. Calls that are open at this
 * moment are not known; they show as "open before start". Returns 0, 1 if
 * recording was on already, -1 if this program is not being recorded. */
int weft_resume(void);

/* Leave a mark of that name in the calling thread's record. name: UTF-8, ended
 * by NUL; the first 256 bytes are kept. */
void weft_mark(const char *name);

/* Say something about this run, such as service, version or zone; reports can
 * tell and group runs by it. The first 256 bytes of each are kept. 0, or -1
 * if it could not be recorded. */
int weft_label(const char *key, const char *value);

#ifdef __cplusplus
}
#endif

#endif
