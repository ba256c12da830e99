#!/bin/bash
# weft coverage knows why each function of a program was not recorded: never called,
# a source built without the flag, the no_instrument attribute, gcc's exclude
# lists, inlined everywhere; of a stripped module it says that it cannot know.
# With gcc and clang, with and without a PLT, at a fixed address, as a library.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
cat >"$T/skip.h" <<'C'
static inline int from_header(int x) { return x - 4; }
C
cat >"$T/a.c" <<'C'
#include "skip.h"
int plain_ran(int), plain_never(int);
static inline int small(int x) { return x * 3 + 1; }
__attribute__((noinline, no_instrument_function)) int quiet(int x)
{
	return small(x) + 2;
}
static inline __attribute__((always_inline, no_instrument_function))
int always(int x) { return x % 7; }
__attribute__((noinline)) int hot(int x)
{
	return small(x) + quiet(x) + always(x) + from_header(x);
}
__attribute__((noinline)) int never(int x) { return small(x) - 1; }
static __attribute__((noinline)) int listed(int x) { return x ^ 5; }
int main(int count, char **words)
{
	volatile int sum = 0;

	(void)words;
	for (int i = 0; i < 10; i++)
		sum += hot(i) + listed(i) + plain_ran(i);
	return count > 5 ? never(sum) + plain_never(sum) : 0;
}
C
cat >"$T/b.c" <<'C'
int plain_ran(int x) { return x + 1; }
int plain_never(int x) { return x + 2; }
C
never="never called"
excluded="no_instrument_function or exclude list"
unflagged="built without -finstrument-functions"
inlined="inlined everywhere, without the hook"

# is FUNCTION CALLS WHY: as weft coverage --all has it, "" for ran.
is() {
	local row
	row=$(awk -F'\t' -v f="$1" '$1 == f { print $2 "\t" $3 }' "$T/rows")
	[ "$row" = "$2	${3:-ran}" ] ||
		fail "$label: $1 is \"$row\", not \"$2 ${3:-ran}\":" \
			"$(cat "$T/rows")"
}
# rows [OPTION...]: name, calls, why; names here have no comma.
rows() {
	"$WEFT" coverage --all --csv "$@" "$T/trace" 2>"$T/coverage.err" |
		sed -E 's/"(inlined everywhere), (without the hook)"/\1; \2/' |
		awk -F, 'NR > 1 { sub(/;/, ",", $9)
			print $1 "\t" $7 "\t" $9 }' >"$T/rows"
	grep -qx '# nothing was lost' "$T/coverage.err" || fail "weft coverage fails"
}
build() {
	local compiler=$1
	shift
	(cd "$T" && $compiler -c -g "$@" b.c -o b.o &&
	$compiler -g -Wl,--build-id -finstrument-functions "$@" a.c b.o \
		-o prog) || fail "$label: $compiler fails"
	record "$T/prog" || fail "$label: weft record fails"
	rows
}
common() {
	is main 1
	is hot 10
	is small 20
	is never 0 "$never"
	is quiet 0 "$excluded"
	is always 0 "$inlined"
	is plain_ran 0 "$unflagged"
	is plain_never 0 "$unflagged"
}

for label in "gcc -O0" "gcc -O2" "gcc -O3 -fno-plt" "gcc -Os -fno-pie -no-pie" \
	"gcc -O2 -gdwarf-4 -fcf-protection -Wl,-z,now" \
	"clang -O0" "clang -O2" "clang -O1 -fno-plt"; do
	command -v ${label%% *} >/dev/null || continue
	# shellcheck disable=SC2086
	build $label
	common
	is listed 10
	is from_header 10
done

label="exclude lists"
build gcc -O2 -finstrument-functions-exclude-function-list=listed \
	-finstrument-functions-exclude-file-list=skip.h
common
is listed 0 "$excluded"
is from_header 0 "$inlined"

# From the symbol table alone: which are excluded cannot be told.
label="no debug information"
cp "$T/prog" "$T/whole"
objcopy --strip-debug "$T/prog"
rows
is hot 10
is never 0 "$never"
is quiet 0 "not instrumented"

label=stripped
strip "$T/prog"
rows
grep -q "/prog: cannot know: stripped" "$T/coverage.err" ||
	fail "a stripped program is known: $(cat "$T/coverage.err" "$T/rows")"
grep -qE '^(never|quiet)' "$T/rows" && fail "names of a stripped program"
# Names from the debug file, code from the program; then without the program.
objcopy --only-keep-debug "$T/whole" "$T/prog.debug"
rows --debug-dir "$T/prog.debug"
common
rm "$T/prog"
rows --debug-dir "$T/prog.debug"
is hot 10
is never 0 "not known: its machine code was not read"

# Another build in its place.
(cd "$T" && gcc -O1 -g -finstrument-functions a.c b.c -o prog)
rows
grep -q "cannot know: .*was replaced: build-id differs" "$T/coverage.err" ||
	fail "another build is read: $(cat "$T/coverage.err")"

# As a library: each function's own address stands in the GOT.
label=library
(cd "$T" && gcc -O2 -g -fPIC -shared -finstrument-functions a.c b.c \
	-o liba.so -Dmain=run && echo 'int run(int, char **);
int main(void) { return run(1, 0); }' >m.c &&
	gcc -g m.c liba.so -Wl,-rpath,"$T" -o prog) || fail "no library"
record "$T/prog" || fail "weft record fails"
rows
is run 1
is hot 10
is never 0 "$never"
is plain_never 0 "$never"
is quiet 0 "$excluded"
