/* plugin_events.h - events as babeltrace2 messages: the classes of weft's own
 * trace, one stream a thread. Knows babeltrace2; knows nothing of chunks.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/explode/explode.h"

#include <babeltrace2/babeltrace.h>

struct plugin_events;

/* The messages of one iterator, which must outlive them. NULL if babeltrace2
 * has no memory. */
struct plugin_events *plugin_events_new(bt_self_message_iterator *);
void plugin_events_free(struct plugin_events *);

enum { PLUGIN_EVENTS_MOST = 3 };

/* Make the message of an event, after those that begin its stream or end and
 * begin a packet. Events must come in the order of their ns. Returns how many
 * were made, whose references are the caller's; 0 if there is no memory. */
size_t plugin_events_put(struct plugin_events *, const struct session *,
			 const struct explode_event *,
			 const bt_message *made[PLUGIN_EVENTS_MOST]);
/* The message that ends the next packet or stream, the caller's; NULL if all
 * have ended or there is no memory. All of them carry the time of the last
 * event. To be called again until it returns NULL. */
const bt_message *plugin_events_end(struct plugin_events *);
