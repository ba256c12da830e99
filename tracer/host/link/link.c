/* link.c - leading links, and putting them back. The former is done by a thread
 * that a recorder has stopped where locks may be taken; the latter by a hook,
 * which may take none.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/link/link.h"
#include "tracepoints/attach.h"
#include "tracer/host/base/kernel.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { TO_FUNCTION = R_X86_64_JUMP_SLOT, TO_ANY = R_X86_64_GLOB_DAT };
#else
enum { TO_FUNCTION = R_AARCH64_JUMP_SLOT, TO_ANY = R_AARCH64_GLOB_DAT };
#endif

enum { LINKS = 16384 };

/* Those that are led. */
struct link {
	uint64_t *word;
	uint64_t old, ours;
	/* Its module. Where that is gone, so is the word. */
	const struct link_map *map;
	/* What is read-only of it: page-aligned; the same: nothing. */
	uint64_t fixed, fixed_end;
	bool is_close;             /* of dlclose */
};

static struct link links[LINKS];
static uint32_t link_count;

/* 1: a thread leads or puts back; -n: so many threads are closing modules. */
static _Atomic int users;
static struct kernel_signals before_use;

/* No handler may jump out of it. */
static bool begin_use(void)
{
	const struct kernel_signals before = kernel_hold_signals();
	int none = 0;

	if (!atomic_compare_exchange_strong(&users, &none, 1)) {
		kernel_let_signals(before);
		return false;
	}
	before_use = before;
	return true;
}

static void end_use(void)
{
	const struct kernel_signals before = before_use;

	atomic_store(&users, 0);
	kernel_let_signals(before);
}

/* Where this thread's outermost dlclose is on the stack; 0: it is in none. A
 * handler may jump out of it. */
static THREAD_LOCAL uint64_t closing;

static void give_back(void)
{
	const struct kernel_signals before = kernel_hold_signals();
	int n = atomic_load(&users);

	while (n < 0 && !atomic_compare_exchange_weak(&users, &n, n + 1))
		;
	closing = 0;
	kernel_let_signals(before);
}

void link_jumped(uint64_t sp)
{
	if (closing != 0 && closing <= sp)
		give_back();
}

/* False: links are being led or put back. */
static bool begin_close(uint64_t sp)
{
	const struct kernel_signals before = kernel_hold_signals();
	int n = atomic_load(&users);
	bool begun;

	do
		begun = n <= 0 &&
			atomic_compare_exchange_strong(&users, &n, n - 1);
	while (!begun && n <= 0);
	if (begun)
		closing = sp;
	kernel_let_signals(before);
	return begun;
}

void link_close_begin(uint64_t sp)
{
	link_jumped(sp);
	while (closing == 0 && !begin_close(sp)) {
		if (!kernel_confined)
			sched_yield();
	}
}

void link_close_end(uint64_t sp)
{
	if (closing == sp)
		give_back();
}

/* What other threads were at is not done here. */
void link_forked(void)
{
	atomic_store(&users, closing != 0 ? -1 : 0);
}

/* ---- words ---- */

/* The read-only pages that are open at the moment; the same: none. */
struct opened {
	uint64_t from, to;
};

static void shut(struct opened *o)
{
	if (o->from < o->to)
		mprotect((void *)o->from, o->to - o->from, PROT_READ);
	o->from = o->to = 0;
}

/* False: it cannot be written. */
static bool set(struct opened *o, const struct link *l, uint64_t value)
{
	const uint64_t at = (uint64_t)l->word;

	if (at >= l->fixed && at < l->fixed_end &&
	    (at < o->from || at >= o->to)) {
		shut(o);
		if (mprotect((void *)l->fixed, l->fixed_end - l->fixed,
			     PROT_READ | PROT_WRITE) != 0)
			return false;
		o->from = l->fixed;
		o->to = l->fixed_end;
	}
	__atomic_store_n(l->word, value, __ATOMIC_RELEASE);
	return true;
}

/* ---- names: what this library has of that name ---- */

struct tables {
	const struct link_map *map;
	const ElfW(Sym) *symbols;
	const char *names;
	const uint32_t *hash;
	const ElfW(Rela) *relocs[2];
	uint64_t sizes[2];
	uint64_t bias, fixed, fixed_end;
	/* Its Lua, once that is known; NULL: none. */
	const struct link_map *lua;
	bool lua_known;
};

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The number of the symbol that t defines, 0: none. Its hash is the usual one:
 * count of buckets, first symbol, words of the filter, shift. */
static uint32_t find_symbol(const struct tables *t, const char *name)
{
	const uint32_t wanted = hash_of(name), *const h = t->hash;
	const uint64_t *const filter = (const uint64_t *)(h + 4);
	const uint32_t *const buckets = (const uint32_t *)(filter + h[2]);
	const uint32_t *const chains = buckets + h[0];
	const uint64_t both = UINT64_C(1) << wanted % 64 |
			      UINT64_C(1) << (wanted >> h[3]) % 64;
	uint32_t i;

	if ((filter[wanted / 64 % h[2]] & both) != both)
		return 0;
	i = buckets[wanted % h[0]];
	for (; i >= h[1]; i++) {
		const uint32_t c = chains[i - h[1]];

		if ((c | 1) == (wanted | 1) &&
		    strcmp(t->names + t->symbols[i].st_name, name) == 0)
			return i;
		if (c & 1)
			break;
	}
	return 0;
}

/* The number of our symbol of that name, 0: the link is to be left as it is. */
static uint32_t ours_of(const struct tables *ours, const char *name)
{
	return strncmp(name, "weft", 4) == 0 ? 0 : find_symbol(ours, name);
}

/* ---- what a link means ---- */

static const struct link_map *module_at(const void *address)
{
	struct dl_find_object o;

	return address && _dl_find_object((void *)(uintptr_t)address, &o) == 0 ?
	       o.dlfo_link_map : NULL;
}

/* What the program itself and those libraries see that are opened for all.
 * dlsym with RTLD_DEFAULT would keep the library that it finds for ever. */
static void *all;
static int (*real_close)(void *);

/* Where the module itself finds that name: there, or in its own libraries. */
static const struct link_map *found_by(const struct link_map *map,
				       const char *name, bool own_first)
{
	const struct link_map *const ours = module_at(links);
	const struct link_map *found[2];
	void *const own = map->l_name[0] == '\0' ? NULL :
			  dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);

	found[own_first] = module_at(dlsym(all, name));
	found[!own_first] = own ? module_at(dlsym(own, name)) : NULL;
	if (own)
		real_close(own);
	return found[0] && found[0] != ours ? found[0] : found[1];
}

/* The module whose function a link of this module leads to. A lazy one leads
 * back into the module until it is used. */
static const struct link_map *meaning(const struct tables *t, uint64_t word,
				      const ElfW(Sym) *symbol)
{
	const struct link_map *const map = module_at((const void *)word);

	return map == t->map && t->bias + symbol->st_value != word ?
	       found_by(map, t->names + symbol->st_name, false) : map;
}

/* Would it mean ours if this library came before all others but the program?
 * What any of them has of its own stays, but for Lua's functions: those of the
 * Lua that we go on to for this module are led, if it is a library. */
static bool may_lead(struct tables *t, uint64_t word, const ElfW(Sym) *symbol)
{
	const struct link_map *const map = meaning(t, word, symbol);

	if (strncmp(t->names + symbol->st_name, "lua", 3) != 0)
		return map == module_at((void *)(uintptr_t)dl_iterate_phdr);
	if (!t->lua_known)
		t->lua = found_by(t->map, "lua_sethook", true);
	t->lua_known = true;
	return map && map == t->lua && map->l_name[0] != '\0';
}

/* ---- modules ---- */

static void read_dynamic(struct tables *t, const ElfW(Dyn) *d)
{
	for (; d->d_tag != DT_NULL; d++) {
		/* The loader makes these entries addresses where it can. */
		const uint64_t at = d->d_un.d_ptr < t->bias ?
				    t->bias + d->d_un.d_ptr : d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB: t->symbols = (const ElfW(Sym) *)at; break;
		case DT_STRTAB: t->names = (const char *)at; break;
		case DT_GNU_HASH: t->hash = (const uint32_t *)at; break;
		case DT_JMPREL: t->relocs[0] = (const ElfW(Rela) *)at; break;
		case DT_RELA: t->relocs[1] = (const ElfW(Rela) *)at; break;
		case DT_PLTRELSZ: t->sizes[0] = d->d_un.d_val; break;
		case DT_RELASZ: t->sizes[1] = d->d_un.d_val; break;
		default: break;
		}
	}
}

/* False: it is no module whose links can be read. */
static bool read_module(struct tables *t, const struct dl_phdr_info *m)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	struct dl_find_object o;

	memset(t, 0, sizeof(*t));
	t->bias = m->dlpi_addr;
	for (int i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *const p = &m->dlpi_phdr[i];
		const uint64_t at = t->bias + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO) {
			t->fixed = at & ~page;
			t->fixed_end = (at + p->p_memsz) & ~page;
		} else if (p->p_type == PT_DYNAMIC &&
			   _dl_find_object((void *)at, &o) == 0) {
			t->map = o.dlfo_link_map;
			read_dynamic(t, (const ElfW(Dyn) *)at);
		}
	}
	return t->map && t->symbols && t->names;
}

struct lead {
	struct tables ours;
	struct opened opened;
	bool is_full;
};

static void lead_link(struct lead *lead, struct tables *t,
		      const ElfW(Rela) *r)
{
	const uint64_t type = ELF64_R_TYPE(r->r_info);
	const ElfW(Sym) *const symbol = &t->symbols[ELF64_R_SYM(r->r_info)];
	const char *const name = t->names + symbol->st_name;
	const uint32_t i = type != TO_FUNCTION && type != TO_ANY ? 0 :
			   ours_of(&lead->ours, name);
	const uint64_t ours = lead->ours.bias + lead->ours.symbols[i].st_value;
	uint64_t *const word = (uint64_t *)(t->bias + r->r_offset);
	struct link *const l = &links[link_count];

	/* 0: a weak name that nobody has, which the program may test. */
	if (i == 0 || *word == ours || *word == 0 ||
	    !may_lead(t, *word, symbol))
		return;
	if (link_count == LINKS) {
		lead->is_full = true;
		return;
	}
	*l = (struct link){ .word = word, .old = *word, .ours = ours,
			    .map = t->map, .fixed = t->fixed,
			    .fixed_end = t->fixed_end,
			    .is_close = strcmp(name, "dlclose") == 0 };
	if (set(&lead->opened, l, ours))
		link_count++;
}

static int lead_module(struct dl_phdr_info *m, size_t size, void *data)
{
	struct lead *const lead = data;
	struct tables t;

	(void)size;
	if (!read_module(&t, m) || t.map == lead->ours.map)
		return 0;
	for (int k = 0; k < 2; k++) {
		const uint64_t n = !t.relocs[k] ? 0 :
				   t.sizes[k] / sizeof(ElfW(Rela));

		for (uint64_t i = 0; i < n; i++)
			lead_link(lead, &t, &t.relocs[k][i]);
	}
	shut(&lead->opened);
	return 0;
}

static int find_ours(struct dl_phdr_info *m, size_t size, void *data)
{
	struct lead *const lead = data;
	struct dl_find_object o;

	(void)size;
	return _dl_find_object(links, &o) == 0 &&
	       read_module(&lead->ours, m) &&
	       lead->ours.map == o.dlfo_link_map && lead->ours.hash;
}

/* ---- putting back ---- */

/* Is the word still one of that module's, and ours? */
static bool is_led(const struct link *l)
{
	struct dl_find_object o;

	return _dl_find_object(l->word, &o) == 0 && o.dlfo_link_map == l->map &&
	       __atomic_load_n(l->word, __ATOMIC_RELAXED) == l->ours;
}

/* Those without a word make room. */
static void forget(void)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < link_count; i++) {
		if (links[i].word)
			links[kept++] = links[i];
	}
	link_count = kept;
}

/* Under the loader's lock. */
static void forget_gone(void)
{
	for (uint32_t i = 0; i < link_count; i++) {
		if (!is_led(&links[i]))
			links[i].word = NULL;
	}
	forget();
}

/* The program's own links are the first, and so the last to be put back. What
 * cannot be written stays. */
static void put_back(bool is_close)
{
	struct opened opened = { 0, 0 };

	for (uint32_t i = link_count; i-- > 0; ) {
		struct link *const l = &links[i];

		if (l->is_close == is_close &&
		    (!is_led(l) || set(&opened, l, l->old)))
			l->word = NULL;
	}
	shut(&opened);
}

/* As soon as one of dlclose is put back, a module may be closed without being
 * seen: so these are last. The next leave tries again what is left. */
bool link_put_back(void)
{
	if (link_count == 0)
		return true;
	link_jumped((uint64_t)__builtin_frame_address(0));
	if (!begin_use())
		return false;
	put_back(false);
	put_back(true);
	forget();
	end_use();
	return true;
}

static long lead_all(void)
{
	struct lead lead = { .is_full = false };

	if (!begin_use())
		return ATTACH_LEAD_LATER;
	forget_gone();
	if (dl_iterate_phdr(find_ours, &lead) != 0)
		dl_iterate_phdr(lead_module, &lead);
	end_use();
	return lead.is_full ? ATTACH_LEAD_FULL : (long)link_count;
}

/* The loader adds to the words of a module that it is loading, and makes them
 * read-only then: its lock keeps others from loading any. Nothing gives us that
 * lock, but dlsym holds it while it asks what such a name stands for. */
static _Atomic long led;

__attribute__((used)) /* clang 14 does not see the use below */
static void (*lead_locked(void))(void)
{
	led = lead_all();
	return link_forked;
}

EXPORT void weft_links_locked(void)
	__attribute__((ifunc("lead_locked")));

bool link_is_late(void)
{
	const struct link_map *const ours = module_at(links);

	return ours && strstr(ours->l_name, ATTACH_LATE);
}

long link_lead(void)
{
	const int saved = errno;

	led = ATTACH_LEAD_LATER;
	*(void **)&real_close = dlsym(RTLD_NEXT, "dlclose");
	all = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (all && real_close) {
		dlsym(RTLD_DEFAULT, "weft_links_locked");
		real_close(all);
	}
	errno = saved;
	return led;
}
