/* load_moments.c - one replay for two collectors.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/load_moments.h"

#include "analyzer/base/mem.h"
#include "analyzer/replay/tee.h"

#include <string.h>

enum { SLOW_CALLS = 1000 };

static void resume(void *ctx, const struct replay_event *e)
{
	resumes_add(ctx, e);
}

int load_moments_init(struct load_moments *m, struct load *load)
{
	static const struct replay_sink resumes_sink = { .resume = resume };
	struct tee tee = { .count = 0 };
	const size_t funcs = func_count(load->session->funcs) + 1;

	*m = (struct load_moments){ NULL, NULL, NULL };
	if (load->is_profile || load->is_part)
		return 0;
	m->wanted = mem_alloc(funcs);
	memset(m->wanted, 1, funcs);
	m->slow = slow_new(&(struct slow_options){
		.wanted = m->wanted, .funcs = funcs, .key = SLOW_SELF,
		.top = SLOW_CALLS });
	m->resumes = resumes_new();
	tee_add(&tee, &slow_sink, m->slow);
	tee_add(&tee, &resumes_sink, m->resumes);
	if (load_again(load, &tee_sink, &tee) != 0)
		return -1;
	slow_finish(m->slow);
	return 0;
}

void load_moments_fini(struct load_moments *m)
{
	slow_free(m->slow);
	resumes_free(m->resumes);
	mem_free(m->wanted);
}
