/* start.c - sets a recording up: trace directory, pool, program (waiting),
 * LTTng, spill file; in the order that lets the program inherit nothing.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/recording.h"
#include "tracer/recorder/daemon.h"
#include "tracer/recorder/diagnose.h"
#include "tracer/recorder/image.h"
#include "tracer/recorder/provider.h"
#include "tracer/recorder/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { CANNOT_RECORD = 2, NOT_FOUND = 127, FILES = 4096 };

static uint64_t free_shm(void)
{
	struct statvfs fs;

	if (statvfs(ARENA_FOLDER, &fs) != 0)
		return 0;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* Decide about LTTng and, if it is to be, let the keeper begin. The rings'
 * whole size; 0: without LTTng. */
static uint64_t plan_lttng(struct recording *r)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t random = 0;

	r->keeper.socket = r->keeper.daemon = r->keeper.consumer = -1;
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = (uint64_t)getpid();
	snprintf(r->plan.session, sizeof(r->plan.session),
		 "weft-%d-%08" PRIx32, (int)getpid(), (uint32_t)random);
	snprintf(r->plan.output, sizeof(r->plan.output), "%.*s/ctf",
		 PATH_MAX - 8, r->folder.absolute);
	r->plan.pid = getpid();
	const uint64_t rings = channel_fit(&r->plan, free_shm(),
					   cpus > 0 ? (uint32_t)cpus : 1);

	if (rings == 0) {
		say_trouble(ARENA_FOLDER " is too small for LTTng's rings; "
			    "recording goes to spill.weft");
		return 0;
	}
	r->home = daemon_home();
	return keeper_start(&r->keeper, &r->plan, r->home) == 0 ? rings : 0;
}

/* Wait for the session and open the provider. Negative: without LTTng. */
static int join_lttng(struct recording *r)
{
	if (r->keeper.socket < 0 || keeper_wait_open(&r->keeper) != 0)
		return -1;
	if (r->home)
		setenv("LTTNG_HOME", r->home, 1);
	return provider_open(r->preload.provider);
}

static int open_spill(struct recording *r)
{
	struct meta m;

	meta_begin(&m, deliver_room(&r->deliver), r->arena.recording, META_END,
		   &r->rate);
	((struct chunk_header *)m.words)->flags |= CHUNK_PARTIAL;
	meta_pad(&m, SPILL_RESERVE_WORDS);
	meta_end(&m);
	if (spill_open(&r->deliver.spill, r->folder.fd, m.words) == 0)
		return 0;
	say("cannot write to \"%s\": %s", r->folder.path, strerror(errno));
	return -1;
}

static void note_command(struct meta *m, char *const *argv)
{
	char text[2048] = "";
	size_t n = 0;

	for (; *argv && n < sizeof(text); argv++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				      n > 0 ? " " : "", *argv);
	meta_note(m, "command", text);
}

static void note_labels(struct meta *m, const struct options *o)
{
	char key[256];

	for (int i = 0; i < o->labels; i++) {
		const size_t n = strcspn(o->label[i], "=");

		snprintf(key, sizeof(key), "%.*s", (int)n, o->label[i]);
		meta_label(m, key, o->label[i] + n + 1);
	}
}

static void send_start_notes(struct recording *r)
{
	struct meta m;
	struct utsname host;
	char cwd[PATH_MAX];

	meta_begin(&m, deliver_room(&r->deliver), r->arena.recording,
		   META_START, &r->rate);
	const struct chunk_header *const h = (const void *)m.words;

	note_command(&m, r->opt.program);
	meta_note(&m, "program", r->program_path);
	if (uname(&host) == 0) {
		meta_note(&m, "host", host.nodename);
		meta_print(&m, "system", "%s %s %s", host.sysname,
			   host.release, host.machine);
	}
	meta_note(&m, "weft", "0.1.0");
	meta_print(&m, "start", "%" PRIu64, h->pair_real);
	meta_note(&m, "cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "");
	meta_print(&m, "pool.bytes", "%" PRIu64, r->arena.size);
	meta_print(&m, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	meta_note(&m, "clock", r->rate.tsc ? "tsc" : "monotonic");
	meta_note(&m, "carrier", r->deliver.lttng ? "lttng" : "spill");
	note_labels(&m, &r->opt);
	deliver_send(&r->deliver, meta_end(&m));
}

static int find_program(struct recording *r, int *status)
{
	const char *const name = r->opt.program[0];

	if (image_search(name, r->program_path)) {
		r->outlook = diagnose_before(r->program_path);
		return 0;
	}
	say("there is no program \"%s\"", name);
	*status = NOT_FOUND;
	return -1;
}

/* Watching threads takes a descriptor each. Not before the program is forked:
 * the limit is its own. */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool needs_asan(const char *path)
{
	struct image image;

	if (image_read(path, &image) != 0)
		return false;
	for (int i = 0; i < image.needed_n; i++)
		if (strncmp(image.needed[i], "libasan.so", 10) == 0)
			return true;
	return false;
}

static int make_parts(struct recording *r)
{
	const struct arena_wish wish = {
		.bytes = r->opt.pool_bytes,
		.on_full = r->opt.on_full,
		.paused = r->opt.paused,
		.lua = !r->opt.no_lua,
		.native = !r->opt.no_native,
		.tsc = r->rate.tsc,
	};

	if (arena_create(&r->arena, &wish) != 0)
		return -1;
	/* LTTng's rings are measured by what is free once the pool is. */
	if (arena_populate(&r->arena) == 0)
		return -1;
	const uint64_t rings = plan_lttng(r);

	if (deliver_init(&r->deliver, rings) != 0 ||
	    slots_init(&r->slots, &r->arena) != 0 ||
	    drain_init(&r->drain, &r->arena, &r->slots, &r->deliver,
		       &r->rate) != 0) {
		say("no memory");
		return -1;
	}
	if (folder_put(&r->folder, "pool", r->arena.path) != 0 ||
	    open_spill(r) != 0)
		return -1;
	if (r->opt.archive) {
		if (archive_init(&r->archive, r->folder.fd) != 0)
			return -1;
		r->deliver.archive = &r->archive;
	}
	const struct surround surround = {
		.preload = r->outlook == OUTLOOK_NO_PRELOAD ? NULL :
			   r->preload.value,
		.trace = r->folder.absolute,
		.modules = r->opt.lua_init ? r->preload.modules : NULL,
		.is_asan = needs_asan(r->program_path),
	};

	if (program_fork(&r->program, r->opt.program, &r->arena,
			 &surround) != 0)
		return -1;
	allow_files();
	return 0;
}

static void undo(struct recording *r)
{
	program_cancel(&r->program);
	if (r->keeper.socket >= 0)
		keeper_close(&r->keeper, r->plan.output, 1000);
	spill_discard(&r->deliver.spill);
	arena_remove(&r->arena);
	folder_remove(&r->folder);
	preload_clean(&r->preload);
}

int start_recording(struct recording *r, int *status)
{
	*status = CANNOT_RECORD;
	r->arena.fd = r->deliver.spill.fd = -1;
	r->program.go = r->keeper.socket = -1;
	if (find_program(r, status) != 0 || preload_find(&r->preload) != 0)
		return -1;
	rate_start(&r->rate, rate_tsc_usable());
	if (folder_make(&r->folder, r->opt.output, r->opt.program[0]) != 0) {
		preload_clean(&r->preload);
		return -1;
	}
	if (program_take_signals(&r->program) != 0 || make_parts(r) != 0) {
		undo(r);
		return -1;
	}
	if (r->deliver.lttng && join_lttng(r) != 0)
		r->deliver.lttng = false;
	rate_update(&r->rate, r->arena.pool);
	send_start_notes(r);
	r->begin_ns = rate_mono();
	if (program_go(&r->program, r->opt.program[0], status) != 0) {
		undo(r);
		return -1;
	}
	return 0;
}
