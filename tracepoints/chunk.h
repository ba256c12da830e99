/* chunk.h - the chunk: up to 8,192 record words of one thread, with all that is
 * needed to read them. A pool buffer that is being filled, the CTF event and
 * the spill file have the same layout. docs/format.md is the specification.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* In the trace, all in 64-bit little-endian words:
 *
 *  0        32            32+R            32+R+I             32+R+I+D = total
 * +--------+--------------+---------------+------------------+
 * | header | R records    | I item words  | D dictionary     |
 * +--------+--------------+---------------+------------------+
 *
 * In a pool buffer, the records have a fixed room; the items follow it and grow
 * up, and the dictionary grows down from the buffer's end (its entry i is the
 * word end - 1 - i). Who copies the buffer reverses the dictionary.
 */
#define CHUNK_MAGIC UINT64_C(0x4b4e484354464557) /* "WEFTCHNK" in the file */

enum {
	CHUNK_VERSION = 1,
	CHUNK_HEADER_WORDS = 32,
	CHUNK_MAX_WORDS = 16384, /* 128 KiB in all */
	CHUNK_MAX_RECORDS = 8192,
	CHUNK_MAX_FUNCS = 16383, /* REC_FUNC_OMITTED is not an index */
	/* A deeper stack keeps its outermost 64 and innermost 4,032 frames. */
	CHUNK_STACK_OUTER = 64,
	CHUNK_STACK_INNER = 4032,
	CHUNK_STRING_MAX = 256,  /* bytes of a string that are stored */
	CHUNK_ORDINAL_MAX = 65535, /* of Lua functions on the same lines */
};

enum chunk_flag {
	CHUNK_PARTIAL = 1,       /* may come again with more records; the
	                          * longest is used */
	CHUNK_BASE_UNKNOWN = 2,  /* calls that are open at the start may be
	                          * missing from the stack: recording was just
	                          * turned on, or the stack was lost */
	CHUNK_CLOCK_STEPPED = 4, /* the clock pair does not agree with the rest
	                          * of the recording */
	CHUNK_META = 8,          /* by the recorder: no records */
	CHUNK_LAST = 16,         /* the thread ended, or recording was turned
	                          * off: the stream's next chunk, if any, has
	                          * CHUNK_BASE_UNKNOWN */
	CHUNK_GAP = 32,          /* records were lost just before this chunk */
	CHUNK_TAKEN = 64,        /* the recorder took it from a dead thread */
	CHUNK_TSC = 128,         /* ticks are the counter's; otherwise ns of
	                          * CLOCK_MONOTONIC */
	CHUNK_FLIGHT = 256,      /* of a flight recorder, which keeps the newest
	                          * chunks: those before the first of a stream
	                          * that is here were recorded, but not kept */
};

/* What could not be recorded, by reason. The counts of a chunk are those of its
 * thread and level until the chunk was opened. */
#define LOST_LIST(X)                                                           \
	X(FULL, 0, "full", "no free buffer in the pool", "records")            \
	X(DEPTH, 1, "depth",                                                   \
	  "stack too deep: 1,000,000 frames, or no memory for more", "calls")  \
	X(NESTED, 2, "nested", "signal handlers nested too deep", "calls")     \
	X(SWITCH, 3, "switch", "stack switches that nobody announced",         \
	  "switches")                                                          \
	X(CLOCK, 4, "clock", "clock steps backwards", "steps")                 \
	X(NAMES, 5, "names", "functions that could not be named", "functions")

enum lost {
#define X(name, number, key, meaning, unit) LOST_##name = (number),
	LOST_LIST(X)
#undef X
	LOST_REASONS = 6,
};

/* The key of its note, and its words. */
struct lost_reason { const char *key, *meaning, *unit; };
static inline const struct lost_reason *lost_reason(int reason)
{
	static const struct lost_reason all[LOST_REASONS] = {
#define X(name, number, key, meaning, unit) \
		[number] = { "lost." key, meaning, unit },
		LOST_LIST(X)
#undef X
	};

	return &all[reason];
}

/* Numbers of the META chunks: two of notes, and those from the third on, if
 * any, have LUA items with the names that sources give to functions. */
enum { META_START = 0, META_END = 1, META_NAMES = 2 };

/* The header. */
struct chunk_header {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;          /* enum chunk_flag */
	union {
		uint64_t total_words; /* of the chunk; the recorder writes it */
		uint64_t brief_end; /* in the pool: tick at the end of the last
				     * call that gave its record back; 0: none
				     * has */
	};
	/* The thread that fills the buffer raises a count after it wrote what
	 * is counted: 32-bit atomics while the chunk lies in the pool. */
	uint32_t records;        /* R: record words */
	uint32_t items;          /* I: item words */
	uint32_t funcs;          /* D: dictionary entries */
	uint32_t counted;        /* in the pool: nodes of counted calls, which
	                          * grow down from the end of the records' room;
	                          * in the trace 0: they are an item */
	uint64_t recording;      /* random number of the recording */
	uint32_t process;        /* serials from the pool, never reused; */
	uint32_t thread;         /* 0: the recorder itself */
	uint32_t pid;            /* numbers in the program's own namespace */
	uint32_t tid;
	uint64_t number;         /* of the chunk in its stream, from 0 */
	uint32_t level;          /* 0; 1, 2: inside signal handlers that
	                          * interrupted a hook of the level below */
	uint32_t interrupted_record; /* level > 0: how many records the */
	uint64_t interrupted_chunk;  /* interrupted chunk had; its number */
	uint64_t process_start;  /* of the process' image, CLOCK_REALTIME ns */
	uint64_t tick_begin;     /* the first record's gap counts from here */
	uint64_t tick_end;       /* >= the last record's tick; the recorder
	                          * writes it if it takes an unfinished chunk */
	uint64_t pair_tick;      /* a clock pair, the narrowest of three */
	uint64_t pair_mono;      /* CLOCK_MONOTONIC ns */
	uint64_t pair_real;      /* CLOCK_REALTIME ns */
	uint64_t pair_width;     /* ticks that the reading took: its error */
	uint64_t tick_hz;        /* ticks a second, over the recording so far */
	uint64_t tick_hz_error;  /* bound of its error, parts per billion */
	uint64_t lost[LOST_REASONS];
	uint64_t cpu_begin;      /* CLOCK_THREAD_CPUTIME_ID ns at both ends */
	uint64_t cpu_end;        /* (0: not known) */
	uint64_t thread_name[2]; /* the kernel's name for it, zero-padded */
	uint64_t written;        /* record words in the stream's chunks before
	                          * this one */
	uint64_t checksum;       /* XXH3_64bits of all words, with 0 for this
	                          * one. 0 while the chunk is being filled: the
	                          * word before the first record must never look
	                          * like an ENTER. */
};

_Static_assert(sizeof(struct chunk_header) == CHUNK_HEADER_WORDS * 8,
	       "the header is 32 words");
_Static_assert(offsetof(struct chunk_header, checksum) ==
	       (CHUNK_HEADER_WORDS - 1) * 8, "the checksum is the last word");

/* A dictionary word: the function that an index in the records stands for.
 *
 *  63                       16 15        4 3    0
 * +---------------------------+-----------+------+
 * | offset in the ELF module  | module    |NATIVE|  module: see ITEM_MODULE
 * +---------------------------+-----------+------+
 * | address                   |    0      | CODE |  in no ELF module: JIT code
 * +---------------------------+-----------+------+
 * | word in the items where its ITEM_ starts| LUA | ITEM_LUA
 * | word in the items where its ITEM_ starts| NAME| ITEM_NAME
 * +---------------------------------------+------+
 */
enum dict_kind { DICT_NATIVE = 1, DICT_CODE = 2, DICT_LUA = 3, DICT_NAME = 4 };

enum {
	DICT_KIND_BITS = 4,
	DICT_MODULE_BITS = 12,
	DICT_OFFSET_SHIFT = 16,
	DICT_MAX_MODULES = 1 << DICT_MODULE_BITS, /* in one chunk */
};

static inline uint64_t dict_put_native(uint32_t module, uint64_t offset)
{
	return offset << DICT_OFFSET_SHIFT |
	       (uint64_t)module << DICT_KIND_BITS | DICT_NATIVE;
}

static inline uint64_t dict_put_code(uint64_t address)
{
	return address << DICT_OFFSET_SHIFT | DICT_CODE;
}

static inline uint64_t dict_put_item(enum dict_kind kind, uint32_t item)
{
	return (uint64_t)item << DICT_KIND_BITS | kind;
}

static inline enum dict_kind dict_kind(uint64_t word)
{
	return (enum dict_kind)(word & 15);
}

static inline uint32_t dict_module(uint64_t word)
{
	return (uint32_t)(word >> DICT_KIND_BITS) & (DICT_MAX_MODULES - 1);
}

static inline uint64_t dict_offset(uint64_t word)
{
	return word >> DICT_OFFSET_SHIFT;
}

static inline uint64_t dict_item(uint64_t word)
{
	return word >> DICT_KIND_BITS;
}

/* Items: { type:8 | words:56, payload }. words includes the head word. Readers
 * skip types that they do not know. A string is
 *   { stored bytes:16 | whole length:48 } { XXH64 of the whole, seed 0 }
 *   { bytes, zero-padded to whole words }
 */
enum item_type {
	ITEM_NOTHING = 0, /* room that was reserved and not used */
	ITEM_STACK = 1,   /* the stack at the chunk's start, once a chunk:
	                   * number of segments, then each, outermost first:
	                   *   coroutine serial (0: the thread itself), number
	                   *   of frames, one open-frame word for each,
	                   *   outermost first;
	                   * then, if there are more words, one for each
	                   * segment: the body that a tail call has replaced, as
	                   * an open frame, or 0 */
	ITEM_MODULE = 2,  /* module number, load bias, size of the mapping from
	                   * the bias, build-id (20 bytes at most: length in
	                   * the lowest byte of the first of 3 words), path */
	ITEM_LUA = 3,     /* { linedefined:32 | lastlinedefined:32 }
	                   * source string, whose hash is mixed with one of what
	                   * the function does if many sources may have that
	                   * name; name string (may be empty: what its
	                   * callers call it; in CHUNK_META: what its source
	                   * does, which goes first),
	                   * ordinal: the function's position among those of its
	                   * source with these two lines, in the order of the
	                   * text, an outer function before its inner ones. The
	                   * word is left out if it is 0: the first, the only
	                   * one, or not known */
	ITEM_NAME = 4,    /* string: a mark's name */
	ITEM_HINT = 5,    /* dictionary index, string: Lua's name for this C
	                   * function ("string.format"), or what most callers
	                   * call this Lua function now */
	ITEM_LABEL = 6,   /* key string, value string */
	ITEM_PROCESS = 8, /* parent's process serial, path string of the program
	                   * that this process runs, the thread's pthread_self
	                   * (the word may be missing) */
	ITEM_VM = 9,      /* VM serial, { abi:32 | flags:32 } (enum vm_abi,
	                   * enum vm_flag), address of the lua_State (for
	                   * display), serial of the native coroutine that it
	                   * belongs to (0: none; the word may be missing), how
	                   * many bytes it has in use, and at which tick it had
	                   * these (likewise) */
	ITEM_OFFCPU = 10, /* what ITEM_SWITCHES says, in earlier versions:
	                   * pairs of ticks, from and to. The first: the time
	                   * for which switches are known. The others lie in
	                   * it and rise: the thread did not run. An empty
	                   * pair at the end of one: there was no core for it */
	ITEM_NOTE = 11,   /* key string, value string; in CHUNK_META chunks */
	ITEM_UNTOLD_RETURN = 12, /* dictionary index: a C function whose
	                   * returns its VM does not tell. It ends at the next
	                   * event that shows its end: its times are upper
	                   * bounds */
	ITEM_SAMPLES = 13, /* period (ns on the CPU), ticks from and to between
	                   * which all samples are known, then pairs, rising:
	                   * tick, place (a dictionary word, NATIVE or CODE;
	                   * CODE of address 0: in the kernel) */
	ITEM_COUNTED = 14, /* calls that are counted and have no records: nodes
	                   * of three words, see enum counted */
	/* 15: in traces of earlier versions */
	ITEM_REFERENCE = 16, /* in CHUNK_META: where the program was while no
	                   * hook was at work: enum reference_kind; ns on the
	                   * CPU that a sample stands for; samples that are
	                   * missing; then pairs: place, as in ITEM_SAMPLES
	                   * (CODE of address 1: in no file), and how many
	                   * samples fell there */
	ITEM_SWITCHES = 17, /* ticks from and to: the time for which the
	                   * thread's switches are known. Then bytes, the
	                   * lowest of a word first: for each time at which it
	                   * did not run three numbers in LEB128, in ticks: how
	                   * long it had run before, how long it slept, and how
	                   * long there was no core for it. The rest is 0 */
};

/* What ran while a reference was taken. */
enum reference_kind {
	REFERENCE_RUN = 1,     /* the same work, from begin to end */
	REFERENCE_OFF = 2,     /* the recorded program, while recording was
	                        * off */
	REFERENCE_ONLY = 3,    /* a program of which nothing was recorded */
	REFERENCE_HEAD = 4,    /* words before the pairs */
};

/* The bias in an ITEM_MODULE of which the chunk does not say where it lies. */
#define MODULE_NOWHERE (UINT64_C(1) << 63)

/* A node of ITEM_COUNTED:
 *
 *  63                                          18 17          4 3    0
 * +----------------------------------------------+-------------+------+
 * | parent: number of a node before it, or 0     |  function   | kind |
 * +----------------------------------------------+-------------+------+
 * | how many calls; the coroutine's serial; how many frames           |
 * | ticks that the calls took, 0 where no time was taken              |
 * +-------------------------------------------------------------------+
 *
 * Numbers begin at 1; 0 is where the thread's own stack begins. function is 0
 * but for calls. */
enum counted {
	COUNTED_CALL = 1,      /* of this function, by what the parent is; 0
	                        * calls: it only leads to its callees */
	COUNTED_COROUTINE = 2, /* resumed by what the parent is */
	COUNTED_OMITTED = 3,   /* frames of a deep stack that are left out */
	COUNTED_WORDS = 3,
};

enum vm_abi { VM_LUA51 = 51, VM_LUA52 = 52, VM_LUA53 = 53, VM_LUA54 = 54,
	      VM_LUA55 = 55, VM_LUAJIT = 21 };
enum vm_flag {
	VM_PEEK = 1,      /* frames are read by a layout that checks itself;
	                   * otherwise through the public API */
	VM_JIT_OFF = 2,   /* the JIT was turned off for the recording */
	VM_UNTOLD_RETURNS = 4, /* see ITEM_UNTOLD_RETURN */
	VM_INFERRED = 8,  /* resumes that Lua makes itself are not seen, but
	                   * found at the next event */
	VM_EXCLUDED = 16, /* Lua's own code calls the native hooks, too: these
	                   * calls are not recorded */
	VM_SAMPLED = 32,  /* its calls are not recorded: see NOTED */
};

static inline uint64_t item_put(enum item_type type, uint64_t words)
{
	return words << 8 | type;
}

static inline enum item_type item_type(uint64_t word)
{
	return (enum item_type)(word & 255);
}

static inline uint64_t item_words(uint64_t word)
{
	return word >> 8;
}

static inline uint64_t string_put(uint64_t stored, uint64_t length)
{
	return length << 16 | stored;
}

static inline uint32_t string_stored(uint64_t word)
{
	return (uint32_t)(word & 0xffff);
}

static inline uint64_t string_length(uint64_t word)
{
	return word >> 16;
}

/* Words of a build-id; of a string before its bytes, and with so many stored
 * ones. */
enum { BUILD_ID_WORDS = 3, STRING_HEAD_WORDS = 2 };

static inline size_t string_item_words(uint32_t stored)
{
	return STRING_HEAD_WORDS + (stored + 7) / 8;
}
