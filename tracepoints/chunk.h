/* chunk.h - the chunk: up to 8,192 record words of one thread with all that is
 * needed to read them. The same layout stands in a pool buffer while it fills,
 * in the CTF event, and in a spill file. docs/format.md is the specification.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACEPOINTS_CHUNK_H
#define WEFT_TRACEPOINTS_CHUNK_H

#include <stddef.h>
#include <stdint.h>

/* In the trace, all in 64-bit little-endian words:
 *
 *  0        32            32+R            32+R+I             32+R+I+D = total
 * +--------+--------------+---------------+------------------+
 * | header | R records    | I item words  | D dictionary     |
 * +--------+--------------+---------------+------------------+
 *
 * In a pool buffer the records have a fixed room, the items follow it and grow
 * up, and the dictionary grows down from the buffer's end (its entry i is the
 * word end - 1 - i); whoever copies the buffer out turns the dictionary round.
 */
#define CHUNK_MAGIC UINT64_C(0x4b4e484354464557) /* "WEFTCHNK" in the file */

enum {
	CHUNK_VERSION = 1,
	CHUNK_HEADER_WORDS = 32,
	CHUNK_MAX_WORDS = 16384, /* 128 KiB in all */
	CHUNK_MAX_RECORDS = 8192,
	CHUNK_MAX_FUNCS = 16383, /* REC_FUNC_OMITTED is not an index */
	/* Of a deeper stack, the outermost 64 and the innermost 4,032 frames
	 * are kept. */
	CHUNK_STACK_OUTER = 64,
	CHUNK_STACK_INNER = 4032,
	CHUNK_STRING_MAX = 256,  /* bytes of a string that are stored */
	CHUNK_ORDINAL_MAX = 65535, /* of Lua functions on the same lines */
};

enum chunk_flag {
	CHUNK_PARTIAL = 1,       /* may come again, longer: the longest wins */
	CHUNK_BASE_UNKNOWN = 2,  /* calls open at the start may be missing from
	                          * the stack: recording was just turned on, or
	                          * the tracer lost sight of the stack */
	CHUNK_CLOCK_STEPPED = 4, /* the clock pair is off the recording's line */
	CHUNK_META = 8,          /* by the recorder: NOTE items, no records */
	CHUNK_LAST = 16,         /* the thread ended, or recording was turned
	                          * off: no chunk of this stream follows until
	                          * one with CHUNK_BASE_UNKNOWN */
	CHUNK_GAP = 32,          /* records were lost just before this chunk */
	CHUNK_TAKEN = 64,        /* taken from a thread that died */
	CHUNK_TSC = 128,         /* ticks are the TSC; otherwise nanoseconds of
	                          * CLOCK_MONOTONIC */
};

/* What could not be recorded, by reason. Cumulative for a thread and level,
 * at the moment the chunk was opened. The names are those reports use. */
#define LOST_LIST(X)                                                           \
	X(FULL, 0, "no free buffer in the pool", "records")                    \
	X(DEPTH, 1, "stack too deep: 1,000,000 frames, or no memory for more",\
	  "calls")                                                             \
	X(NESTED, 2, "signal handlers nested too deep", "calls")               \
	X(SWITCH, 3, "stack switches nobody announced", "switches")            \
	X(CLOCK, 4, "clock steps backwards", "steps")                          \
	X(NAMES, 5, "functions that could not be named", "functions")

enum lost {
#define X(name, number, meaning, unit) LOST_##name = (number),
	LOST_LIST(X)
#undef X
	LOST_REASONS = 6,
};

/* The header, one word a field. Host-private words are zero in a trace. */
struct chunk_header {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;          /* enum chunk_flag */
	uint64_t total_words;    /* whole chunk; the recorder writes it */
	/* Published by the thread that fills the buffer, each after what it
	 * counts is written: 32-bit atomics while the chunk lies in the pool. */
	uint32_t records;        /* R: record words */
	uint32_t items;          /* I: item words */
	uint32_t funcs;          /* D: dictionary entries */
	uint32_t reserved0;
	uint64_t recording;      /* random number of the recording */
	uint32_t process;        /* serials from the pool, never reused; 0: the */
	uint32_t thread;         /* recorder itself */
	uint32_t pid;            /* as the program's own namespace numbers them */
	uint32_t tid;
	uint64_t number;         /* of the chunk in its (thread, level), from 0 */
	uint32_t level;          /* 0; 1, 2: inside signal handlers that
	                          * interrupted a hook of the level below */
	uint32_t interrupted_record; /* level > 0: records the interrupted */
	uint64_t interrupted_chunk;  /* chunk had, and that chunk's number */
	uint64_t process_start;  /* CLOCK_REALTIME ns, image of the process */
	uint64_t tick_begin;     /* the first record's gap counts from here */
	uint64_t tick_end;       /* >= the last record's tick; the recorder
	                          * writes it for a chunk it takes unfinished */
	uint64_t pair_tick;      /* one clock pair, narrowest of three readings */
	uint64_t pair_mono;      /* CLOCK_MONOTONIC ns */
	uint64_t pair_real;      /* CLOCK_REALTIME ns */
	uint64_t pair_width;     /* ticks the reading took: the pair's error */
	uint64_t tick_hz;        /* ticks a second over the recording so far */
	uint64_t tick_hz_error;  /* bound of its error, in parts per billion */
	uint64_t lost[LOST_REASONS];
	uint64_t cpu_begin;      /* CLOCK_THREAD_CPUTIME_ID ns at both ends */
	uint64_t cpu_end;        /* (0: not known) */
	uint64_t thread_name[2]; /* the kernel's name of it, zero-padded */
	uint64_t written;        /* record words in the stream's chunks before
	                          * this one */
	uint64_t checksum;       /* XXH3_64bits of all words, this one taken as
	                          * 0. Zero while filling: record -1 must never
	                          * look like an ENTER. */
};

_Static_assert(sizeof(struct chunk_header) == CHUNK_HEADER_WORDS * 8,
	       "the header is 32 words");
_Static_assert(offsetof(struct chunk_header, checksum) ==
	       (CHUNK_HEADER_WORDS - 1) * 8, "the checksum is the last word");

/* A dictionary word: what function a record's index means.
 *
 *  63                       16 15        4 3    0
 * +---------------------------+-----------+------+
 * | offset in the ELF module  | module    |NATIVE|  module: as its ITEM_MODULE
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
	DICT_MAX_MODULES = 1 << DICT_MODULE_BITS,
};

static inline uint64_t dict_put_native(uint32_t module, uint64_t offset)
{
	return offset << DICT_OFFSET_SHIFT | (uint64_t)module << DICT_KIND_BITS |
	       DICT_NATIVE;
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

/* Items: { type:8 | words:56, payload }, words counting the head word too. A
 * reader skips types it does not know. A string is
 *   { stored bytes:16 | whole length:48 } { XXH64 of the whole, seed 0 }
 *   { bytes, zero-padded to whole words }
 */
enum item_type {
	ITEM_NOTHING = 0, /* room that was set aside and not used */
	ITEM_STACK = 1,   /* the stacks open at the chunk's start, one a chunk:
	                   * segments, then each segment, outermost first:
	                   *   coroutine serial (0: the thread itself), frames,
	                   *   one open-frame word each, outermost first */
	ITEM_MODULE = 2,  /* module number, load bias, size of the mapping from
	                   * the bias, build-id (20 bytes at most: length in the
	                   * lowest byte of the first of 3 words), path string */
	ITEM_LUA = 3,     /* { linedefined:32 | lastlinedefined:32 }
	                   * source string, name string (a hint, may be empty),
	                   * ordinal: which it is of the functions of its whole
	                   * source that have these two lines, in the order of
	                   * the text, a function before those in it (not there
	                   * where 0: the first, the only one, or not known) */
	ITEM_NAME = 4,    /* string: a mark's name */
	ITEM_HINT = 5,    /* dictionary index, string: what Lua calls this C
	                   * function ("string.format") */
	ITEM_LABEL = 6,   /* key string, value string */
	ITEM_PROCESS = 8, /* parent's process serial, path string of the program
	                   * (of this process' image) */
	ITEM_VM = 9,      /* VM serial, { abi:32 | flags:32 } (enum vm_abi,
	                   * enum vm_flag), lua_State address for people,
	                   * serial of the native coroutine it is booked to
	                   * (0: none; not there before) */
	ITEM_OFFCPU = 10, /* pairs of ticks. The first: the switches from, to are
	                   * known. The others, rising, inside it: this thread
	                   * did not run from, to */
	ITEM_NOTE = 11,   /* key string, value string; in CHUNK_META chunks */
	ITEM_LATE = 12,   /* dictionary index: a C function whose returns its VM
	                   * does not tell: it ends at the next event that shows
	                   * it gone, so that its times are upper bounds */
};

enum vm_abi { VM_LUA51 = 51, VM_LUA52 = 52, VM_LUA53 = 53, VM_LUA54 = 54,
	      VM_LUAJIT = 21 };
enum vm_flag {
	VM_PEEK = 1,      /* frames read by a self-checked layout; otherwise
	                   * through the public API */
	VM_JIT_OFF = 2,   /* the JIT was turned off for the recording */
	VM_LATE = 4,      /* C functions' returns are not told: see ITEM_LATE */
	VM_INFERRED = 8,  /* resumes that Lua makes itself are found at the next
	                   * event, not seen */
	VM_QUIET = 16,    /* Lua's own code calls the native hooks, too: these
	                   * calls are not recorded */
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

#endif
