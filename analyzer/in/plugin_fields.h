/* plugin_fields.h - the fields of each kind of event: their classes and what
 * stands in them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_PLUGIN_FIELDS_H
#define WEFT_ANALYZER_IN_PLUGIN_FIELDS_H

#include "analyzer/in/in_explode.h"

#include <babeltrace2/babeltrace.h>

enum { PLUGIN_TEXT_MAX = 600 };

/* "weft:native_enter" */
const char *plugin_fields_event(enum in_event_kind);
/* A new class of its payload; NULL without memory. */
bt_field_class *plugin_fields_class(bt_trace_class *, enum in_event_kind);
/* Fill in all fields of an event. 0, or -1 without memory. */
int plugin_fields_fill(bt_event *to, const struct session *,
		       const struct in_event *event);

/* The text, cut to its room, with question marks for bytes that would move a
 * terminal's cursor. Returns out. */
const char *plugin_fields_plain(char out[PLUGIN_TEXT_MAX], const char *text);

#endif
