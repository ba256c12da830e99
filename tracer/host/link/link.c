/* link.c - leading links, and putting them back. The former is done when a
 * program starts or opens a library, or by a thread that a recorder has stopped
 * where locks may be taken; the latter by a hook, which may take none.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/link/link.h"
#include "tracepoints/mailbox.h"
#include "tracer/host/base/dynamic.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/link/stand_in.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LINKS = 16384 };

/* Was this library loaded by a recorder? Then links are put back some day. */
static bool is_late;

_Atomic bool link_refused;
void (*link_late)(void);

/* Those that are to be put back. */
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
		kernel_yield();
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
		kernel_protect(o->from, o->to, false);
	o->from = o->to = 0;
}

/* False: it cannot be written. */
static bool set(struct opened *o, const struct link *l, uint64_t value)
{
	const uint64_t at = (uint64_t)l->word;

	if (at >= l->fixed && at < l->fixed_end &&
	    (at < o->from || at >= o->to)) {
		shut(o);
		if (!kernel_protect(l->fixed, l->fixed_end, true))
			return false;
		o->from = l->fixed;
		o->to = l->fixed_end;
	}
	__atomic_store_n(l->word, value, __ATOMIC_RELEASE);
	return true;
}

/* ---- one pass over all modules ---- */

enum { NUMBERS = 1024 }; /* of stand-ins */

/* Where a link of a name leads that was not used yet. */
struct found {
	bool is_known, is_only, has_older;
	void *function;
};

struct pass {
	const struct link_map *ours;
	/* The first module of the namespace, and what its modules define. */
	const struct link_map *first;
	struct found found[NUMBERS];
	/* The program starts: all of its libraries see each other's names, in
	 * the order of the list. */
	bool is_start;
	/* Not the first pass: what it finds was opened since the one before. */
	bool is_later;
	bool is_full;
	/* The module that is looked at; of it, what the loader has made
	 * read-only, and where it can be written otherwise. */
	struct dynamic of;
	enum { DEPTH_UNKNOWN, FLAT, DEEP } depth;
	uint64_t fixed, fixed_end, open, open_end;
	struct opened opened;
};

/* The first module but ours that defines the name, as the loader searches them
 * when a program starts. */
static const struct found *search(struct pass *p, int number, const char *name)
{
	struct found *const f = &p->found[number];
	struct dynamic d;
	void *at;

	if (f->is_known)
		return f;
	f->is_known = f->is_only = true;
	for (const struct link_map *m = p->first; m; m = m->l_next) {
		if (m == p->ours || !dynamic_read(&d, m))
			continue;
		at = dynamic_find(&d, name);
		if (at && f->function)
			f->is_only = false;
		else if (at)
			f->function = at;
		f->has_older |= at && dynamic_has_older(&d, name);
	}
	return f;
}

void *link_elsewhere(const char *name)
{
	const struct link_map *const ours = dynamic_module_at(links);
	struct dynamic d;
	void *at = NULL;

	for (const struct link_map *m = _r_debug.r_map; m && !at; m = m->l_next)
		at = m == ours || !dynamic_read(&d, m) ? NULL :
		     dynamic_find(&d, name);
	return at;
}

static void *look_up(void *handle, const char *name, const char *version)
{
	return version ? dlvsym(handle, name, version) : dlsym(handle, name);
}

/* In a library, with what it depends on; path NULL: in what all see. With
 * RTLD_DEFAULT, dlsym would keep what it finds for ever. */
static void *found_in(const char *path, const char *name, const char *version)
{
	void *const in = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *const found = in ? look_up(in, name, version) : NULL;

	if (in)
		dlclose(in);
	return found;
}

/* version: NULL: the usual one. is_deep: the module sees its own first. */
static void *found_by(const struct link_map *map, const char *name,
		      const char *version, bool is_deep)
{
	const char *const own = map->l_name[0] == '\0' ? NULL : map->l_name;
	void *const found = found_in(is_deep ? own : NULL, name, version);

	return found || !own ? found :
	       found_in(is_deep ? NULL : own, name, version);
}

void *link_found_by(const struct link_map *map, const char *name)
{
	return found_by(map, name, NULL, false);
}

/* A variable of the program's may hold another function by now. */
static bool is_of_name(void *function, const struct link_map *at,
		       const char *name)
{
	struct dynamic d;

	return at && dynamic_read(&d, at) && dynamic_find(&d, name) == function;
}

/* Does a link that the loader has followed lead elsewhere than what all see?
 * Then the module was opened with RTLD_DEEPBIND. */
static bool is_led_deep(const struct pass *p, const ElfW(Rela) *r)
{
	const uint64_t at = p->of.map->l_addr + r->r_offset;
	const uint64_t type = ELF64_R_TYPE(r->r_info);
	const ElfW(Sym) *const symbol =
		&p->of.symbols[ELF64_R_SYM(r->r_info)];
	const char *const name = p->of.names + symbol->st_name;
	const struct link_map *to;
	void *all;

	if ((type != ARCH_LINK_CALL && type != ARCH_LINK_ANY &&
	     type != ARCH_LINK_DATA) || at < p->open || at >= p->open_end ||
	    symbol->st_shndx != SHN_UNDEF || stand_in_of(name) < 0)
		return false;
	to = dynamic_module_at(*(void **)at);
	if (!to || to == p->of.map || to == p->ours ||
	    (type == ARCH_LINK_DATA && !is_of_name(*(void **)at, to, name)))
		return false;
	all = found_in(NULL, name, NULL);
	return all && dynamic_module_at(all) != to;
}

static bool is_deep(struct pass *p)
{
	for (int k = 0; k < 2 && p->depth == DEPTH_UNKNOWN; k++)
		for (uint64_t i = 0; i < p->of.sizes[k] / sizeof(ElfW(Rela));
		     i++)
			if (is_led_deep(p, &p->of.relocs[k][i]))
				p->depth = DEEP;
	if (p->depth == DEPTH_UNKNOWN)
		p->depth = FLAT;
	return p->depth == DEEP;
}

/* The function that a link leads to. A lazy one leads back into its module
 * until it is used. */
static void *meaning(struct pass *p, const ElfW(Sym) *symbol, uint64_t word,
		     int number)
{
	const char *const name = p->of.names + symbol->st_name;
	const struct found *f;

	if (dynamic_module_at((void *)word) != p->of.map ||
	    (symbol->st_shndx != SHN_UNDEF &&
	     p->of.map->l_addr + symbol->st_value == word))
		return (void *)word;
	f = search(p, number, name);
	if (f->has_older)
		return found_by(p->of.map, name,
				dynamic_version(&p->of, symbol), is_deep(p));
	return f->is_only || p->is_start ? f->function :
	       found_by(p->of.map, name, NULL, is_deep(p));
}

/* What the link is led to; 0: it is left alone, as is a weak name that nobody
 * has, which the program may test. */
static uint64_t led_to(struct pass *p, const ElfW(Rela) *r, uint64_t word)
{
	const ElfW(Sym) *const symbol =
		&p->of.symbols[ELF64_R_SYM(r->r_info)];
	const char *const name = p->of.names + symbol->st_name;
	const int number = stand_in_of(name);
	const bool is_data = ELF64_R_TYPE(r->r_info) == ARCH_LINK_DATA;
	const struct link_map *at;
	void *original;

	if (number < 0 || word == 0)
		return 0;
	/* Data are never lazy: what leads into its own module is the program's
	 * choice. */
	original = is_data ? (void *)word : meaning(p, symbol, word, number);
	at = dynamic_module_at(original);
	if (!original || at == p->ours ||
	    (is_data && !is_of_name(original, at, name)))
		return 0;
	if (p->is_later && link_late &&
	    strcmp(name, "__cyg_profile_func_enter") == 0 &&
	    dynamic_has_constructors(p->of.map))
		link_late();
	return (uint64_t)stand_in_for(number, original, at);
}

static void lead_link(struct pass *p, const ElfW(Rela) *r)
{
	uint64_t *const word = (uint64_t *)(p->of.map->l_addr + r->r_offset);
	const uint64_t type = ELF64_R_TYPE(r->r_info);
	struct link l = { .word = word, .map = p->of.map, .fixed = p->fixed,
			  .fixed_end = p->fixed_end };

	if (type != ARCH_LINK_CALL && type != ARCH_LINK_ANY &&
	    (type != ARCH_LINK_DATA || r->r_addend != 0 || is_late))
		return;
	/* Not in code (text relocations). */
	if ((uint64_t)word < p->open || (uint64_t)word >= p->open_end)
		return;
	l.old = *word;
	l.ours = led_to(p, r, *word);
	if (l.ours == 0 || l.ours == l.old)
		return;
	if (is_late && link_count == LINKS) {
		p->is_full = true;
		return;
	}
	l.is_close = strcmp(p->of.names + p->of.symbols[ELF64_R_SYM(
			    r->r_info)].st_name, "dlclose") == 0;
	if (!set(&p->opened, &l, l.ours))
		link_refused = true;
	else if (is_late)
		links[link_count++] = l;
}

/* ---- modules ---- */

/* The parts of the module that can be written, now or before it was ready. */
static void find_data(struct pass *p, const struct link_map *map)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const ElfW(Phdr) *part;
	struct dl_find_object o;
	int count;

	p->fixed = p->fixed_end = p->open = p->open_end = 0;
	if (_dl_find_object(map->l_ld, &o) != 0)
		return;
	part = dynamic_parts(o.dlfo_map_start, &count);
	for (int i = 0; i < count; i++) {
		const uint64_t at = map->l_addr + part[i].p_vaddr;

		if (part[i].p_type == PT_GNU_RELRO) {
			p->fixed = at & ~page;
			p->fixed_end = (at + part[i].p_memsz) & ~page;
		} else if (part[i].p_type == PT_LOAD &&
			   (part[i].p_flags & PF_W)) {
			p->open = p->open ? p->open : at;
			p->open_end = at + part[i].p_memsz;
		}
	}
}

/* Ours has links that lead on: but for a test program that is all of it. */
static void lead_module(struct pass *p, const struct link_map *map)
{
	if ((map == p->ours && map->l_name[0] != '\0') ||
	    !dynamic_read(&p->of, map))
		return;
	find_data(p, map);
	p->depth = DEPTH_UNKNOWN;
	for (int k = 0; k < 2; k++) {
		const uint64_t n = p->of.sizes[k] / sizeof(ElfW(Rela));

		for (uint64_t i = 0; i < n; i++)
			lead_link(p, &p->of.relocs[k][i]);
	}
	shut(&p->opened);
}

/* The modules that were led, by their dynamic sections, since one was unloaded.
 * What has no room is looked at again. */
enum { DONE_BITS = 11 };
static const void *done[1 << DONE_BITS];

/* Is it there? It is from now on. */
static bool was_done(const struct link_map *map)
{
	uint64_t i = hash_place((uint64_t)map->l_ld, DONE_BITS);

	for (int tries = 0; tries < 16; tries++) {
		const void **const d = &done[(i + (uint64_t)tries) %
					     (1 << DONE_BITS)];

		if (*d == map->l_ld)
			return true;
		if (!*d) {
			*d = map->l_ld;
			return false;
		}
	}
	return false;
}

/* How many modules the loader has ever loaded, and unloaded. */
struct loads {
	unsigned long long adds, subs;
};

/* When the last pass began. */
static struct loads seen;

static int read_loads(struct dl_phdr_info *m, size_t size, void *data)
{
	struct loads *const now = data;

	(void)size;
	now->adds = m->dlpi_adds;
	now->subs = m->dlpi_subs;
	return 1;
}

static struct loads loads_now(void)
{
	struct loads now = { 0, 0 };

	dl_iterate_phdr(read_loads, &now);
	return now;
}

static bool comes_after(const struct link_map *map, const struct link_map *what)
{
	while (map && map != what)
		map = map->l_next;
	return map;
}

/* All namespaces: that of the program, and those of dlmopen. */
static void lead_modules(struct pass *p)
{
	const struct r_debug_extended *r = (const void *)&_r_debug;

	for (; r; r = r->base.r_version > 1 ? r->r_next : NULL) {
		p->first = r->base.r_map;
		memset(p->found, 0, sizeof(p->found));
		for (const struct link_map *m = p->first; m; m = m->l_next) {
			if (is_late || !was_done(m))
				lead_module(p, m);
		}
	}
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
static void forget_links(void)
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
	forget_links();
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
	forget_links();
	end_use();
	return true;
}

/* Are modules that were led to be looked at again? */
static _Atomic bool anew;

/* Under the loader's lock. */
static long lead_all(void)
{
	static struct pass p;
	const struct loads now = loads_now();

	if (is_late && !begin_use())
		return ATTACH_LEAD_LATER;
	if (atomic_exchange(&anew, false) || now.subs != seen.subs)
		memset(done, 0, sizeof(done));
	forget_gone();
	p.ours = dynamic_module_at(links);
	p.is_full = false;
	p.is_later = seen.adds != 0;
	/* When it is opened later, libc comes before it in the list. */
	p.is_start = !is_late && seen.adds == 0 && comes_after(p.ours,
		dynamic_module_at((void *)(uintptr_t)dl_iterate_phdr));
	lead_modules(&p);
	seen = now;
	if (is_late)
		end_use();
	return p.is_full ? ATTACH_LEAD_FULL : (long)link_count;
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
	const struct link_map *const ours = dynamic_module_at(links);

	return ours && strstr(ours->l_name, ATTACH_LATE);
}

static void lead(void)
{
	const int saved = errno;

	dlsym(RTLD_DEFAULT, "weft_links_locked");
	errno = saved;
}

long link_lead(void)
{
	led = ATTACH_LEAD_LATER;
	anew = true;
	lead();
	return led;
}

void link_lead_new(void)
{
	const struct loads now = loads_now();

	if (now.adds != seen.adds || now.subs != seen.subs)
		lead();
}

void link_lead_opened(void)
{
	kernel_loads |= loads_now().adds != seen.adds;
	link_lead_new();
}

/* A program of clang's with a sanitizer has the sanitizer's functions in place
 * of libc's. They cannot be called before the program has made them ready, and
 * that comes after our constructors. A second call of these does nothing. */
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

__attribute__((constructor(101))) static void make_sanitizers_ready(void)
{
	if (__tsan_init)
		__tsan_init();
	if (__msan_init)
		__msan_init();
}

/* After the constructors that make stand-ins known, and before those of all
 * other libraries, as the linker is told to see to. Whoever runs constructors
 * has the loader's lock, or is the only thread. A recorder leads later. */
__attribute__((constructor(103))) static void begin(void)
{
	const int saved = errno;

	is_late = link_is_late();
	if (!is_late)
		lead_all();
	errno = saved;
}
