/* p_write_trace.c - writes traces without a recorder: made-up threads whose
 * calls are known, as CTF in LTTng's layout, as a spill file, or both, and
 * prints the calls of each function. Shares nothing with tracer or analyzer
 * but the contract.
 * flags: -llz4 -lzstd
 * SPDX-License-Identifier: MIT */
#include "tracepoints/packed.h"
#include "tracepoints/record.h"

#include <endian.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { FUNCS = 6, MAIN = 0, MID = 1, HZ = 1000000000, PACKET = 1 << 18,
       MAX_CPUS = 8 };

/* What to write; each is an option KEY=NUMBER. */
static unsigned threads = 2, chunks = 4, records = 100, cpus = 2, coroutines,
	partials, spill_from = ~0u, first_number, no_end, rotate, twins,
	packed, samples, taking, names, discarded;

static const struct { const char *key; unsigned *value; } opts[] = {
	{ "threads", &threads }, { "chunks", &chunks },
	{ "records", &records }, /* words a chunk, about */
	{ "cpus", &cpus },       /* stream files */
	{ "coroutines", &coroutines }, /* 1: some calls run in coroutines */
	{ "partials", &partials },     /* each n-th chunk comes before, PARTIAL
	                                * and shorter */
	{ "spill_from", &spill_from }, /* chunks from this on go to the spill
	                                * file */
	{ "first_number", &first_number },
	{ "no_end", &no_end },         /* 1: the recorder died */
	{ "rotate", &rotate },         /* 1: streams take turns at random */
	{ "twins", &twins },           /* 1: function 4 is a Lua function, too,
	                                * without a name, on the lines of 5 */
	{ "taking", &taking },         /* 1: body is called at::body(int) */
	{ "discarded", &discarded },   /* events, by LTTng */
	{ "names", &names },           /* 1: the recorder's third chunk */
	{ "samples", &samples },       /* one each so many ticks, in MID's code;
	                                * not with partials */
	{ "packed", &packed },         /* version 2 of the format: 1 plain, 2
	                                * LZ4, 3 zstd */
};

static uint64_t calls[FUNCS], all_records, all_chunks;
static uint64_t now = UINT64_C(5000000000); /* one clock for all threads */
static FILE *spill;

struct stream {
	FILE *file, *index;
	uint64_t written;
	unsigned char *packet; /* one being filled */
	size_t used;
	uint64_t begin, sequence;
};
static struct stream streams[MAX_CPUS];
static char dir[4000];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- CTF, as LTTng-UST 2.13 writes it ---- */

static const unsigned char uuid[16] = { 0x57, 0x45, 0x46, 0x54, 1, 2, 0x43, 4,
					0x85, 6, 7, 8, 9, 10, 11, 12 };
static const char uuid_text[] = "57454654-0102-4304-8506-0708090a0b0c";

static void put(struct stream *s, const void *bytes, size_t size)
{
	memcpy(s->packet + s->used, bytes, size);
	s->used += size;
}

static void put32(struct stream *s, uint32_t v) { put(s, &v, 4); }
static void put64(struct stream *s, uint64_t v) { put(s, &v, 8); }

static void open_packet(struct stream *s, unsigned cpu)
{
	memset(s->packet, 0, PACKET);
	s->used = 0;
	put32(s, 0xc1fc1fc1);
	put(s, uuid, 16);
	put32(s, 0);   /* stream_id */
	put64(s, cpu); /* stream_instance_id */
	put64(s, s->begin);
	put64(s, s->begin); /* timestamp_end, sizes: filled in when closed */
	put64(s, 0);
	put64(s, 0);
	put64(s, s->sequence++);
	put64(s, discarded);
	put32(s, cpu);
}

static void put_index(struct stream *s, uint64_t v)
{
	v = htobe64(v);
	if (s->index)
		fwrite(&v, 8, 1, s->index);
}

static void close_packet(struct stream *s, uint64_t end)
{
	const uint64_t content = s->used * 8;
	const size_t whole = (s->used + 4095) / 4096 * 4096;
	const uint64_t size = whole * 8;

	/* An index entry, as of version 1.1. */
	put_index(s, s->written);
	put_index(s, size);
	put_index(s, content);
	put_index(s, s->begin);
	put_index(s, end);
	put_index(s, 0);
	put_index(s, 0);
	put_index(s, (uint64_t)(s - streams));
	put_index(s, s->sequence - 1);
	s->written += whole;
	memcpy(s->packet + 40, &end, 8);
	memcpy(s->packet + 48, &content, 8);
	memcpy(s->packet + 56, &size, 8);
	if (fwrite(s->packet, 1, whole, s->file) != whole)
		die("write");
	s->used = 0;
	s->begin = end;
}

/* What of a chunk goes into the files: its words, or packed. */
struct body { char bytes[PACKED_MAX_WORDS * 8]; size_t size; };

static void pack(struct body *b, const uint64_t *w, uint32_t n)
{
	const struct chunk_header *h = (const void *)w;
	static unsigned char a[PACKED_MAX_WORDS * 8], c[PACKED_MAX_WORDS * 8];
	struct packed_head head = { .packing = PACKING_NONE, .words = n,
		.records = h->records, .flags = h->flags,
		.recording = h->recording, .process = h->process,
		.thread = h->thread, .level = h->level, .number = h->number };
	size_t size = n * 8u;

	memcpy(c, w, size);
	packed_shuffle(a, w, n);
	if (packed == 2) {
		head.packing = PACKING_LZ4;
		size = (size_t)LZ4_compress_default((char *)a, (char *)c,
			(int)size, (int)sizeof(c));
	} else if (packed == 3) {
		head.packing = PACKING_ZSTD;
		size = ZSTD_compress(c, sizeof(c), a, size, 3);
	}
	head.bytes = (uint32_t)packed_code(b->bytes + PACKED_HEAD, c, size);
	packed_seal(b->bytes, &head);
	b->size = packed_size(&head) + 1;
}

static struct body *body_of(const uint64_t *w, uint32_t n)
{
	static struct body b;

	if (packed) {
		pack(&b, w, n);
	} else {
		b.size = n * 8u;
		memcpy(b.bytes, w, b.size);
	}
	return &b;
}

static void put_event(unsigned cpu, uint64_t at, const uint64_t *w, uint32_t n)
{
	struct stream *s = &streams[cpu];
	const struct body *b = body_of(w, n);
	struct chunk_header h;

	memcpy(&h, w, sizeof(h));
	if (s->used && s->used + b->size + 128 > PACKET)
		close_packet(s, at);
	if (!s->used)
		open_packet(s, cpu);
	/* The large event header in its extended form; nothing is aligned. */
	put(s, "\377\377", 2);
	put32(s, 0);
	put64(s, at);
	put32(s, h.pid);
	put32(s, h.tid);
	put32(s, h.process);
	put32(s, h.thread);
	put32(s, h.level);
	put64(s, h.number);
	put32(s, h.flags);
	put32(s, h.records);
	if (!packed)
		put32(s, n);
	put(s, b->bytes, b->size);
}

static const char tsdl[] =
"/* CTF 1.8 */\n\n"
"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
"typealias integer { size = 64; align = 8; signed = false; }"
" := unsigned long;\n"
"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
"typealias integer { size = 27; align = 1; signed = false; } := uint27_t;\n\n"
"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n"
"\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t  uuid[16];\n"
"\t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n\t};\n};\n\n"
"env {\n\tdomain = \"ust\";\n\ttracer_name = \"lttng-ust\";\n"
"\ttracer_major = 2;\n\ttracer_minor = 13;\n};\n\n"
"clock {\n\tname = \"monotonic\";\n"
"\tuuid = \"57454654-0000-4304-8506-0708090a0b0c\";\n"
"\tdescription = \"Monotonic Clock\";\n\tfreq = 1000000000;\n"
"\toffset = 1700000000000000000;\n};\n\n"
"typealias integer {\n\tsize = 64; align = 8; signed = false;\n"
"\tmap = clock.monotonic.value;\n} := uint64_clock_monotonic_t;\n\n"
"struct packet_context {\n\tuint64_clock_monotonic_t timestamp_begin;\n"
"\tuint64_clock_monotonic_t timestamp_end;\n\tuint64_t content_size;\n"
"\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n"
"\tunsigned long events_discarded;\n\tuint32_t cpu_id;\n};\n\n"
"struct event_header_large {\n"
"\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
"\tvariant <id> {\n\t\tstruct {\n"
"\t\t\tuint64_clock_monotonic_t timestamp;\n\t\t} compact;\n"
"\t\tstruct {\n\t\t\tuint32_t id;\n"
"\t\t\tuint64_clock_monotonic_t timestamp;\n\t\t} extended;\n\t} v;\n"
"} align(8);\n\n"
"stream {\n\tid = 0;\n\tevent.header := struct event_header_large;\n"
"\tpacket.context := struct packet_context;\n};\n\n"
"event {\n\tname = \"weft:chunk\";\n\tid = 0;\n\tstream_id = 0;\n"
"\tloglevel = 13;\n\tfields := struct {\n"
"\t\tuint32_t _pid;\n\t\tuint32_t _tid;\n\t\tuint32_t _process;\n"
"\t\tuint32_t _thread;\n\t\tuint32_t _level;\n\t\tuint64_t _number;\n"
"\t\tuint32_t _flags;\n\t\tuint32_t _records;\n%s\t};\n};\n\n";
static const char tsdl_words[] = "\t\tuint32_t __words_length;\n"
"\t\tuint64_t _words[ __words_length ];\n";
static const char tsdl_packed[] = "\t\tstring _data;\n";

static FILE *create(const char *name)
{
	char path[8400];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	if (!f)
		die(path);
	return f;
}

static void write_metadata(void)
{
	struct {
		uint32_t magic;
		unsigned char uuid[16];
		uint32_t checksum, content, size;
		uint8_t compression, encryption, scheme, major, minor;
	} __attribute__((packed)) head = {
		.magic = 0x75d11d57, .major = 1, .minor = 8,
	};
	char text[sizeof(tsdl) + 128];
	static unsigned char page[4096];
	FILE *f = create("ctf/ust/uid/0/64-bit/metadata");
	size_t room = sizeof(page) - sizeof(head);

	snprintf(text, sizeof(text), tsdl, uuid_text, packed ? tsdl_packed :
		 tsdl_words);
	memcpy(head.uuid, uuid, 16);
	for (size_t at = 0, all = strlen(text); at < all; at += room) {
		const size_t part = all - at < room ? all - at : room;

		head.content = (uint32_t)(sizeof(head) + part) * 8;
		head.size = sizeof(page) * 8;
		memset(page, 0, sizeof(page));
		memcpy(page, &head, sizeof(head));
		memcpy(page + sizeof(head), text + at, part);
		if (fwrite(page, 1, sizeof(page), f) != sizeof(page))
			die("metadata");
	}
	fclose(f);
}

static void open_trace(void)
{
	static const char *const folders[] = { "", "/ctf", "/ctf/ust",
		"/ctf/ust/uid", "/ctf/ust/uid/0", "/ctf/ust/uid/0/64-bit",
		"/ctf/ust/uid/0/64-bit/index" };
	char path[4200];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, folders[i]);
		if (mkdir(path, 0777) && i > 0)
			die(path);
	}
	write_metadata();
	for (unsigned c = 0; c < cpus; c++) {
		snprintf(path, sizeof(path), "ctf/ust/uid/0/64-bit/weft_%u", c);
		streams[c].file = create(path);
		snprintf(path, sizeof(path),
			 "ctf/ust/uid/0/64-bit/index/weft_%u.idx", c);
		streams[c].index = create(path);
		for (unsigned i = 0; i < 4; i++) {
			const uint32_t head[4] = { 0xc1f1dcc1, 1, 1, 72 };
			const uint32_t v = htobe32(head[i]);
			fwrite(&v, 4, 1, streams[c].index);
		}
		streams[c].packet = malloc(PACKET);
		streams[c].begin = now;
	}
}

/* ---- chunks ---- */

struct build {
	uint64_t w[CHUNK_MAX_WORDS];
	uint32_t at;      /* next free word */
	uint64_t last;    /* tick of the last record */
	uint64_t begin;
};

static void add(struct build *b, uint64_t word) { b->w[b->at++] = word; }

static void add_string(struct build *b, const char *s)
{
	const size_t n = strlen(s);

	add(b, string_put(n, n));
	add(b, XXH64(s, n, 0));
	b->w[b->at + n / 8] = 0;
	memcpy(&b->w[b->at], s, n);
	b->at += (uint32_t)(n + 7) / 8;
}

static void add_item(struct build *b, enum item_type type, uint32_t from)
{
	b->w[from] = item_put(type, b->at - from);
}

static uint64_t tick(uint64_t step)
{
	now += step;
	return now;
}

static void add_rec(struct build *b, enum rec_kind kind, unsigned func)
{
	const uint64_t t = tick(7);

	add(b, rec_put(kind, func, t - b->last));
	b->last = t;
}

static void add_leaf(struct build *b, unsigned func)
{
	const uint64_t from = tick(3), to = tick(11);

	add(b, rec_enter_to_leaf(rec_put(REC_ENTER, func, from - b->last),
				 to - from));
	b->last = to;
	calls[func]++;
}

struct made_thread {
	uint64_t number, slept, serial, asleep; /* a coroutine of its own */
	uint64_t entered; /* main's entry tick */
	int started;
};
static struct made_thread made[1024];

static void seal(struct build *b, struct chunk_header *h, unsigned cpu,
		 int to_spill)
{
	if (!(h->flags & CHUNK_PARTIAL)) {
		all_records += h->records;
		all_chunks++;
	}
	h->total_words = b->at;
	h->checksum = 0;
	memcpy(b->w, h, sizeof(*h));
	h->checksum = XXH3_64bits(b->w, b->at * 8u);
	memcpy(b->w, h, sizeof(*h));
	if (!to_spill) {
		put_event(cpu, now, b->w, b->at);
		return;
	}
	if (!spill)
		spill = create("spill.weft");
	const struct body *out = body_of(b->w, b->at);

	if (fwrite(out->bytes, 1, out->size, spill) != out->size)
		die("spill");
}

static struct chunk_header header(unsigned process, unsigned thread)
{
	return (struct chunk_header){
		.magic = CHUNK_MAGIC, .version = CHUNK_VERSION,
		.recording = 42, .process = process, .thread = thread,
		.pid = 1000, .tid = 1000 + thread, .process_start = 17,
		.pair_tick = 1000, .pair_mono = 1000,
		.pair_real = UINT64_C(1700000000000001000), .tick_hz = HZ,
		.thread_name = { 0x74666577 },
	};
}

/* One round in a coroutine of the thread's own, kept over chunks. */
static void add_resume(struct build *b, struct made_thread *m, int fresh)
{
	const uint64_t t = tick(5);
	const int stack = m->serial && fresh;

	if (!m->serial)
		m->serial = 100 + (uint64_t)(m - made);
	add(b, rec_put(REC_RESUME, stack ? RESUME_STACK : 0, t - b->last));
	add(b, rec_put_value(REC_OPERAND, m->serial));
	add(b, rec_put_value(REC_OPERAND, m->asleep ? t - m->asleep : 0));
	add(b, rec_put_value(REC_OPERAND, (uint64_t)stack));
	if (stack)
		add(b, rec_put(REC_OPERAND, 5, 50));
	b->last = t;
	if (!m->asleep) {
		add_rec(b, REC_ENTER, 5);
		calls[5]++;
	}
	add_leaf(b, 4);
	add_rec(b, REC_SUSPEND, SUSPEND_YIELD);
	add(b, rec_put_value(REC_OPERAND, m->serial));
	m->asleep = b->last;
}

static void add_records(struct build *b, struct made_thread *m)
{
	const uint32_t end = CHUNK_HEADER_WORDS + records;
	int fresh = 1;

	if (!m->started) {
		m->started = 1;
		add_rec(b, REC_ENTER, MAIN);
		m->entered = b->last;
		calls[MAIN]++;
	}
	while (b->at + 16 < end) {
		add_rec(b, REC_ENTER, MID);
		calls[MID]++;
		add_leaf(b, 2);
		add_leaf(b, 3);
		if (coroutines && b->at % 5 == 0) {
			add_resume(b, m, fresh);
			fresh = 0;
		}
		add_rec(b, REC_LEAVE, MID);
	}
}

/* Where its item begins. */
static uint32_t add_lua(struct build *b, const char *hint, uint64_t ordinal)
{
	const uint32_t from = b->at++;

	add(b, UINT64_C(20) << 32 | 10);
	add_string(b, "@made-up.lua");
	add_string(b, hint);
	if (ordinal)
		add(b, ordinal);
	add_item(b, ITEM_LUA, from);
	return from;
}

static void add_samples(struct build *b, const struct chunk_header *h)
{
	const uint32_t from = b->at++;

	add(b, samples);
	add(b, h->tick_begin);
	add(b, h->tick_end);
	for (uint64_t at = h->tick_begin; at < h->tick_end; at += samples) {
		add(b, at);
		add(b, dict_put_native(0, 0x2004));
	}
	add_item(b, ITEM_SAMPLES, from);
}

static void add_tables(struct build *b, struct chunk_header *h,
		       uint64_t open_age)
{
	uint32_t from = b->at, items = b->at, twin = 0;

	h->records = b->at - CHUNK_HEADER_WORDS;
	b->at += 4;
	b->w[from + 1] = 1; /* one segment: the thread's own */
	b->w[from + 2] = 0;
	b->w[from + 3] = open_age != 0;
	if (open_age)
		add(b, rec_put(REC_OPERAND, MAIN, open_age));
	add_item(b, ITEM_STACK, from);
	from = b->at++;
	add(b, 0);
	add(b, 0x10000);
	add(b, 0x100000);
	add(b, 0x0706050403020108);
	add(b, 0x08);
	add(b, 0);
	add_string(b, "/usr/bin/made-up");
	add_item(b, ITEM_MODULE, from);
	if (samples)
		add_samples(b, h);
	if (twins)
		twin = add_lua(b, "", 1);
	from = add_lua(b, taking ? "at::body(int)" : "body", 0);
	h->items = b->at - items;
	h->funcs = FUNCS;
	for (unsigned i = 0; i + 1 < FUNCS; i++)
		add(b, twin && i == FUNCS - 2 ?
		       dict_put_item(DICT_LUA, twin - items) :
		       dict_put_native(0, 0x1000 * (i + 1)));
	add(b, dict_put_item(DICT_LUA, from - items));
}

static void copy_partial(const struct build *b, struct chunk_header h,
			 unsigned cpu, int to_spill)
{
	static struct build p;

	p = *b;
	/* Keep the first record only: everything behind it moves down. */
	const uint32_t gone = h.records - 1;
	if (!h.records)
		return;
	memmove(&p.w[CHUNK_HEADER_WORDS + 1],
		&p.w[CHUNK_HEADER_WORDS + h.records],
		(b->at - CHUNK_HEADER_WORDS - h.records) * 8u);
	p.at -= gone;
	h.records = 1;
	h.flags |= CHUNK_PARTIAL;
	h.tick_end = h.tick_begin + rec_gap(b->w[CHUNK_HEADER_WORDS]);
	seal(&p, &h, cpu, to_spill);
}

static void write_chunk(unsigned t, unsigned c)
{
	static struct build b;
	struct made_thread *m = &made[t];
	struct chunk_header h = header(1, t + 1);
	const unsigned cpu = rotate ? (unsigned)rand() % cpus : t % cpus;
	const uint64_t age = m->started ? now - m->entered : 0;

	b.at = CHUNK_HEADER_WORDS;
	b.last = b.begin = m->number ? m->slept : now;
	h.tick_begin = b.begin;
	add_records(&b, m);
	if (c + 1 == chunks) {
		add_rec(&b, REC_LEAVE, MAIN);
		h.flags |= CHUNK_LAST;
	}
	h.number = first_number + m->number++;
	h.tick_end = m->slept = now;
	add_tables(&b, &h, age ? b.begin - m->entered : 0);
	if (partials && (t + c) % partials == 0)
		copy_partial(&b, h, cpu, c >= spill_from);
	seal(&b, &h, cpu, c >= spill_from);
}

static void write_meta(uint64_t number, const char *const *notes)
{
	static struct build b;
	struct chunk_header h = header(0, 0);

	if (!notes)
		return;
	b.at = CHUNK_HEADER_WORDS;
	for (; *notes; notes += 2) {
		const uint32_t from = b.at++;

		add_string(&b, notes[0]);
		add_string(&b, notes[1]);
		add_item(&b, ITEM_NOTE, from);
	}
	h.number = number;
	h.flags = CHUNK_META;
	h.items = b.at - CHUNK_HEADER_WORDS;
	h.tick_begin = h.tick_end = now;
	seal(&b, &h, 0, (number || !spill_from) && spill_from <= chunks);
}

static void options(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		const char *eq = strchr(argv[i], '=');
		size_t k = 0;

		while (k < sizeof(opts) / sizeof(*opts) &&
		       !(eq && strncmp(argv[i], opts[k].key,
				       (size_t)(eq - argv[i])) == 0))
			k++;
		if (k == sizeof(opts) / sizeof(*opts)) {
			fprintf(stderr, "what is %s?\n", argv[i]);
			exit(1);
		}
		*opts[k].value = (unsigned)strtoul(eq + 1, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static const char *const start[] = { "command", "made-up", "weft",
					     "test", NULL };
	static const char *const name[] = { "name", "of something", NULL };
	char counted[24], distinct[24];
	const char *const end[] = { "lost.full", "0", "complete", "yes", "end",
				    "1", "records", counted, "chunks.distinct",
				    distinct, NULL };

	if (argc < 2)
		return 1;
	snprintf(dir, sizeof(dir), "%s", argv[1]);
	options(argc, argv);
	srand(7);
	open_trace();
	write_meta(0, start);
	for (unsigned c = 0; c < chunks; c++)
		for (unsigned t = 0; t < threads; t++)
			write_chunk(t, c);
	write_meta(2, names ? name : NULL);
	snprintf(counted, sizeof(counted), "%llu",
		 (unsigned long long)all_records);
	snprintf(distinct, sizeof(distinct), "%llu",
		 (unsigned long long)all_chunks);
	write_meta(1, no_end ? NULL : end);
	for (unsigned c = 0; c < cpus; c++) {
		if (!streams[c].used)
			open_packet(&streams[c], c);
		close_packet(&streams[c], now);
		fclose(streams[c].file);
		fclose(streams[c].index);
	}
	if (spill)
		fclose(spill);
	for (unsigned f = 0; f < FUNCS; f++)
		printf("%u %llu\n", f, (unsigned long long)calls[f]);
	return 0;
}
