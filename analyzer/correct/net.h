/* net.h - net times: what calls would have taken without probes, as far as
 * samples of the program tell.
 *
 * analyzer/correct: what is put right in a session after the replay, because
 * recording changed it: times that contain the cost of probes, calls that were
 * not recorded. Uses base and model; prints nothing.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORRECT_NET_H
#define WEFT_ANALYZER_CORRECT_NET_H

#include "analyzer/model/session.h"

/* Replace self by net self in the tree, if there are enough samples, or else if
 * the recorder noted what calls cost (net_calibrated.h):
 * session.net says so, and cct_sampled has the raw times. Else nothing changes.
 *
 * A function's net self is its samples times the period; a gamma prior of its
 * raw self less what its calls should have cost weighs as much as it is known
 * to be right. To this comes the time in which it did not run, and the time
 * in which it ran but could not be sampled (in the kernel), where that is more
 * than chance. Time without samples counts like the function's other time. The
 * variance is that of the function's net self. All of it is divided among the
 * function's nodes so that these add up. */
void net_apply(struct session *);

/* Self becomes raw again in the tree. */
void net_undo(struct session *);

/* Are there calls that samples do not tell from their callers, since they have
 * no records? Then times stay as recorded. */
bool net_hides_calls(const struct session *);

#endif
