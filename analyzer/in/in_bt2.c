/* in_bt2.c - the graph: sources, a muxer, and a sink that sends chunks. Knows
 * babeltrace2; knows nothing of what the words of a chunk mean.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_bt2.h"

#include "analyzer/base/child.h"

#include <string.h>

/* A child whose parent hears nothing counts as hanging: so many batches of
 * messages without a chunk are told. */
enum { QUIET = 64 };

struct bt2_reader {
	FILE *to;
	unsigned quiet;
	char bytes[IN_CHUNK_BYTES];
	/* The class of the last event, and whether it is weft:chunk. A trace
	 * has few classes, so that names are hardly ever compared. */
	const bt_event_class *known;
	bool is_chunk;
};

static void send(FILE *to, char kind, const void *bytes, size_t n)
{
	child_send(to, &kind, 1, bytes, n);
}

/* Report a failure, with babeltrace2's own cause. Returns -1. */
static int fail(FILE *to, const char *what)
{
	const bt_error *const error = bt_current_thread_take_error();
	char text[400];

	if (error) {
		/* The first cause is the innermost one: it says what is
		 * wrong with the trace. */
		const bt_error_cause *const cause = bt_error_get_cause_count(
			error) ? bt_error_borrow_cause_by_index(error, 0) :
			NULL;
		snprintf(text, sizeof(text), "%s: %.300s", what,
			 cause ? bt_error_cause_get_message(cause) : "");
		bt_error_release(error);
	} else {
		snprintf(text, sizeof(text), "%s", what);
	}
	send(to, IN_BT2_FAILED, text, strlen(text));
	return -1;
}

/* ---- the sink ---- */

/* The field of that name. NULL: it has none, or one of another type. */
static const bt_field *borrow(const bt_event *event, const char *name,
			      bt_field_class_type type)
{
	const bt_field *const payload =
		bt_event_borrow_payload_field_const(event);
	const bt_field *const field = payload ?
		bt_field_structure_borrow_member_field_by_name_const(payload,
								     name) :
		NULL;

	return field && bt_field_class_type_is(bt_field_get_class_type(field),
					       type) ? field : NULL;
}

/* Version 1 of the format: the chunk is a sequence of words. babeltrace2 makes
 * an object of each. */
static size_t take_words(const bt_field *array, char *to)
{
	const uint64_t n = array ? bt_field_array_get_length(array) : 0;

	if (n > CHUNK_MAX_WORDS)
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		const bt_field *const word =
			bt_field_array_borrow_element_field_by_index_const(
				array, i);
		uint64_t value;

		if (!bt_field_class_type_is(bt_field_get_class_type(word),
					BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
			return 0;
		value = bt_field_integer_unsigned_get_value(word);
		memcpy(to + i * sizeof(value), &value, sizeof(value));
	}
	return n * sizeof(uint64_t);
}

size_t in_bt2_chunk(const bt_event *event, char *to)
{
	const bt_field *const data = borrow(event, "data",
					    BT_FIELD_CLASS_TYPE_STRING);
	const size_t n = data ? bt_field_string_get_length(data) :
		take_words(borrow(event, "words", BT_FIELD_CLASS_TYPE_ARRAY),
			   to);

	if (n == 0 || n > IN_CHUNK_BYTES) {
		*to = '\0';
		return 1;
	}
	if (data)
		memcpy(to, bt_field_string_get_value(data), n);
	return n;
}

/* Take the event if it is weft:chunk. */
static void take_event(struct bt2_reader *r, const bt_message *message)
{
	const bt_event *const event =
		bt_message_event_borrow_event_const(message);
	const bt_event_class *const class =
		bt_event_borrow_class_const(event);

	if (class != r->known) {
		const char *const name = bt_event_class_get_name(class);

		r->known = class;
		r->is_chunk = name && strcmp(name, "weft:chunk") == 0;
	}
	if (r->is_chunk) {
		send(r->to, IN_BT2_CHUNK, r->bytes,
		     in_bt2_chunk(event, r->bytes));
		r->quiet = 0;
	}
}

/* Count events that LTTng discarded. A message that does not say how many
 * stands for one. */
static void take_discarded(struct bt2_reader *r, const bt_message *message)
{
	uint64_t n = 0;

	if (bt_message_discarded_events_get_count(message, &n) !=
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		n = 1;
	send(r->to, IN_BT2_DISCARDED, &n, sizeof(n));
}

/* The sink: takes what the muxer gives. What was sent is flushed at once, so
 * that the parent has it, and can tell a long trace from a reader that
 * hangs. */
static bt_graph_simple_sink_component_consume_func_status
consume(bt_message_iterator *iterator, void *ctx)
{
	struct bt2_reader *const r = ctx;
	bt_message_array_const messages;
	uint64_t count;
	const bt_message_iterator_next_status status =
		bt_message_iterator_next(iterator, &messages, &count);

	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_graph_simple_sink_component_consume_func_status)
			status; /* the values are the same ones */
	for (uint64_t i = 0; i < count; i++) {
		const bt_message_type type = bt_message_get_type(messages[i]);

		if (type == BT_MESSAGE_TYPE_EVENT)
			take_event(r, messages[i]);
		else if (type == BT_MESSAGE_TYPE_DISCARDED_EVENTS)
			take_discarded(r, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	if (r->quiet++ % QUIET == QUIET - 1)
		send(r->to, IN_BT2_PROGRESS, "", 0);
	fflush(r->to);
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- the graph ---- */

/* Look in the system's own folder first: a plugin in another one may be of
 * another version, and is used only if there is none. NULL if there is
 * neither. */
static const bt_plugin *plugin(const char *name)
{
	const bt_plugin *found = NULL;

	if (bt_plugin_find(name, BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE,
			   BT_FALSE, &found) != BT_PLUGIN_FIND_STATUS_OK)
		bt_plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE,
			       BT_FALSE, &found);
	return found;
}

/* { "inputs": [path] }. NULL without memory; otherwise the reference is the
 * caller's. */
static bt_value *inputs(const char *path)
{
	bt_value *const params = bt_value_map_create();
	bt_value *list = NULL;

	if (!params || bt_value_map_insert_empty_array_entry(params, "inputs",
			&list) != BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK)
		return NULL;
	bt_value_array_append_string_element(list, path);
	return params;
}

/* The muxer always has one unconnected input port, whose index is used: it adds
 * the next one when that is connected. */
struct muxer { const bt_component_filter *component; uint64_t used; };

/* Connect all outputs of a source (one for each stream) to the muxer. */
static int connect_ports(bt_graph *graph, const bt_component_source *source,
			 struct muxer *m)
{
	const uint64_t n = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < n; i++)
		if (bt_graph_connect_ports(graph,
			bt_component_source_borrow_output_port_by_index_const(
				source, i),
			bt_component_filter_borrow_input_port_by_index_const(
				m->component, m->used++), NULL))
			return -1;
	return 0;
}

static int add_source(bt_graph *graph, const bt_plugin *ctf, size_t number,
		      const char *path, struct muxer *m)
{
	const bt_component_class_source *const class =
		bt_plugin_borrow_source_component_class_by_name_const(ctf,
								      "fs");
	bt_value *const params = inputs(path);
	const bt_component_source *source;
	char name[32];

	snprintf(name, sizeof(name), "trace%zu", number);
	if (!class || !params ||
	    bt_graph_add_source_component(graph, class, name, params,
					  BT_LOGGING_LEVEL_NONE, &source))
		return -1;
	bt_value_put_ref(params);
	return connect_ports(graph, source, m);
}

/* The muxer merges the streams of all sources by time. */
static int add_muxer(bt_graph *graph, const bt_plugin *utils, struct muxer *m)
{
	const bt_component_class_filter *const class =
		bt_plugin_borrow_filter_component_class_by_name_const(utils,
								     "muxer");

	return !class ||
	       bt_graph_add_filter_component(graph, class, "muxer", NULL,
					     BT_LOGGING_LEVEL_NONE,
					     &m->component) ? -1 : 0;
}

/* The sink takes the muxer's only output. */
static int add_sink(bt_graph *graph, const struct muxer *m,
		    struct bt2_reader *r)
{
	const bt_component_sink *sink;

	return bt_graph_add_simple_sink_component(graph, "weft", NULL, consume,
						  NULL, r, &sink) ||
	       bt_graph_connect_ports(graph,
			bt_component_filter_borrow_output_port_by_index_const(
				m->component, 0),
			bt_component_sink_borrow_input_port_by_index_const(
				sink, 0), NULL) ? -1 : 0;
}

/* Build the graph and run it. What a failure leaves behind is not freed. */
static int run(FILE *to, const struct in_sources *s)
{
	static struct bt2_reader reader;
	struct muxer muxer = { 0 };
	bt_graph *const graph = bt_graph_create(0);
	const bt_plugin *const ctf = plugin("ctf");
	const bt_plugin *const utils = plugin("utils");

	if (!graph || !ctf || !utils)
		return fail(to, "babeltrace2's plugins ctf and utils cannot "
			    "be loaded");
	if (add_muxer(graph, utils, &muxer))
		return fail(to, "babeltrace2 makes no muxer");
	for (size_t i = 0; i < s->count; i++) {
		if (add_source(graph, ctf, i, s->paths[i], &muxer)) {
			/* Its own words are no more than the path. */
			bt_current_thread_clear_error();
			return fail(to, "the CTF trace is damaged: babeltrace2 "
				    "cannot open it");
		}
		send(to, IN_BT2_PROGRESS, "", 0);
		fflush(to);
	}
	if (muxer.used == 0) /* no stream at all */
		return 0;
	reader.to = to;
	if (add_sink(graph, &muxer, &reader))
		return fail(to, "babeltrace2 connects no sink");
	if (bt_graph_run(graph) != BT_GRAPH_RUN_STATUS_OK)
		return fail(to, "babeltrace2 gave up");
	/* The process ends next: nothing is taken apart. */
	return 0;
}

void in_bt2_run(const void *sources, FILE *to)
{
	run(to, sources);
	send(to, IN_BT2_END, "", 0);
}

void in_bt2_version(char *text, size_t room)
{
	snprintf(text, room, "babeltrace2 %u.%u.%u", bt_version_get_major(),
		 bt_version_get_minor(), bt_version_get_patch());
}
