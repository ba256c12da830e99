/* book.c - the account: the stitched stack of every thread as the program
 * itself knows it, and how often each stack was called.
 * Knows nothing of hooks. Compiled without instrumentation.
 * SPDX-License-Identifier: MIT */
#include "woven.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	enum func func;
	unsigned long calls, ticks;
	bool ticks_unknown;
	struct node *child, *next;
};

struct frame {
	enum func func;
	struct node *node;
};

struct seg {
	struct frame *frames;
	int depth, room;
	struct coro *coro;      /* NULL: the thread's own */
	bool on_thread;
	struct frame body;      /* if on_body: replaced by a tail call, stays */
	bool on_body, is_tail;  /* is_tail: what replaces it comes next */
};

struct coro {
	struct seg seg;
	lua_State *state;
	enum func body;
	bool finished;
	int resumes, moves, last_thread;
	struct seg *inner[64];  /* a fiber's: what stood on it when it went */
	int inner_count;
	struct coro *next;      /* of all, newest first */
	struct coro *older;     /* same bucket */
};

struct snapshot {
	int k, n;
	enum func *path;
};

enum { SEGS = 64, BUCKETS = 1024 };

struct account {
	int thread, tid;        /* tid: the one that walks it */
	struct seg own;
	struct seg *segs[SEGS];
	int count;
	struct node root;
	struct snapshot snaps[SNAPS];
	int snap_count;
};

const char *const func_names[F_END] = {
	[F_none] = "nothing",
#define X(name) [F_##name] = #name,
	FUNC_LIST(X)
#undef X
};

static const char *const construct_names[C_END] = {
#define X(name) #name,
	CONSTRUCT_LIST(X)
#undef X
};

static pthread_mutex_t coro_lock = PTHREAD_MUTEX_INITIALIZER;
static struct coro *coros, *buckets[BUCKETS];

void book_die(const char *what)
{
	fprintf(stderr, "woven: the account itself is wrong: %s\n", what);
	abort();
}

static void *must(void *p)
{
	if (!p)
		book_die("out of memory");
	return p;
}

struct account *book_new(int thread)
{
	struct account *a = must(calloc(1, sizeof(*a)));

	a->thread = thread;
	a->segs[a->count++] = &a->own;
	a->own.on_thread = true;
	return a;
}

static struct node *child_of(struct node *n, enum func f)
{
	struct node **at = &n->child, *c;

	while ((c = *at) && c->func != f)
		at = &c->next;
	if (c) {
		*at = c->next;
	} else {
		c = must(calloc(1, sizeof(*c)));
		c->func = f;
	}
	c->next = n->child;
	n->child = c;
	return c;
}

/* WOVEN_DEPTH: of each stack of its own, so many calls are in the account.
 * Those above have the node of the last one. */
static int most = INT_MAX;

__attribute__((constructor)) static void read_depth(void)
{
	const char *const depth = getenv("WOVEN_DEPTH");

	if (depth)
		most = atoi(depth);
}

/* The node of the innermost frame of all segments below number i. */
static struct node *node_below(struct account *a, int i)
{
	while (i-- > 0) {
		const struct seg *s = a->segs[i];

		if (s->depth > 0)
			return s->frames[s->depth - 1].node;
		if (s->on_body)
			return s->body.node;
	}
	return &a->root;
}

void book_begin(struct walk *w)
{
	w->own = &w->account->own;
	w->thread = w;
	w->account->tid = (int)gettid();
}

void book_enter(struct walk *w, enum func f)
{
	struct account *a = w->account;
	struct seg *s = a->segs[a->count - 1];
	struct node *n;

	s->on_body &= s->is_tail || s->depth > 0;
	s->is_tail = false;
	n = node_below(a, a->count);
	if (s->depth < most) {
		n = child_of(n, f);
		n->calls++;
	}
	if (s->depth == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->frames = must(realloc(s->frames, (size_t)s->room *
					 sizeof(*s->frames)));
	}
	s->frames[s->depth++] = (struct frame){ f, n };
}

static void write_func(enum func f, FILE *out)
{
	if (f >= F_snap0)
		fprintf(out, "snap_%02x", f - F_snap0);
	else if (f >= F_lua0)
		fprintf(out, "f_%d", f - F_lua0);
	else
		fprintf(out, "%s", func_names[f]);
}

void book_leave(struct walk *w, enum func f)
{
	struct account *a = w->account;
	struct seg *s = a->segs[a->count - 1];

	if (s->depth == 0 || book_top(w) != f) {
		fputs("leave ", stderr);
		write_func(f, stderr);
		fputs(", but open is ", stderr);
		write_func(book_top(w), stderr);
		fputc('\n', stderr);
		book_die("a function ends that is not innermost");
	}
	s->depth--;
}

/* The innermost function is replaced by the one that is entered next. */
void book_tail(struct walk *w)
{
	struct seg *s = w->account->segs[w->account->count - 1];

	if (s->coro && s->depth == 1) {
		if (!s->on_body)
			s->body = s->frames[0];
		s->on_body = s->is_tail = true;
	}
	book_leave(w, book_top(w));
}

void book_leaf(struct walk *w, enum func f)
{
	book_enter(w, f);
	book_leave(w, f);
}

struct mark book_mark(const struct walk *w)
{
	const struct account *a = w->account;
	struct seg *s = a->segs[a->count - 1];

	return (struct mark){ s, s->depth };
}

bool book_cut(struct walk *w, struct mark m)
{
	struct account *a = w->account;
	bool died = false;

	while (a->count > 0 && a->segs[a->count - 1] != m.seg) {
		struct seg *s = a->segs[--a->count];

		if (!s->coro)
			book_die("a catcher's stack is not on its thread");
		s->on_thread = false;
		s->coro->finished = true;
		died |= s->depth > 0;
		w->skipped += (unsigned long)s->depth;
		s->depth = 0;
		s->on_body = false;
	}
	if (a->count == 0 || m.depth > m.seg->depth)
		book_die("a catcher's frame is gone");
	died |= m.seg->depth > m.depth;
	w->skipped += (unsigned long)(m.seg->depth - m.depth);
	m.seg->depth = m.depth;
	return died;
}

/* The function called there has returned; who stood on it had no chance. */
void book_return(struct walk *w, struct mark m)
{
	m.depth++;
	book_cut(w, m);
	m.seg->depth--;
}

/* Where to count what a signal handler does on the innermost call. */
unsigned long *book_place(const struct walk *w)
{
	enum { ABOVE = 3 }; /* s_out, s_in and the handler */
	static __thread unsigned long unknown;
	const struct account *a = w->account;
	struct node *const n = node_below((struct account *)a, a->count);

	if (book_depth(w) <= most - ABOVE)
		return &n->ticks;
	n->ticks_unknown = true;
	return &unknown;
}

int book_depth(const struct walk *w)
{
	return w->account->segs[w->account->count - 1]->depth;
}

int book_open(const struct walk *w)
{
	int sum = 0;

	for (int i = 0; i < w->account->count; i++)
		sum += w->account->segs[i]->depth;
	return sum;
}

int book_segments(const struct walk *w)
{
	return w->account->count;
}

enum func book_top(const struct walk *w)
{
	const struct account *a = w->account;
	const struct seg *s = a->segs[a->count - 1];

	return s->depth ? s->frames[s->depth - 1].func : F_none;
}

/* The whole stack of this moment. */
void book_snap(struct walk *w, int k)
{
	struct account *a = w->account;
	struct snapshot *s = &a->snaps[a->snap_count++];

	s->k = k;
	s->path = must(calloc((size_t)(book_open(w) + a->count) + 1,
			      sizeof(*s->path)));
	for (int i = 0; i < a->count; i++) {
		if (a->segs[i]->on_body)
			s->path[s->n++] = a->segs[i]->body.func;
		for (int j = 0; j < a->segs[i]->depth; j++)
			s->path[s->n++] = a->segs[i]->frames[j].func;
	}
}

static struct coro *new_coro(lua_State *co, enum func body)
{
	struct coro *c = must(calloc(1, sizeof(*c)));

	c->state = co;
	c->seg.coro = c;
	c->body = body;
	c->last_thread = -1;
	c->next = coros;
	coros = c;
	return c;
}

/* The account of a coroutine. Addresses are used again: is_new makes another
 * one at the same address. */
struct coro *book_coro(lua_State *co, bool is_new, enum func body)
{
	struct coro **bucket = &buckets[((uintptr_t)co >> 4) % BUCKETS];
	struct coro *c;

	pthread_mutex_lock(&coro_lock);
	for (c = *bucket; c && c->state != co; c = c->older)
		;
	if (is_new) {
		if (c)
			c->state = NULL;
		c = new_coro(co, body);
		c->older = *bucket;
		*bucket = c;
	}
	pthread_mutex_unlock(&coro_lock);
	if (!c)
		book_die("a coroutine that nobody made");
	return c;
}

/* It is on this thread now: does that differ from before? */
static bool moves(struct coro *c, int thread)
{
	const bool is_new = c->last_thread >= 0 && c->last_thread != thread;

	c->moves += is_new;
	c->last_thread = thread;
	return is_new;
}

/* Its frames come to stand on top of what is open. */
static void put_on(struct account *a, struct coro *c)
{
	struct node *n = node_below(a, a->count);

	if (a->count == SEGS)
		book_die("too many coroutines at once");
	if (c->seg.on_body)
		n = c->seg.body.node = child_of(n, c->seg.body.func);
	for (int i = 0; i < c->seg.depth; i++) {
		if (i < most)
			n = child_of(n, c->seg.frames[i].func);
		c->seg.frames[i].node = n;
	}
	c->seg.on_thread = true;
	a->segs[a->count++] = &c->seg;
}

/* Its frames come to stand on top of whoever resumes it. */
void book_resume(struct walk *w, lua_State *co)
{
	struct account *a = w->account;
	struct coro *c = book_coro(co, false, F_none);

	if (c->finished || c->seg.on_thread)
		book_die("a coroutine is resumed that cannot be");
	if (moves(c, a->thread))
		w->seen[C_moved]++;
	c->resumes++;
	put_on(a, c);
}

/* ------------------------------------------------------------- fibers */

struct coro *book_fiber(enum func body)
{
	struct coro *c;

	pthread_mutex_lock(&coro_lock);
	c = new_coro(NULL, body);
	pthread_mutex_unlock(&coro_lock);
	return c;
}

/* With all that stood on it: those coroutines are not resumed, they run on. */
bool book_fiber_on(struct walk *w, struct coro *c)
{
	struct account *a = w->account;
	const bool moved = moves(c, a->thread);

	w->own = &c->seg;
	c->resumes++;
	put_on(a, c);
	for (int i = 0; i < c->inner_count; i++) {
		moves(c->inner[i]->coro, a->thread);
		put_on(a, c->inner[i]->coro);
	}
	return moved;
}

int book_place_of(const struct walk *w, const struct coro *c)
{
	const struct account *a = w->account;
	int i = a->count - 1;

	while (i >= 0 && a->segs[i] != &c->seg)
		i--;
	return i;
}

void book_fiber_off(struct walk *w, struct coro *c, bool is_over)
{
	struct account *a = w->account;
	const int at = book_place_of(w, c);

	if (at < 0)
		book_die("a fiber goes that is not there");
	c->inner_count = a->count - at - 1;
	for (int i = 0; i < c->inner_count; i++)
		c->inner[i] = a->segs[at + 1 + i];
	a->count = at;
	if (is_over && (c->inner_count > 0 || c->seg.depth > 0))
		book_die("a fiber ends with open calls");
	c->finished = is_over;
}

/* The running coroutine goes off its thread; it keeps this many frames, those
 * that are native die. keep < 0: all. */
void book_yield(struct walk *w, lua_State *co, int keep)
{
	struct account *a = w->account;
	struct seg *s = a->segs[a->count - 1];

	if (!s->coro || s->coro->state != co)
		book_die("a yield of a coroutine that does not run");
	if (keep >= 0) {
		w->skipped += (unsigned long)(s->depth - keep);
		s->depth = keep;
	}
	s->on_body &= s->depth > 0;
	s->on_thread = false;
	a->count--;
}

/* A catcher inside L's own stack: that is its coroutine's, or the thread's. */
struct mark book_state_mark(const struct walk *w, lua_State *L, int depth)
{
	if (L == w->vm->main)
		return (struct mark){ w->own, depth };
	return (struct mark){ &book_coro(L, false, F_none)->seg, depth };
}

/* The innermost frame of L's own stack. */
struct mark book_state_top(const struct walk *w, lua_State *L)
{
	struct mark m = book_state_mark(w, L, 0);

	m.depth = m.seg->depth;
	return m;
}

bool book_is_suspended(lua_State *co)
{
	const struct coro *c = book_coro(co, false, F_none);

	return !c->finished && !c->seg.on_thread;
}

void book_finish(struct walk *w, lua_State *co)
{
	struct coro *c = book_coro(co, false, F_none);

	c->finished = true;
	w->skipped += (unsigned long)c->seg.depth;
	c->seg.depth = 0;
}

static void write_node(const struct node *n, int depth, FILE *out)
{
	for (; n; n = n->next) {
		fprintf(out, "node %d %lu ", depth, n->calls);
		write_func(n->func, out);
		fputc('\n', out);
		if (n->ticks_unknown)
			fprintf(out, "ticks -1000000000\n");
		if (n->ticks > 0)
			fprintf(out, "ticks %lu\n", n->ticks);
		write_node(n->child, depth + 1, out);
	}
}

void book_write(struct account *const *a, const struct walk *w, int n,
		FILE *out)
{
	for (int i = 1; i < F_lua0; i++)
		fprintf(out, "func %s\n", func_names[i]);
	for (int t = 0; t < n; t++) {
		/* A tail call of Lua's replaces its caller. */
		fprintf(out, "skipped %lu\n", w[t].skipped +
			w[t].seen[C_lua_tail_call]);
		fprintf(out, "thread %d %d\n", a[t]->thread, a[t]->tid);
		fprintf(out, "handler %lu %lu\n", w[t].ticks, w[t].helps);
		write_node(a[t]->root.child, 0, out);
		for (int i = 0; i < a[t]->snap_count; i++) {
			fprintf(out, "snap snap_%02x", a[t]->snaps[i].k);
			for (int j = 0; j < a[t]->snaps[i].n; j++) {
				fputc(' ', out);
				write_func(a[t]->snaps[i].path[j], out);
			}
			fputc('\n', out);
		}
	}
	for (const struct coro *c = coros; c; c = c->next) {
		fprintf(out, "coroutine %d %d ", c->resumes, c->moves);
		write_func(c->body, out);
		fputc('\n', out);
	}
	for (int i = 0; i < C_END; i++) {
		unsigned long sum = 0;

		for (int t = 0; t < n; t++)
			sum += w[t].seen[i];
		fprintf(out, "seen %s %lu\n", construct_names[i], sum);
	}
}
