/* plugin_emit.h - events as babeltrace2 messages: the classes of weft's own
 * trace, one stream a thread. Knows babeltrace2; knows nothing of chunks.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_PLUGIN_EMIT_H
#define WEFT_ANALYZER_IN_PLUGIN_EMIT_H

#include "analyzer/in/in_explode.h"

#include <babeltrace2/babeltrace.h>

struct plugin_emit;

/* NULL when babeltrace2 has no memory. Ends with plugin_emit_free. */
struct plugin_emit *plugin_emit_new(bt_self_message_iterator *);
void plugin_emit_free(struct plugin_emit *);

/* Make an event's message; and, the first time a thread is seen, before it the
 * one that begins its stream. How many of the two were made (the caller's
 * references), 0 when there is no memory. */
size_t plugin_emit_event(struct plugin_emit *, const struct session *,
			 const struct in_event *, const bt_message *made[2]);
/* The message that ends the next stream; NULL when all have ended. */
const bt_message *plugin_emit_end(struct plugin_emit *);

#endif
