/* provider.c - opens weft-provider.so and watches each of its calls: LTTng may
 * block for a bounded time, never for ever, and it says nothing when it drops.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/provider.h"
#include "tracer/recorder/rate.h"
#include "tracer/recorder/message.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 5000,            /* for the daemon to turn the event on */
	BLOCKED_NS = 950000000,    /* a call that took the full second */
};

static int (*is_on)(void);
static void (*fire)(const struct chunk_header *chunk, uint32_t words);

/* A function pointer from dlsym without a cast that ISO C forbids. */
static int find(void *object, const char *name, void *function)
{
	void *const symbol = dlsym(object, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol ? 0 : -1;
}

int provider_open(const char *path)
{
	/* Read by the constructor of liblttng-ust, so they must stand here
	 * before it is loaded. It waits until the daemon has started the
	 * session in this process: the tracepoint is on a little earlier, and
	 * what is fired between is dropped in silence. */
	setenv("LTTNG_UST_ALLOW_BLOCKING", "1", 1);
	setenv("LTTNG_UST_REGISTER_TIMEOUT", "5000", 1);
	setenv("LTTNG_UST_WITHOUT_BADDR_STATEDUMP", "1", 1);
	void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!object || find(object, "weft_provider_is_on", &is_on) != 0 ||
	    find(object, "weft_provider_fire", &fire) != 0) {
		say_trouble("cannot load LTTng-UST: %s", dlerror());
		is_on = NULL;
		return -1;
	}
	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (is_on())
			return 0;
		poll(NULL, 0, 1);
	}
	say_trouble("the LTTng session daemon did not turn recording on "
		    "within %d s", WAIT_MS / 1000);
	return -1;
}

bool provider_is_on(void)
{
	return is_on && is_on();
}

int provider_fire(const struct chunk_header *chunk, uint32_t words,
		  const char **why)
{
	if (!provider_is_on()) {
		*why = "the session daemon has gone";
		return -1;
	}
	const uint64_t before = rate_mono();

	fire(chunk, words);
	if (rate_mono() - before >= BLOCKED_NS) {
		*why = "LTTng did not take a chunk within a second (consumer "
		       "daemon dead, or disk full)";
		return -1;
	}
	if (!provider_is_on()) {
		*why = "the session daemon has gone";
		return -1;
	}
	return 0;
}
