/* demo_desk.c - the scheduler. The workers share one queue of two kinds of
 * things: desks (a Lua state with a coroutine that can go on) and jobs (native
 * work a coroutine waits for). A desk is run by one worker at a time, by any in
 * turn, so its coroutines wander from thread to thread.
 * SPDX-License-Identifier: MIT */
#include "demo.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT_MAX = 6, WORKERS_MAX = 16, DESKS_MAX = 16 };

/* A coroutine that handles a request. Owned by the worker that runs its desk,
 * then by the one that runs its job; by nobody while it is in a list. */
struct task {
	struct task *next;
	struct desk *desk;
	struct request *request;
	lua_State *co;
	int ref;             /* keeps co alive, in the registry */
	int arguments;       /* on co's stack, for its next resume */
	unsigned ran_on;     /* workers, a bit each */
	enum { JOB_NONE, JOB_INDEX, JOB_RANK } job;
	char query[256];
	uint64_t words;      /* answer of JOB_INDEX */
	struct heap heap;    /* answer of JOB_RANK */
};

/* queued: it is in the queue or a worker runs it. */
struct desk {
	struct desk *next;
	lua_State *L;
	struct task *ready;
	size_t next_request, in_flight;
	bool queued;
};

/* Everything below lock, and the lists above, belong to who holds it. */
static struct {
	struct phase *phases;
	size_t phase_count;
	unsigned desk_count;
	struct desk desks[DESKS_MAX];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct desk *first, **last;
	struct task *jobs;
	size_t phase, open_requests;
} room = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void queue_desk(struct desk *desk)
{
	desk->queued = true;
	desk->next = NULL;
	*room.last = desk;
	room.last = &desk->next;
	pthread_cond_signal(&room.changed);
}

static void begin_phase(void)
{
	while (room.phase < room.phase_count &&
	       room.phases[room.phase].count == 0)
		room.phase++;
	if (room.phase == room.phase_count) {
		pthread_cond_broadcast(&room.changed);
		return;
	}
	if (room.phases[room.phase].before)
		room.phases[room.phase].before();
	room.open_requests = room.phases[room.phase].count;
	for (unsigned i = 0; i < room.desk_count; i++) {
		room.desks[i].next_request = i;
		if (!room.desks[i].queued)
			queue_desk(&room.desks[i]);
	}
}

/* Something to do: a task whose job is to be run, else a desk; neither when
 * all phases are over. */
static struct task *take(struct desk **desk)
{
	struct task *job = NULL;

	*desk = NULL;
	pthread_mutex_lock(&room.lock);
	while (!room.jobs && !room.first &&
	       room.phase < room.phase_count)
		pthread_cond_wait(&room.changed, &room.lock);
	if (room.jobs) {
		job = room.jobs;
		room.jobs = job->next;
	} else if (room.first) {
		*desk = room.first;
		room.first = (*desk)->next;
		if (!room.first)
			room.last = &room.first;
	}
	pthread_mutex_unlock(&room.lock);
	return job;
}

static void run_job(struct task *task)
{
	COUNT(run_job);
	if (task->job == JOB_INDEX) {
		task->words = index_document(
			&library.documents[task->request->document]);
	} else {
		task->heap = (struct heap){ .limit = HITS_MAX };
		rank_documents(task->query, &task->heap);
	}
	pthread_mutex_lock(&room.lock);
	task->next = task->desk->ready;
	task->desk->ready = task;
	if (!task->desk->queued)
		queue_desk(task->desk);
	pthread_mutex_unlock(&room.lock);
}

/* Is there a request for the desk, and room for it? Needs the lock. */
static bool may_begin(const struct desk *desk)
{
	return desk->in_flight < IN_FLIGHT_MAX &&
	       room.phase < room.phase_count &&
	       desk->next_request < room.phases[room.phase].count;
}

/* A coroutine for a request. Needs to own the desk, and no lock. */
static struct task *new_task(struct desk *desk, struct request *request)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	task->desk = desk;
	task->request = request;
	task->co = lua_newthread(desk->L);
	task->ref = luaL_ref(desk->L, LUA_REGISTRYINDEX);
	TALLY(coroutines, 1);
	TALLY(requests, 1);
	lua_getglobal(task->co, request->handler);
	if (request->text)
		lua_pushstring(task->co, request->text);
	else
		lua_pushinteger(task->co, request->document);
	task->arguments = 1;
	return task;
}

/* The next coroutine of a desk to run, old or new. */
static struct task *next_task(struct desk *desk)
{
	struct request *request = NULL;

	pthread_mutex_lock(&room.lock);
	struct task *task = desk->ready;

	if (task) {
		desk->ready = task->next;
	} else if (may_begin(desk)) {
		request = &room.phases[room.phase]
				   .requests[desk->next_request];
		desk->next_request += room.desk_count;
		desk->in_flight++;
	}
	pthread_mutex_unlock(&room.lock);
	return request ? new_task(desk, request) : task;
}

/* What the coroutine waited for becomes the values that its yield returns. */
static void push_answer(struct task *task)
{
	if (task->job == JOB_INDEX)
		lua_pushinteger(task->co, (lua_Integer)task->words);
	else if (task->job == JOB_RANK)
		push_hits(task->co, &task->heap);
	else
		return;
	task->arguments = 1;
}

/* The job that a coroutine's yield asked for: yield(kind, argument). */
static void read_job(struct task *task, int values)
{
	const char *kind = lua_tostring(task->co, -values);
	const char *argument = lua_tostring(task->co, -1);

	task->job = kind && strcmp(kind, "rank") == 0 ? JOB_RANK :
		    JOB_INDEX;
	snprintf(task->query, sizeof(task->query), "%s",
		 argument ? argument : "");
	lua_pop(task->co, values);
}

static void end_task(struct task *task, int status)
{
	const char *answer = lua_tostring(task->co, -1);

	TALLY(moved, (task->ran_on & (task->ran_on - 1)) != 0);
	TALLY(failed, status != LUA_OK);
	free(task->request->answer);
	task->request->answer = answer ? strdup(answer) : NULL;
	luaL_unref(task->desk->L, LUA_REGISTRYINDEX, task->ref);
	pthread_mutex_lock(&room.lock);
	task->desk->in_flight--;
	if (--room.open_requests == 0) {
		room.phase++;
		begin_phase();
	}
	pthread_mutex_unlock(&room.lock);
	free(task);
}

static void resume_task(struct task *task, unsigned worker)
{
	int values = 0;

	COUNT(resume_task);
	push_answer(task);
	task->ran_on |= 1u << worker;
	TALLY(resumes, 1);
	const int status = lua_resume(task->co, task->desk->L,
				      task->arguments, &values);

	if (status != LUA_YIELD) {
		end_task(task, status);
		return;
	}
	read_job(task, values);
	pthread_mutex_lock(&room.lock);
	task->next = room.jobs;
	room.jobs = task;
	pthread_cond_signal(&room.changed);
	pthread_mutex_unlock(&room.lock);
}

/* One turn: one coroutine of the desk goes on, and the desk goes to the end of
 * the queue. */
static void run_desk(struct desk *desk, unsigned worker)
{
	struct task *task = next_task(desk);

	if (task)
		resume_task(task, worker);
	pthread_mutex_lock(&room.lock);
	desk->queued = false;
	if (desk->ready || may_begin(desk))
		queue_desk(desk);
	pthread_mutex_unlock(&room.lock);
}

static void *worker_main(void *arg)
{
	const unsigned worker = (unsigned)(uintptr_t)arg;
	struct desk *desk;
	struct task *job;
	char name[16];

	snprintf(name, sizeof(name), "worker-%u", worker + 1);
	pthread_setname_np(pthread_self(), name);
	while ((job = take(&desk)) != NULL || desk)
		if (job)
			run_job(job);
		else
			run_desk(desk, worker);
	account_add();
	return NULL;
}

static int open_desk(struct desk *desk, const char *handlers)
{
	desk->L = luaL_newstate();
	if (!desk->L)
		return -1;
	luaL_openlibs(desk->L);
	api_open(desk->L);
	if (luaL_dofile(desk->L, handlers) == LUA_OK)
		return 0;
	fprintf(stderr, "%s\n", lua_tostring(desk->L, -1));
	return -1;
}

static int run_workers(unsigned count)
{
	pthread_t workers[WORKERS_MAX];
	unsigned started = 0;

	for (; started < count; started++)
		if (pthread_create(&workers[started], NULL, worker_main,
				   (void *)(uintptr_t)started) != 0)
			break;
	for (unsigned i = 0; i < started; i++)
		pthread_join(workers[i], NULL);
	return started == 0 ? -1 : 0;
}

int desk_run(const struct plan *plan, struct phase *phases, size_t count)
{
	int result = 0;

	room.phases = phases;
	room.phase_count = count;
	room.last = &room.first;
	room.desk_count = plan->desks < DESKS_MAX ? plan->desks : DESKS_MAX;
	for (unsigned i = 0; i < room.desk_count && result == 0; i++)
		result = open_desk(&room.desks[i], plan->handlers);
	if (result == 0) {
		begin_phase();
		result = run_workers(plan->workers < WORKERS_MAX ?
				     plan->workers : WORKERS_MAX);
	}
	for (unsigned i = 0; i < room.desk_count; i++) {
		if (!room.desks[i].L)
			continue;
		if (result == 0)
			account_add_lua(room.desks[i].L);
		lua_close(room.desks[i].L);
	}
	return result;
}
