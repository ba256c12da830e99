#!/bin/bash
# What "make yardstick" compares with, counted by hand: how two lists of shares
# agree, the code that perf's samples are in, and the functions of weft's report.
# SPDX-License-Identifier: MIT
. tests/lib.sh
yardstick() { lua5.4 tests/bench/yardstick.lua "$@"; }

# Two runs, together 40, 30, 20 and 10 %; the other way round, 30 % are elsewhere
# and five of six pairs are not in order. The runs: 50, 30, 10, 10 % and 30, 30,
# 30, 10 %: 20 % of noise, which leaves the root of 500 %%.
printf '%s\n' '5 a' '3 b' '1 c' '1 d' >"$T/one"
printf '%s\n' '3 a' '3 b' '3 c' '1 d' >"$T/two"
printf '%s\n' '10 a' '30 b' '20 c' '40 d' >"$T/turned"
printf '%s\n' '400 a' '300 b' '200 c' '100 d' >"$T/same"
printf '%s\n' '1 a' '1 b' '2 other' >"$T/other"
yardstick table 1 "$T/one" "$T/two" -- turned "$T/turned" same "$T/same" \
	other "$T/other" >"$T/table" || fail "no table"
sed 's/  */ /g; s/ $//' "$T/table" >"$T/out"
# "other" ties a with b, and c with d: 4 pairs of sqrt(6 * 4). The runs tie three
# pairs and one: 2 of sqrt(3 * 5).
diff - "$T/out" <<'END' || fail "another table"
 top 10 tau 30 misplaced noise taken out
turned 4 of 4 -0.67 30.0% 22.4%
same 4 of 4 1.00 0.0% 0.0%
other 2 of 4 0.82 50.0% 45.8%
a run of perf's, the others 4 of 4 0.52 20.0%

self: perf, turned, same, other
 40.0% 10.0% 40.0% 25.0% a
END

# Ten of fifteen: the first ten of one are 1 to 10, of the other 6 to 15.
for i in $(seq 15); do echo "$((100 - i)) f$i"; done >"$T/one"
for i in $(seq 15); do echo "$((100 + i)) f$i"; done >"$T/two"
yardstick table 0 "$T/one" "$T/one" -- x "$T/two" | grep -q '^x  *5 of 10 ' ||
	fail "not five of ten"

# A sample in inner, which is inlined into outer, is inner's if the build with
# the flag has inner. Samples of a PLT or of another module are no function's.
cat >"$T/main.c" <<'C'
#include <stdlib.h>
volatile int sink;
#ifndef INLINE
#define INLINE inline __attribute__((always_inline))
#endif
static INLINE void inner(void)
{
	sink = sink * 7;
}
__attribute__((noinline)) void outer(void) { inner(); }
__attribute__((noinline)) void alone(void) { sink = 2; }
int main(void) { outer(); alone(); return rand(); }
C
gcc -g -O2 -o "$T/plain" "$T/main.c" &&
	gcc -O2 -DINLINE='__attribute__((noinline))' -o "$T/with" \
		"$T/main.c" ||
	fail "no programs"
at() { nm "$T/plain" | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
text=$(readelf -SW "$T/plain" | sed -n 's/.* \.text *PROGBITS *//p')
read -r address offset size rest <<<"$text"
plt=$(readelf -SW "$T/plain" | sed -n 's/.* \.plt *PROGBITS *\([^ ]*\).*/0x\1/p')
{
	# The page of the file in which its code begins is at 0x500000.
	page=$((0x$offset / 4096 * 4096))
	printf '%s PERF_RECORD_MMAP2 1/1: [0x500000(0x%x) @ 0x%x 0:0 1 1]: %s\n' \
		program $((0x$offset - page + 0x$size)) $page "r-xp $T/plain"
	for where in $(($(at outer) + 6)) $(($(at alone))) $(($(at alone))) \
		$((plt)); do
		printf '  %x (%s)\n' $((where - 0x$address + 0x$offset - \
			page + 0x500000)) \
			"$T/plain"
	done
	printf '  %x (%s)\n' $((0x900000)) /lib/libc.so.6
} >"$T/script"
yardstick perf "$T/plain" "$T/with" <"$T/script" | sort >"$T/shares" &&
	diff - "$T/shares" <<<$'1 inner\n2 alone' || fail "inlined: other shares"
yardstick perf "$T/plain" "$T/plain" <"$T/script" | sort >"$T/shares" &&
	diff - "$T/shares" <<<$'1 outer\n2 alone' || fail "without: other shares"

# Of weft's report, native functions of that program, by time on the CPU.
cat >"$T/csv" <<'END'
function,language,module,self_ns,cpu_ns
f,native,/bin/p,9,5
g.part.0,native,/bin/p,9,2
g,native,/bin/p,9,3
h [sampled],native,/bin/p,9,7
rand@plt [sampled],native,/bin/p,9,7
"operator,()",native,/bin/p,9,0
memcpy [sampled],native,/lib/libc.so.6,9,9
f,Lua,/bin/p,9,9
END
yardstick weft /bin/p <"$T/csv" | sort >"$T/shares" &&
	diff - "$T/shares" <<<$'5 f\n5 g\n7 h' || fail "weft: other shares"
exit 0
