/* test_sym.c - naming by build-id: this very program is the module; copies of
 * it are stripped, split and damaged. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym.h"
#include "analyzer/sym/sym_elf.h"
#include "tests/test.h"
#include "tests/unit/own_elf.h"
#include "tracepoints/demangle.h"

#include <fcntl.h>
#include <libelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The function that is to be named; it is static, so only the symbol table and
 * the debug information know it. */
static __attribute__((noinline)) int find_me(int x)
{
	static volatile int kept;

	kept += x;
	return kept;
}

enum { FIND_ME_LINE = __LINE__ - 8 };

static char dir[64];

static void clean(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (dir[0] != '\0' && system(command) != 0)
		perror("rm");
}

static void make_dir(void)
{
	strcpy(dir, "/tmp/weft-test-sym-XXXXXX");
	if (!mkdtemp(dir))
		dir[0] = '\0';
}

/* Run a command in the folder; $exe is this program. Skips without binutils. */
static int shell(const char *command)
{
	char line[1024];
	char exe[512];
	const ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[size < 0 ? 0 : size] = '\0';
	snprintf(line, sizeof(line), "cd '%s' && exe='%s' && %s", dir, exe,
		 command);
	return system(line);
}

static void make_files(void)
{
	make_dir();
	if (shell("command -v objcopy strip >/dev/null") != 0) {
		clean();
		test_skip("binutils is not installed");
	}
	CHECK_EQ(shell("cp \"$exe\" whole && cp whole prog && "
		       "objcopy --only-keep-debug prog prog.debug && "
		       "strip prog"), 0);
}

static int first_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;
}

/* The function's address in the file. */
static uint64_t offset_of(int (*function)(int))
{
	uint64_t bias = 0;

	dl_iterate_phdr(first_object, &bias);
	return (uint64_t)(uintptr_t)function - bias;
}

/* A session with find_me and a function that is nowhere, in a module of that
 * path, named; the test's way to see the result. */
struct named {
	struct func_table *funcs;
	struct arena *arena;
	struct naming *module;
	const struct func *found, *nowhere;
};

static struct named name(const char *path, const uint8_t *id, size_t id_size,
			 const char *debug_dirs)
{
	const struct sym_options options = { debug_dirs, 20, NULL, NULL };
	struct named n = { func_table_new(), arena_new(), NULL, NULL, NULL };
	const elf_id elf = func_module(n.funcs, path, id, id_size, 1 << 20);
	const func_id found = func_native(n.funcs, elf, offset_of(find_me));
	const func_id nowhere = func_native(n.funcs, elf, 0x10);

	n.module = sym_name(n.funcs, n.arena, &options);
	n.found = func_get(n.funcs, found);
	n.nowhere = func_get(n.funcs, nowhere);
	return n;
}

static void forget(struct named *n)
{
	mem_free(n->module);
	arena_free(n->arena);
	func_table_free(n->funcs);
}

static int ends_with(const char *text, const char *end)
{
	const size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

static void check_whole_name(const struct named *n)
{
	CHECK_STR(n->found->name, "find_me");
	CHECK(ends_with(n->found->file, "tests/unit/test_sym.c"));
	CHECK_EQ(n->found->file_line, FIND_ME_LINE);
	CHECK_EQ(n->module->asked, 2);
	CHECK_EQ(n->module->named, 1);
	CHECK_STR(n->module->why, "");
}

static const char *in_dir(const char *file)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return path;
}

void test_sym_names_a_static_function_with_its_line(void)
{
	uint8_t id[20];
	const size_t size = own_build_id(id);

	find_me(1);
	make_files();
	struct named n = name(in_dir("whole"), id, size, NULL);

	check_whole_name(&n);
	CHECK_STR(n.module->file, in_dir("whole"));
	CHECK_STR(n.nowhere->name, "whole+0x10");
	forget(&n);
	clean();
}

static const char two_functions[] = "int g;\nstatic void a(void){g++;}\n"
	"static void b(void){g--;}\nint main(void){a();b();return 0;}\n";

/* At -O0 and -Os functions stand at odd addresses, too, and the tracer has even
 * ones only; clang numbers source files as gcc does not. */
static void check_compiler(const char *compile)
{
	const struct sym_options options = { NULL, 20, NULL, NULL };
	unsigned long a = 0, b = 0;
	char command[300];
	FILE *file;

	file = fopen(in_dir("two.c"), "w");
	REQUIRE(file);
	fputs(two_functions, file);
	fclose(file);
	snprintf(command, sizeof(command), "%s -g -fno-inline two.c -o two && "
		 "nm two | grep -E ' t (a|b)$' | sort -k 3 | cut -d' ' -f1 "
		 ">list", compile);
	CHECK_EQ(shell(command), 0);
	file = fopen(in_dir("list"), "r");
	REQUIRE(file && fscanf(file, "%lx %lx", &a, &b) == 2);
	fclose(file);

	struct func_table *const funcs = func_table_new();
	struct arena *const arena = arena_new();
	const elf_id elf = func_module(funcs, in_dir("two"), NULL, 0, 0);
	const func_id fa = func_native(funcs, elf, a & ~1ul);
	const func_id fb = func_native(funcs, elf, b & ~1ul);

	mem_free(sym_name(funcs, arena, &options));
	CHECK_STR(func_get(funcs, fa)->name, "a");
	CHECK(ends_with(func_get(funcs, fa)->file, "/two.c"));
	CHECK_EQ(func_get(funcs, fa)->file_line, 2);
	CHECK_STR(func_get(funcs, fb)->name, "b");
	CHECK_EQ(func_get(funcs, fb)->file_line, 3);
	arena_free(arena);
	func_table_free(funcs);
}

void test_sym_reads_what_compilers_write(void)
{
	static const char *const compilers[] = {
		"cc -O0", "cc -Os", "cc -O2 -gdwarf-4", "cc -O2 -gz",
		"clang -O0", "clang -O2", "clang -O2 -gdwarf-4",
		"cc -O2 -no-pie", "cc -flto -O1",
	};
	const int has_clang = system("command -v clang >/dev/null") == 0;

	make_dir();
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++)
		if (compilers[i][1] != 'l' || has_clang)
			check_compiler(compilers[i]);
	clean();
}

void test_sym_names_from_a_debug_folder_when_the_program_is_gone(void)
{
	uint8_t id[20];
	const size_t size = own_build_id(id);

	make_files();
	CHECK_EQ(shell("mkdir d && mv prog.debug d/ && rm prog"), 0);
	struct named n = name("/nonexistent/bin/prog", id, size,
			      in_dir("d"));

	check_whole_name(&n);
	CHECK_STR(n.module->file, in_dir("d/prog.debug"));
	forget(&n);

	/* Whatever its name there; also as the tree of .build-id; also as the
	 * second folder of several. */
	CHECK_EQ(shell("mv d/prog.debug d/other"), 0);
	n = name("/nonexistent/bin/prog", id, size, in_dir("d"));
	check_whole_name(&n);
	forget(&n);

	char hex[41] = "", command[256], folders[200];

	for (size_t i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	snprintf(command, sizeof(command), "mkdir -p e/.build-id/%.2s && "
		 "mv d/other e/.build-id/%.2s/%s.debug", hex, hex, hex + 2);
	CHECK_EQ(shell(command), 0);
	snprintf(folders, sizeof(folders), "/nonexistent:%s/d:%s/e", dir, dir);
	n = name("/nonexistent/bin/prog", id, size, folders);
	check_whole_name(&n);
	forget(&n);
	clean();
}

void test_sym_takes_the_debug_file_of_a_stripped_program(void)
{
	uint8_t id[20];
	const size_t size = own_build_id(id);

	make_files();
	CHECK_EQ(shell("objcopy --add-gnu-debuglink=prog.debug prog"), 0);
	struct named n = name(in_dir("prog"), id, size, NULL);

	check_whole_name(&n);
	CHECK_STR(n.module->file, in_dir("prog.debug"));
	forget(&n);

	CHECK_EQ(shell("rm prog.debug"), 0);
	n = name(in_dir("prog"), id, size, NULL);
	CHECK(strncmp(n.found->name, "prog+0x", 7) == 0);
	CHECK_STR(n.module->why,
		  "stripped, and its debug file was not found");
	forget(&n);
	clean();
}

void test_sym_asks_servers_only_when_told_to(void)
{
	uint8_t id[20];
	const size_t size = own_build_id(id);
	char hex[41] = "", command[256];

	if (system("ldconfig -p | grep -q libdebuginfod.so.1") != 0)
		test_skip("libdebuginfod is not installed");
	make_files();
	for (size_t i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	snprintf(command, sizeof(command), "mkdir -p s/buildid/%s && "
		 "mv prog.debug s/buildid/%s/debuginfo && rm prog", hex, hex);
	CHECK_EQ(shell(command), 0);
	setenv("DEBUGINFOD_CACHE_PATH", in_dir("cache"), 1);
	unsetenv("DEBUGINFOD_URLS");
	struct named n = name("/nonexistent/bin/prog", id, size, NULL);

	CHECK_STR(n.module->why, "its file is not there");
	forget(&n);
	snprintf(command, sizeof(command), "file://%s/s/", dir);
	setenv("DEBUGINFOD_URLS", command, 1);
	n = name("/nonexistent/bin/prog", id, size, NULL);
	check_whole_name(&n);
	forget(&n);
	unsetenv("DEBUGINFOD_URLS");
	clean();
}

void test_sym_refuses_another_build(void)
{
	uint8_t id[20];
	const size_t size = own_build_id(id);

	make_files();
	id[0] ^= 1;
	struct named n = name(in_dir("whole"), id, size, dir);

	CHECK(strncmp(n.found->name, "whole+0x", 8) == 0);
	CHECK(strstr(n.module->why, "/whole was replaced: build-id differs")
	      != NULL);
	CHECK(n.module->is_refused);
	CHECK_STR(n.module->file, "");
	CHECK_EQ(n.module->named, 0);
	forget(&n);
	clean();
}

void test_sym_says_when_there_is_no_file(void)
{
	uint8_t id[20] = { 1, 2, 3 };
	struct named n = name("/nonexistent/x/../prog", id, 20, NULL);

	CHECK_STR(n.module->why, "its file is not there");
	CHECK_STR(n.nowhere->name, "prog+0x10");
	forget(&n);
}

/* Whatever a damaged file does to its reader, the report goes on. */
void test_sym_survives_damaged_files(void)
{
	uint8_t id[20];
	const size_t size = own_build_id(id);

	make_files();
	for (unsigned seed = 1; seed <= 24; seed++) {
		char command[200];

		snprintf(command, sizeof(command), "cp whole bad && "
			 "s=$(stat -c %%s bad) && for i in 1 2 3 4 5 6; do "
			 "printf '\\377\\001\\200' | dd of=bad bs=1 "
			 "seek=$(( (%u * 7919 + i * 104729 * %u) %% s )) "
			 "conv=notrunc 2>/dev/null; done", seed, seed);
		CHECK_EQ(shell(command), 0);
		struct named n = name(in_dir("bad"), id, size, NULL);

		CHECK(n.found->name[0] != '\0');
		forget(&n);
	}
	CHECK_EQ(shell("head -c 3000 whole > bad; : > empty; mkfifo fifo"), 0);
	static const char *const files[] = { "bad", "empty", "fifo", "." };

	for (size_t i = 0; i < 4; i++) {
		struct named n = name(in_dir(files[i]), id, size, NULL);

		CHECK(n.found->name[0] != '\0');
		forget(&n);
	}
	clean();
}

void test_sym_demangles(void)
{
	CHECK_STR(sym_demangle("plain"), "plain");
	CHECK_STR(sym_demangle("_ZZZ"), "_ZZZ");
	CHECK_STR(sym_demangle("_ZN3foo3barEi"), "foo::bar(int)");
	CHECK_STR(sym_demangle("_D7d_fiber4leafFiZv"), "d_fiber.leaf(int)");
	CHECK_STR(sym_demangle("_Dmain"), "D main");
	CHECK_STR(sym_demangle("_Dplain"), "_Dplain");
	CHECK_STR(sym_demangle("_RNvC3foo3bar"), "foo::bar");
	CHECK_STR(sym_demangle("_Z1fNSt7__cxx1112basic_stringIcSt11char_traits"
			       "IcESaIcEEESt17basic_string_viewIcS2_E"),
		  "f(std::string, std::string_view)");
	CHECK_STR(sym_demangle("_"), "_");
}

/* As gcc 12 and gcc 16 name what resumes and destroys a coroutine. */
void test_sym_demangles_parts_of_coroutines(void)
{
	enum { HOSTILE = 1 << 24 };
	static const char end[] = ".Frame*) [clone .actor]";
	char *const name = malloc(HOSTILE + sizeof(end));

	CHECK_STR(sym_demangle("_ZN3app8generateEPZNS_8generateEiE24"
			       "_ZN3app8generateEi.Frame.actor"),
		  "app::generate(int) [resumed]");
	CHECK_STR(sym_demangle("_ZN3app8generateEPNS_24_ZN3app8generateEi."
			       "FrameE.destroy"),
		  "app::generate(int) [destroyed]");
	/* A name that no symbol can be is not taken for one. */
	memset(name, 'i', HOSTILE);
	memcpy(name, "f(_Z1f", 6);
	memcpy(name + HOSTILE, end, sizeof(end));
	CHECK(demangle_coroutine(name, DEMANGLE_LONGEST, DMGL_PARAMS |
				 DMGL_NO_RECURSE_LIMIT) == name);
	free(name);
}

static void check_joint(const char *wanted, const char *a, const char *b,
			const char *c)
{
	const char *const symbols[] = { a, b, c };
	char *const name = sym_symbols_name(symbols, c ? 3 : 2);

	CHECK_STR(name, wanted);
	mem_free(name);
}

/* As they stand in the symbol tables of libc, libstdc++ and what gcc makes. */
void test_sym_names_functions_at_one_address_together(void)
{
	check_joint("a, b", "b", "a", NULL);
	check_joint("f(), f(int)", "_Z1fi", "_Z1fv", "_Z1fi");
	check_joint("A::A(int)", "_ZN1AC1Ei", "_ZN1AC2Ei", NULL);
	check_joint("write", "__write", "__libc_write", "write");
	check_joint("puts", "_IO_puts", "puts", NULL);
	check_joint("regexec", "regexec@@GLIBC_2.3.4", "regexec@GLIBC_2.2.5",
		    "__regexec");
	check_joint("f", "f.localalias", "f", "f.part.0");
	check_joint("foo()", "_Z3foov.part.0", "_Z3foov", NULL);
	check_joint("a_init, init", "init", "a_init", NULL);
	check_joint("_a, b", "b", "_a", NULL);
}

static void check_lua(const char *source, uint32_t line, const char *hint,
		      const char *wanted_name, const char *wanted_file)
{
	struct arena *const arena = arena_new();
	struct func f = { .kind = FUNC_LUA, .source = source, .line = line,
			  .hint = hint };

	sym_lua_name(&f, arena);
	CHECK_STR(f.name, wanted_name);
	CHECK_STR(f.file, wanted_file);
	CHECK_EQ(f.file_line, line);
	arena_free(arena);
}

void test_sym_names_lua_functions(void)
{
	check_lua("@src/app.lua", 12, "handler", "handler <app.lua:12>",
		  "src/app.lua");
	check_lua("@app.lua", 12, "", "function <app.lua:12>", "app.lua");
	check_lua("@app.lua", 12, "?", "function <app.lua:12>", "app.lua");
	check_lua("@app.lua", 0, "", "main chunk <app.lua>", "app.lua");
	check_lua("=stdin", 1, "f", "f <stdin:1>", "stdin");
	check_lua("return 1", 0, "", "main chunk <[string \"return 1\"]>",
		  "[string \"return 1\"]");
	check_lua("x = 1\ny = 2", 3, "g", "g <[string \"x = 1...\"]:3>",
		  "[string \"x = 1...\"]");
	/* As luaO_chunkid of 5.4 cuts them. */
	check_lua("return '23456789012345678901234567890123456'", 1, "f",
		  "f <[string \"return "
		  "'23456789012345678901234567890123456'\"]:1>",
		  "[string \"return '23456789012345678901234567890123456'\"]");
	check_lua("return '234567890123456789012345678901234567'", 1, "f",
		  "f <[string \"return "
		  "'234567890123456789012345678901234567'...\"]:1>",
		  "[string \"return "
		  "'234567890123456789012345678901234567'...\"]");
	check_lua("", 1, "", "function <?:1>", "?");
	check_lua("@", 1, "", "function <?:1>", "?");
}

void test_sym_tells_lua_functions_on_the_same_lines_apart(void)
{
	static const struct { uint32_t ordinal; const char *hint, *name; }
	cases[] = {
		{ 0, "f", "f <x.lua:1>" }, { 1, "f", "f <x.lua:1#2>" },
		{ 2, "", "function <x.lua:1#3>" },
		{ 65535, "?", "function <x.lua:1#65536>" } };
	struct arena *const arena = arena_new();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct func f = { .kind = FUNC_LUA, .source = "@src/x.lua",
				  .line = 1, .ordinal = cases[i].ordinal,
				  .hint = cases[i].hint };

		sym_lua_name(&f, arena);
		CHECK_STR(f.name, cases[i].name);
		CHECK_STR(f.file, "src/x.lua");
		CHECK_EQ(f.file_line, 1);
	}
	arena_free(arena);
}

void test_sym_falls_back_to_hints(void)
{
	const struct sym_options options = { NULL, 20, NULL, NULL };
	struct func_table *const funcs = func_table_new();
	struct arena *const arena = arena_new();
	const elf_id elf = func_module(funcs, "/nonexistent/liblua.so", NULL,
				       0, 4096);
	const func_id format = func_native(funcs, elf, 0x40);
	const func_id code = func_code(funcs, 0x7f0000001000);
	const func_id mark = func_name(funcs, "here");

	func_hint(funcs, format, "string.format");
	mem_free(sym_name(funcs, arena, &options));
	CHECK_STR(func_get(funcs, format)->name, "string.format");
	CHECK_STR(func_get(funcs, code)->name, "code at 0x7f0000001000");
	CHECK_STR(func_get(funcs, mark)->name, "here");
	arena_free(arena);
	func_table_free(funcs);
}
