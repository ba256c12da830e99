/* preload.c - finds libweft.so and names it so that the loader understands.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/preload.h"
#include "tracer/recorder/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PREFIX/libexec/weft/weft-record -> PREFIX */
static int find_prefix(char *out, size_t room)
{
	const ssize_t n = readlink("/proc/self/exe", out, room - 1);

	if (n <= 0)
		return -1;
	out[n] = '\0';
	for (int up = 0; up < 3; up++) {
		char *const slash = strrchr(out, '/');

		if (!slash)
			return -1;
		*slash = '\0';
	}
	return 0;
}

/* The loader takes blanks and colons for separators. */
static int link_to(struct preload *p, const char *library, char *out,
		   size_t room)
{
	snprintf(p->private, sizeof(p->private), "/tmp/weft-XXXXXX");
	if (!mkdtemp(p->private)) {
		p->private[0] = '\0';
		return -1;
	}
	snprintf(out, room, "%s/libweft.so", p->private);
	return symlink(library, out);
}

int preload_find(struct preload *p)
{
	char prefix[PATH_MAX - 64], library[PATH_MAX];
	const char *const others = getenv("LD_PRELOAD");

	memset(p, 0, sizeof(*p));
	if (find_prefix(prefix, sizeof(prefix)) != 0) {
		say("cannot find out where weft is installed: %s",
		    strerror(errno));
		return -1;
	}
	snprintf(library, sizeof(library), "%s/lib/libweft.so", prefix);
	snprintf(p->provider, sizeof(p->provider),
		 "%s/lib/weft/weft-provider.so", prefix);
	snprintf(p->modules, sizeof(p->modules), "%s/lib/lua", prefix);
	if (access(library, R_OK) != 0) {
		say("cannot read \"%s\": %s", library, strerror(errno));
		return -1;
	}
	if (strpbrk(library, " \t\n:")) {
		char target[PATH_MAX];

		memcpy(target, library, sizeof(target));
		if (link_to(p, target, library, sizeof(library)) != 0) {
			say("cannot make a link to \"%s\": %s", target,
			    strerror(errno));
			return -1;
		}
	}
	snprintf(p->value, sizeof(p->value), "%s%s%s", library,
		 others && *others ? ":" : "", others ? others : "");
	return 0;
}

void preload_clean(struct preload *p)
{
	char path[64];

	if (p->private[0] == '\0')
		return;
	snprintf(path, sizeof(path), "%s/libweft.so", p->private);
	unlink(path);
	rmdir(p->private);
	p->private[0] = '\0';
}
