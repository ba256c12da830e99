/* unseen.c - compares what Lua states count with the blocks that are seen.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/unseen.h"
#include "analyzer/base/mem.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_number.h"
#include "analyzer/replay/tee.h"

enum { SURE = 16 }; /* samples: fewer may be chance */

void unseen_init(struct unseen *u, const struct session *s)
{
	heap_init(&u->heap, s);
	vm_memory_init(&u->vms);
}

void unseen_fini(struct unseen *u)
{
	vm_memory_fini(&u->vms);
	heap_fini(&u->heap);
}

int unseen_read(struct unseen *u, struct load *load)
{
	struct tee tee = { .count = 0 };

	tee_add(&tee, &heap_sink, &u->heap);
	tee_add(&tee, &vm_memory_sink, &u->vms);
	return load_again(load, &tee.sink, &tee);
}

char *unseen_text(struct unseen *u, const struct session *s,
		  const struct heap_table *t, ticks from, ticks to)
{
	const double sure = 2 * t->most.bytes + SURE * (double)t->mean;
	char name[GROUP_NAME], bytes[OUT_NUMBER], *text = NULL;
	size_t count;
	struct vm_row *const rows = vm_memory_rows(&u->vms, s, from, to,
						   &count);

	if (count > 0 && (double)rows[0].most > sure) {
		group_name_vm(s, rows[0].vm, name);
		text = mem_print("memory of %s (%s, as Lua counts it) is not "
				 "seen, or not all: weft heap --by vm has it",
				 name, out_number_bytes(bytes, rows[0].most));
	}
	mem_free(rows);
	return text;
}
