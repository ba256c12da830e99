/* hot_path_state.h - the inside of hot_path, shared by the hot_path*.c files only.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_HOT_PATH_STATE_H
#define WEFT_ANALYZER_WATCH_HOT_PATH_STATE_H

#include "analyzer/model/cct.h"
#include "analyzer/watch/hot_path.h"

enum where { NOT_LOOKED, IS_OFF, IS_ON };

/* A call that is open at the moment, seen from one stream. */
struct watch {
	uint32_t call;           /* index */
	enum where where;        /* is it on this stack? */
	size_t frame;            /* at this place */
	node_id *node;           /* of the frames from it on ... */
	size_t known, room;      /* ... as many as are right */
};

/* A stream. Its watches are right from the last tick that was looked at until
 * another one. */
struct hot_path_lane {
	uint32_t process, thread, level;
	ticks until;
	struct watch *watches;
	size_t count, room;
};

struct hot_path {
	const struct slow_call *calls;
	size_t count;
	struct cct *tree;
	node_id *root;           /* by call */
	ticks *total, *suspended; /* by node, when all is told */
	struct map *lane_of;
	struct hot_path_lane **lanes;
	size_t lane_count, lane_room;
};

/* hot_path_watch.c */
void hot_path_watch_free(struct hot_path_lane *);
/* The lane's watches for a tick. */
void hot_path_watch_refresh(const struct hot_path *, struct hot_path_lane *,
			  ticks at);
/* Is the call on this stack? */
int hot_path_watch_is_on(const struct hot_path *, struct watch *,
		       const struct stream *);
/* The node of a frame at or above that of a call that is on the stack. */
node_id hot_path_watch_node(struct hot_path *, struct watch *,
			  const struct stream *, size_t frame);
/* Frames from this one on are others now. */
void hot_path_watch_forget(struct watch *, size_t frame);

#endif
