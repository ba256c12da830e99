/* lanes.c - workers, each with a replay and a session of its own, and the
 * queues through which they get chunks. What a chunk's records do does not
 * depend on other threads of the trace: coroutines that move bring their stacks
 * along. So nothing is shared but the queues.
 *
 * The caller's thread itself looks at each chunk's items, in the order in which
 * chunks come: so processes, threads, functions and notes have the same
 * numbers whatever the workers do.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/lanes.h"
#include "analyzer/chunk/held.h"
#include "analyzer/model/session_join.h"
#include "analyzer/replay/replay_private.h"

#include <pthread.h>
#include <stdatomic.h>

/* Chunks that may wait for a worker. */
enum { QUEUE = 8 };

/* The lock protects the fields up to ended. */
struct worker {
	struct lanes *all;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t came, went;
	const struct chunk *queue[QUEUE];
	uint64_t put, taken;
	bool is_ended;             /* no chunk follows */
	bool has_thread;           /* the caller's, and so are the next */
	uint64_t given;            /* words, in all */
	uint32_t threads;          /* of the trace */
	struct session *session;
	struct replay *replay;
	size_t nodes;              /* those that lanes.nodes has of it */
};

struct lanes {
	struct session *session;
	struct replay *front;      /* fills what does not come from records */
	struct worker *lane;
	size_t count;
	size_t max_nodes;
	_Atomic size_t nodes;      /* of all workers */
	/* By thread of the session: who replays it. */
	struct session_thread *of;
	size_t of_count, of_room;
};

/* ---- a worker ----------------------------------------------------------- */

/* The next chunk, which the worker drops; NULL: there is none left. */
static const struct chunk *take(struct worker *l)
{
	const struct chunk *chunk = NULL;

	pthread_mutex_lock(&l->lock);
	while (l->put == l->taken && !l->is_ended)
		pthread_cond_wait(&l->came, &l->lock);
	if (l->put > l->taken) {
		chunk = l->queue[l->taken++ % QUEUE];
		pthread_cond_signal(&l->went);
	}
	pthread_mutex_unlock(&l->lock);
	return chunk;
}

/* Tell how many nodes there are now. */
static void count_nodes(struct worker *l)
{
	const size_t now = cct_count(l->session->cct);

	atomic_fetch_add(&l->all->nodes, now - l->nodes);
	l->nodes = now;
}

static void *work(void *lane)
{
	struct worker *const l = lane;
	const struct chunk *chunk;

	while ((chunk = take(l))) {
		replay_chunk(l->replay, chunk);
		held_drop(chunk);
		count_nodes(l);
	}
	replay_finish(l->replay);
	count_nodes(l);
	return NULL;
}

/* ---- from outside ------------------------------------------------------- */

static void put(struct worker *l, const struct chunk *chunk)
{
	pthread_mutex_lock(&l->lock);
	while (l->put - l->taken == QUEUE)
		pthread_cond_wait(&l->went, &l->lock);
	l->queue[l->put++ % QUEUE] = held_keep(chunk);
	pthread_cond_signal(&l->came);
	pthread_mutex_unlock(&l->lock);
}

/* The only worker needs no thread. Where the system refuses one, the work is
 * done at once, too. A thread begins with its first chunk: by then the process
 * that reads the trace has been forked. */
static void give(struct worker *l, const struct chunk *chunk)
{
	if (l->given == 0 && l->all->count > 1)
		l->has_thread = pthread_create(&l->thread, NULL, work, l) == 0;
	l->given += chunk->n;
	if (l->has_thread) {
		put(l, chunk);
		return;
	}
	replay_chunk(l->replay, chunk);
	count_nodes(l);
}

static void end(struct worker *l)
{
	if (!l->has_thread)
		return;
	pthread_mutex_lock(&l->lock);
	l->is_ended = true;
	pthread_cond_signal(&l->came);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	l->has_thread = false;
}

static void lane_init(struct worker *l, struct lanes *all,
		      const struct replay_collect *want)
{
	l->all = all;
	l->session = session_new(all->max_nodes);
	l->replay = replay_new(l->session, NULL, NULL);
	replay_want(l->replay, want);
	l->nodes = cct_count(l->session->cct);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->came, NULL);
	pthread_cond_init(&l->went, NULL);
}

static void lane_fini(struct worker *l)
{
	end(l);
	replay_free(l->replay);
	session_free(l->session);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->came);
	pthread_cond_destroy(&l->went);
}

struct lanes *lanes_new(struct session *session,
			const struct replay_collect *want, unsigned jobs)
{
	struct lanes *const all = mem_alloc(sizeof(*all));

	assert(jobs >= 1 && jobs <= LANES_MAX);
	all->session = session;
	all->front = replay_new(session, NULL, NULL);
	all->max_nodes = session->cct->max;
	all->lane = mem_alloc(jobs * sizeof(*all->lane));
	all->count = jobs;
	if (want->hist)
		cct_collect_hist(session->cct);
	for (size_t i = 0; i < jobs; i++)
		lane_init(&all->lane[i], all, want);
	return all;
}

void lanes_free(struct lanes *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++)
		lane_fini(&all->lane[i]);
	replay_free(all->front);
	mem_free_all(all->lane, all->of, all);
}

/* Who replays a thread: at first, the one that was given least so far. */
static struct worker *lane_of(struct lanes *all, uint32_t thread)
{
	struct session_thread *of;
	size_t least = 0;

	if (thread < all->of_count)
		return &all->lane[all->of[thread].part];
	for (size_t i = 1; i < all->count; i++)
		if (all->lane[i].given < all->lane[least].given)
			least = i;
	of = vec_add(&all->of, &all->of_room, &all->of_count);
	*of = (struct session_thread){ least, all->lane[least].threads++ };
	assert(all->of_count == thread + 1);
	return &all->lane[least];
}

int lanes_chunk(struct lanes *all, const struct chunk *chunk)
{
	uint32_t thread;

	session_set_clock(all->session, &chunk->header);
	if (chunk->header.flags & CHUNK_META) {
		replay_identities_notes(all->front, chunk);
		return 0;
	}
	thread = replay_identities_thread(all->front, &chunk->header);
	replay_identities_items(all->front, thread, chunk);
	give(lane_of(all, thread), chunk);
	return lanes_are_full(all) ? -1 : 0;
}

/* One worker keeps the limit itself, also where others have nothing to do. */
bool lanes_are_full(const struct lanes *all)
{
	size_t busy = 0;

	for (size_t i = 0; i < all->count; i++)
		busy += all->lane[i].given > 0;
	return busy > 1 && atomic_load(&all->nodes) > all->max_nodes;
}

void lanes_finish(struct lanes *all)
{
	struct session **const parts = mem_alloc(all->count * sizeof(*parts));

	for (size_t i = 0; i < all->count; i++) {
		struct worker *const l = &all->lane[i];

		if (!l->has_thread) {
			replay_finish(l->replay);
			count_nodes(l);
		}
		end(l);
		parts[i] = l->session;
	}
	if (!lanes_are_full(all))
		session_join(all->session, parts, all->count, all->of);
	mem_free(parts);
}
