/* reference.c - counts samples by place. Rings of several CPUs are put in the
 * order of time first: a library is mapped on one, and sampled on another.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/reference/reference.h"
#include "tracer/recorder/base/grow.h"
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/rate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	IMAGES_MAX = 4096,         /* processes that are known at a time */
	PLACES_MOST = 3 << 14,     /* others are lost */
	MODULES_MAX = 1024,
	PAIRS_MOST = 1024,         /* in an item */
	LATE_NS = 1000000,         /* what is older is in its ring */
};

/* ---- modules and places ---- */

/* 0: there is no room. */
static uint32_t module_of(struct reference *f, const struct code_range *r)
{
	struct reference_module *m;

	for (uint32_t i = 0; i < f->modules; i++) {
		m = &f->module[i];
		if (strcmp(m->path, r->path) == 0 &&
		    m->build.size == r->build.size &&
		    memcmp(m->build.id, r->build.id, r->build.size) == 0)
			return i + 1;
	}
	if (f->modules == MODULES_MAX)
		return 0;
	if (!f->module)
		f->module = calloc(MODULES_MAX, sizeof(*f->module));
	if (!f->module)
		return 0;
	m = &f->module[f->modules];
	m->build = r->build;
	m->path = strdup(r->path);
	return m->path ? ++f->modules : 0;
}

static void count(struct reference *f, uint32_t module, uint64_t offset)
{
	const uint64_t hash =
		name_set_mix(name_set_mix(0, module), offset);
	uint32_t at;

	if (!f->place)
		f->place = calloc(PLACES_MOST, sizeof(*f->place));
	if (f->places == 0)
		name_set_init(&f->by_place, PLACES_MOST);
	at = name_set_find(&f->by_place, hash);
	if (!at && f->place &&
	    name_set_put(&f->by_place, hash, f->places + 1)) {
		at = ++f->places;
		f->place[at - 1] = (struct reference_place){ offset, module,
							     0 };
	}
	if (!at) {
		f->lost++;
		return;
	}
	f->place[at - 1].count++;
	f->samples++;
	f->all++;
}

/* ---- images ---- */

static struct code_map *find_image(struct reference *f, uint32_t pid)
{
	for (uint32_t i = f->images; i-- > 0; )
		if (f->image[i].pid == pid)
			return &f->image[i];
	return NULL;
}

/* An empty one. If there are too many, the oldest goes. NULL: no memory. */
static struct code_map *new_image(struct reference *f, uint32_t pid)
{
	struct code_map *image = find_image(f, pid);

	if (!f->image)
		f->image = calloc(IMAGES_MAX, sizeof(*f->image));
	if (!f->image)
		return NULL;
	if (!image && f->images == IMAGES_MAX) {
		code_map_free(&f->image[0]);
		memmove(&f->image[0], &f->image[1],
			--f->images * sizeof(*f->image));
	}
	if (!image)
		image = &f->image[f->images++];
	else
		code_map_free(image);
	*image = (struct code_map){ .pid = pid };
	return image;
}

/* One that ran before it was sampled is read. */
static struct code_map *image_of(struct reference *f, uint32_t pid)
{
	struct code_map *image = find_image(f, pid);

	if (!image && (image = new_image(f, pid)))
		code_map_read(image);
	return image;
}

static void on_mapped(struct reference *f, const struct sampler_event *e)
{
	struct code_map *const image = image_of(f, e->pid);
	const struct code_range r = {
		.start = e->start, .end = e->start + e->size,
		.offset = e->offset,
		/* What is no path is as [vdso] and //anon. */
		.path = e->path && e->path[0] == '/' && e->path[1] != '/' ?
			strdup(e->path) : NULL
	};

	if (!image || e->size == 0 || r.end < r.start ||
	    !code_map_put(image, &r))
		free(r.path);
}

static void on_sample(struct reference *f, const struct sampler_event *e)
{
	struct code_map *const image = e->address == 0 ? NULL :
				       image_of(f, e->pid);
	const struct code_range *const r = image ?
		code_map_find(image, e->address) : NULL;
	const uint32_t module = r && r->path ? module_of(f, r) : 0;

	if (module > 0)
		count(f, module, e->address - r->bias);
	else
		count(f, 0, e->address != 0);
}

static void take(struct reference *f, const struct sampler_event *e)
{
	struct code_map *parent, *image;

	switch (e->kind) {
	case SAMPLER_SAMPLE:
		on_sample(f, e);
		break;
	case SAMPLER_MAPPED:
		on_mapped(f, e);
		break;
	case SAMPLER_FORKED:
		/* A new image may move the others. */
		image = new_image(f, e->pid);
		parent = find_image(f, e->parent);
		if (image && parent)
			code_map_copy(image, parent);
		break;
	case SAMPLER_IMAGE:
		new_image(f, e->pid);
		break;
	case SAMPLER_LOST:
		f->lost += e->lost;
		break;
	}
}

/* ---- events ---- */

/* A sampler_fn. */
static void hold(void *ctx, const struct sampler_event *e)
{
	struct reference *const f = ctx;

	if (!grow(&f->held, &f->room, f->helds + 1, sizeof(*f->held))) {
		f->lost += e->kind == SAMPLER_SAMPLE;
		return;
	}
	f->held[f->helds++] = *e;
}

static int by_time(const void *a, const void *b)
{
	const struct sampler_event *const x = a, *const y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static void forget(struct sampler_event *e)
{
	if (e->kind == SAMPLER_MAPPED)
		free(e->path);
}

/* Those until then count. */
static void take_until(struct reference *f, uint64_t time)
{
	size_t n = 0;

	qsort(f->held, f->helds, sizeof(*f->held), by_time);
	for (; n < f->helds && f->held[n].time <= time; n++) {
		take(f, &f->held[n]);
		forget(&f->held[n]);
	}
	f->helds -= n;
	memmove(f->held, f->held + n, f->helds * sizeof(*f->held));
}

int reference_begin(struct reference *f, const pid_t *pid, size_t n,
		    bool from_exec)
{
	int error = ESRCH;

	for (size_t i = 0; i < n; i++) {
		const int e = from_exec ?
			-sampler_add(&f->sampler, pid[i], f->period, true) :
			-sampler_add_process(&f->sampler, pid[i], f->period);

		if (e == 0 || error == ESRCH)
			error = e;
	}
	f->is_on = error == 0;
	f->confirmed = rate_mono();
	f->why = error == ESRCH ? f->why : error;
	if (!f->is_on)
		sampler_end(&f->sampler);
	return error;
}

void reference_poll(struct reference *f)
{
	const uint64_t now = rate_mono();

	if (!f->is_on)
		return;
	sampler_read(&f->sampler, hold, f);
	take_until(f, f->confirmed - LATE_NS);
	f->confirmed = now;
}

void reference_end(struct reference *f)
{
	if (!f->is_on)
		return;
	sampler_read(&f->sampler, hold, f);
	take_until(f, f->confirmed);
	for (size_t i = 0; i < f->helds; i++)
		forget(&f->held[i]);
	f->helds = 0;
	/* What is mapped may change until the next time. */
	while (f->images > 0)
		code_map_free(&f->image[--f->images]);
	sampler_end(&f->sampler);
	f->is_on = false;
}

/* ---- what it came to ---- */

bool reference_text(const struct reference *f, char text[REFERENCE_TEXT])
{
	static const char *const of[] = {
		[REFERENCE_RUN] = "a run before",
		[REFERENCE_ONLY] = "all of it",
		[REFERENCE_OFF] = "while recording was off"
	};
	char samples[64];

	if (f->all == 0)
		return false;
	amount_many(samples, sizeof(samples), f->all, "samples");
	snprintf(text, REFERENCE_TEXT, "%s, %.3f s of CPU time (%s)", samples,
		 (double)f->all * (double)reference_unit(f) / 1e9, of[f->kind]);
	return true;
}

/* ---- items ---- */

static int by_module(const void *a, const void *b)
{
	const struct reference_place *const x = a, *const y = b;

	return x->module != y->module ? (x->module < y->module ? -1 : 1) :
	       x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* An item of places in one module. Returns how many. */
static uint32_t fill_item(struct reference *f, const struct reference_place *p,
			  uint32_t n, uint64_t *item)
{
	uint32_t i = 0;

	for (; i < n && i < PAIRS_MOST && p[i].module == p->module; i++) {
		item[REFERENCE_HEAD + 2 * i] = p->module == 0 ?
			dict_put_code(p[i].offset) :
			dict_put_native(p->module, p[i].offset);
		item[REFERENCE_HEAD + 2 * i + 1] = p[i].count;
	}
	item[0] = item_put(ITEM_REFERENCE, REFERENCE_HEAD + 2 * i);
	item[1] = f->kind;
	item[2] = reference_unit(f);
	item[3] = f->lost;
	f->lost = 0;
	return i;
}

static void write_module(const struct reference *f, uint32_t number,
			 reference_write_fn *write, void *ctx)
{
	uint64_t item[8 + 2 + CHUNK_STRING_MAX / 8];
	const struct reference_module *const m = &f->module[number - 1];
	const size_t length = strlen(m->path);

	item_put_module(item, number, MODULE_NOWHERE, 0, m->build.id,
			(uint8_t)m->build.size, m->path, length);
	/* A chunk that was full is a new one now. */
	if (!write(ctx, item, item_module_words(length)))
		write(ctx, item, item_module_words(length));
}

void reference_take(struct reference *f, reference_write_fn *write, void *ctx)
{
	static uint64_t item[REFERENCE_HEAD + 2 * PAIRS_MOST];
	uint32_t named = 0;

	if (f->samples + f->lost == 0 || !f->place)
		return;
	qsort(f->place, f->places, sizeof(*f->place), by_module);
	for (uint32_t i = 0; i < f->places; ) {
		const struct reference_place *const p = &f->place[i];
		const uint32_t n = fill_item(f, p, f->places - i, item);

		if (p->module != 0 && p->module != named)
			write_module(f, p->module, write, ctx);
		named = p->module;
		if (!write(ctx, item, REFERENCE_HEAD + 2 * n)) {
			if (p->module != 0)
				write_module(f, p->module, write, ctx);
			write(ctx, item, REFERENCE_HEAD + 2 * n);
		}
		i += n;
	}
	f->places = 0;
	f->samples = 0;
}
