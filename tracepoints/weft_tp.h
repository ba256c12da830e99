/* weft_tp.h - the LTTng-UST tracepoint weft:chunk: a packed chunk as a string,
 * and a few plain fields for readers other than weft. LTTng reads this file
 * several times; only weft_tp.c includes it.
 * SPDX-License-Identifier: MIT */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER weft

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tracepoints/weft_tp.h"

#if !defined(WEFT_TRACEPOINTS_WEFT_TP_H) || \
	defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define WEFT_TRACEPOINTS_WEFT_TP_H

#include "tracepoints/chunk.h"

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(weft, chunk,
	LTTNG_UST_TP_ARGS(
		const struct chunk_header *, head,
		const char *, packed
	),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, pid, head->pid)
		lttng_ust_field_integer(uint32_t, tid, head->tid)
		lttng_ust_field_integer(uint32_t, process, head->process)
		lttng_ust_field_integer(uint32_t, thread, head->thread)
		lttng_ust_field_integer(uint32_t, level, head->level)
		lttng_ust_field_integer(uint64_t, number, head->number)
		lttng_ust_field_integer(uint32_t, flags, head->flags)
		lttng_ust_field_integer(uint32_t, records, head->records)
		lttng_ust_field_string(data, packed)
	)
)

#endif

#include <lttng/tracepoint-event.h>
