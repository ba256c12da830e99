/* plugin_weft.c - the babeltrace2 plugin "weft": filter.weft.explode turns each
 * event weft:chunk into the events that the chunk's records stand for. Knows
 * babeltrace2's rules for components and iterators; explode sorts, and
 * plugin_events makes messages.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/chunk/held.h"
#include "analyzer/in/in_bt2.h"
#include "analyzer/explode/explode.h"
#include "analyzer/explode/plugin_events.h"

#include <babeltrace2/babeltrace.h>
#include <string.h>

#define WINDOW_DEFAULT UINT64_C(5000000000) /* ns */
#define WINDOW_MAX 1e9                      /* seconds */
#define MIP_KNOWN 1                         /* the newest protocol we know */

/* Short names for babeltrace2's statuses. */
typedef bt_message_iterator_class_next_method_status next_status;
static const next_status
	NEXT_OK = BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK,
	NEXT_END = BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END,
	NEXT_NO_MEMORY =
		BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_MEMORY_ERROR;
static const bt_message_iterator_class_seek_beginning_method_status
	SEEK_NO_MEMORY =
	BT_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHOD_STATUS_MEMORY_ERROR;

/* The component's data. window: ns, see explode_new. */
struct component { uint64_t window; };

/* A message iterator's data. */
struct iterator {
	bt_message_iterator *upstream;
	uint64_t window;
	struct explode *explode;
	struct plugin_events *events;
	char bytes[IN_CHUNK_BYTES];
	const bt_message *spare[PLUGIN_EVENTS_MOST]; /* made without room */
	size_t spares;
	bool has_ended;
};

/* ---- the component ---- */

/* A parameter's number of seconds, of any type of number. 0, or -1 if it is no
 * number or out of range. */
static int get_seconds(const bt_value *value, double *seconds)
{
	if (bt_value_is_real(value))
		*seconds = bt_value_real_get(value);
	else if (bt_value_is_unsigned_integer(value))
		*seconds = (double)bt_value_integer_unsigned_get(value);
	else if (bt_value_is_signed_integer(value))
		*seconds = (double)bt_value_integer_signed_get(value);
	else
		return -1;
	return *seconds >= 0 && *seconds <= WINDOW_MAX ? 0 : -1;
}

/* The events are the same in both versions of babeltrace2's message protocol.
 * From 2.1 on, its sink.ctf.fs takes only 1 unless it is asked for CTF 1.8. */
static bt_component_class_get_supported_mip_versions_method_status
explode_protocols(bt_self_component_class_filter *self, const bt_value *params,
		  void *data, bt_logging_level level,
		  bt_integer_range_set_unsigned *versions)
{
	const uint64_t newest = bt_get_maximal_mip_version();

	(void)self;
	(void)params;
	(void)data;
	(void)level;
	return (bt_component_class_get_supported_mip_versions_method_status)
		bt_integer_range_set_unsigned_add_range(versions, 0,
			newest < MIP_KNOWN ? newest : MIP_KNOWN);
}

/* Create the component: read its parameters, add its ports. The data is freed
 * in explode_finalize. */
static bt_component_class_initialize_method_status
explode_init(bt_self_component_filter *self,
	     bt_self_component_filter_configuration *configuration,
	     const bt_value *params, void *data)
{
	const bt_value *const window =
		bt_value_map_borrow_entry_value_const(params, "window");
	double seconds = 0;
	struct component *e;

	(void)configuration;
	(void)data;
	if (window && get_seconds(window, &seconds)) {
		BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(
			bt_self_component_filter_as_self_component(self),
			"parameter \"window\" must be a number of seconds");
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	if (bt_self_component_filter_add_input_port(self, "in", NULL, NULL) ||
	    bt_self_component_filter_add_output_port(self, "out", NULL, NULL))
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	e = mem_alloc(sizeof(*e));
	e->window = window ? (uint64_t)(seconds * 1e9) : WINDOW_DEFAULT;
	bt_self_component_set_data(
		bt_self_component_filter_as_self_component(self), e);
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static void explode_finalize(bt_self_component_filter *self)
{
	mem_free(bt_self_component_get_data(
		bt_self_component_filter_as_self_component(self)));
}

/* ---- the iterator ---- */

/* Start from the beginning. 0, or -1 without memory; end frees what was
 * made. */
static int begin(struct iterator *it, bt_self_message_iterator *self)
{
	it->explode = explode_new(it->window);
	it->events = plugin_events_new(self);
	return it->events ? 0 : -1;
}

/* Free all but the iterator upstream, so that begin can follow. */
static void end(struct iterator *it)
{
	while (it->spares)
		bt_message_put_ref(it->spare[--it->spares]);
	explode_free(it->explode);
	plugin_events_free(it->events);
	it->explode = NULL;
	it->events = NULL;
	it->has_ended = false;
}

static void iterator_free(struct iterator *it)
{
	end(it);
	bt_message_iterator_put_ref(it->upstream);
	mem_free(it);
}

static bt_message_iterator_class_initialize_method_status
iterator_init(bt_self_message_iterator *self,
	      bt_self_message_iterator_configuration *configuration,
	      bt_self_component_port_output *port)
{
	bt_self_component *const component =
		bt_self_message_iterator_borrow_component(self);
	const struct component *const e = bt_self_component_get_data(component);
	bt_self_component_port_input *const in =
		bt_self_component_filter_borrow_input_port_by_index(
			(bt_self_component_filter *)component, 0);
	struct iterator *const it = mem_alloc(sizeof(*it));

	(void)port;
	it->window = e->window;
	if (begin(it, self) || bt_message_iterator_create_from_message_iterator(
				 self, in, &it->upstream)) {
		iterator_free(it);
		return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	bt_self_message_iterator_configuration_set_can_seek_forward(
		configuration, bt_message_iterator_can_seek_forward(
				       it->upstream));
	bt_self_message_iterator_set_data(self, it);
	return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

/* babeltrace2's trimmer seeks. Going back to the beginning is all that it needs
 * from an iterator. */
static bt_message_iterator_class_can_seek_beginning_method_status
iterator_can_seek(bt_self_message_iterator *self, bt_bool *can_seek)
{
	const struct iterator *const it =
		bt_self_message_iterator_get_data(self);

	return (bt_message_iterator_class_can_seek_beginning_method_status)
		bt_message_iterator_can_seek_beginning(it->upstream, can_seek);
}

static bt_message_iterator_class_seek_beginning_method_status
iterator_seek(bt_self_message_iterator *self)
{
	struct iterator *const it = bt_self_message_iterator_get_data(self);

	end(it);
	if (begin(it, self))
		return SEEK_NO_MEMORY;
	return (bt_message_iterator_class_seek_beginning_method_status)
		bt_message_iterator_seek_beginning(it->upstream);
}

static void iterator_finalize(bt_self_message_iterator *self)
{
	iterator_free(bt_self_message_iterator_get_data(self));
}

/* Events that are no chunk are left out; weft info counts them. */
static void take_event(struct iterator *it, const bt_event *event)
{
	const char *const name = bt_event_class_get_name(
		bt_event_borrow_class_const(event));
	const struct chunk *chunk;
	struct packed_head head;
	uint32_t size;

	if (!name || strcmp(name, "weft:chunk") != 0)
		return;
	chunk = held_open(it->bytes, in_bt2_chunk(event, it->bytes), &head,
			  &size);
	if (chunk)
		explode_put(it->explode, chunk);
	held_drop(chunk);
	err_clear();
}

/* Take a message from upstream, and give its reference back. */
static void take(struct iterator *it, const bt_message *message)
{
	if (bt_message_get_type(message) == BT_MESSAGE_TYPE_EVENT)
		take_event(it, bt_message_event_borrow_event_const(message));
	bt_message_put_ref(message);
}

/* Ask upstream for messages, and take the chunks among them. */
static next_status pull(struct iterator *it)
{
	bt_message_array_const messages;
	uint64_t count;
	const bt_message_iterator_next_status status =
		bt_message_iterator_next(it->upstream, &messages, &count);

	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
		explode_end(it->explode);
	else if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (next_status)status; /* the values are the same ones */
	else
		for (uint64_t i = 0; i < count; i++)
			take(it, messages[i]);
	return NEXT_OK;
}

/* Append the next messages: 1 if there were any, 0 if upstream must be asked,
 * -1 at the end, -2 if there is no memory. An event may make several messages;
 * those that do not fit are spared. */
static int add_next(struct iterator *it, bt_message_array_const messages,
		    uint64_t capacity, uint64_t *count)
{
	const bt_message *made[PLUGIN_EVENTS_MOST];
	struct explode_event event;
	int got = it->has_ended ? -1 : explode_next(it->explode, &event);
	size_t n = 0;

	if (got == 0)
		return 0;
	if (got < 0) {
		it->has_ended = true;
		made[0] = plugin_events_end(it->events);
		n = made[0] != NULL;
		got = n ? 1 : -1;
	} else {
		n = plugin_events_put(it->events,
				      explode_session(it->explode), &event,
				      made);
		got = n ? 1 : -2;
	}
	for (size_t i = 0; i < n; i++)
		if (*count < capacity)
			messages[(*count)++] = made[i];
		else
			it->spare[it->spares++] = made[i];
	return got;
}

/* Fill messages, asking upstream when no event is due. A status other than OK
 * must come without messages. */
static next_status iterator_next(bt_self_message_iterator *self,
				 bt_message_array_const messages,
				 uint64_t capacity, uint64_t *count)
{
	struct iterator *const it = bt_self_message_iterator_get_data(self);
	int got = 1;

	*count = 0;
	while (*count < it->spares && *count < capacity) {
		messages[*count] = it->spare[*count];
		(*count)++;
	}
	it->spares -= *count;
	memmove(it->spare, it->spare + *count,
		it->spares * sizeof(*it->spare));
	while (*count < capacity && got >= 0) {
		got = add_next(it, messages, capacity, count);
		/* Return what there is before asking upstream. */
		if (got == 0 && *count)
			return NEXT_OK;
		if (got == 0) {
			const next_status status = pull(it);

			if (status)
				return status;
		}
	}
	if (got == -2)
		return NEXT_NO_MEMORY;
	return *count ? NEXT_OK : NEXT_END;
}

/* ---- what babeltrace2 asks for ---- */

BT_PLUGIN_MODULE();
BT_PLUGIN(weft);
BT_PLUGIN_DESCRIPTION("Traces of weft record");
BT_PLUGIN_LICENSE("MIT");
BT_PLUGIN_FILTER_COMPONENT_CLASS(explode, iterator_next);
BT_PLUGIN_FILTER_COMPONENT_CLASS_DESCRIPTION(explode,
	"Turn events weft:chunk into the calls, returns and coroutine "
	"switches they hold, in the order of time.");
BT_PLUGIN_FILTER_COMPONENT_CLASS_HELP(explode,
	"Parameter window=SECONDS (5): how long to wait for what comes in "
	"late. What comes later still is given on at the window's edge, with "
	"its lateness in late_by. Other events than weft:chunk are left out.");
BT_PLUGIN_FILTER_COMPONENT_CLASS_GET_SUPPORTED_MIP_VERSIONS_METHOD(
	explode, explode_protocols);
BT_PLUGIN_FILTER_COMPONENT_CLASS_INITIALIZE_METHOD(explode, explode_init);
BT_PLUGIN_FILTER_COMPONENT_CLASS_FINALIZE_METHOD(explode, explode_finalize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD(
	explode, iterator_init);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHODS(
	explode, iterator_seek, iterator_can_seek);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_FINALIZE_METHOD(
	explode, iterator_finalize);
