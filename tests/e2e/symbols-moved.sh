#!/bin/bash
# A stripped C and a stripped C++ program, recorded in one folder and named in
# another: from their debug files by debug folder, .gnu_debuglink (whose checksum
# is looked at) and .build-id; also calls that were inlined. Once the binary was
# replaced, nothing is named, and the report says why.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
mkdir -p "$T/src" "$T/there" "$T/debug" "$T/more"
cat >"$T/src/c.c" <<'C'
static inline int inlined(int x) { return x * 3; }
static __attribute__((noinline)) int plain(int x) { return inlined(x) + 1; }
int main(void)
{
	volatile int sum = 0;

	for (int i = 0; i < 7; i++)
		sum += plain(i) + inlined(i);
	return 0;
}
C
cat >"$T/src/cc.cc" <<'C'
namespace shop {
template <class T> struct till {
	T sum = 0;
	__attribute__((noinline)) void put(T x) { sum += x; }
};
}
int main()
{
	shop::till<long> t;
	auto twice = [&](int x) __attribute__((noinline)) {
		t.put(x);
		t.put(x);
	};

	for (int i = 0; i < 5; i++)
		twice(i);
	return 0;
}
C
line() {
	grep -n "$2" "$T/src/$1" | head -n 1 | cut -d: -f1
}
# named FILE PATTERN CALLS SOURCE LINE
named() {
	local pattern=$1 calls=$2 file=$3 line=$4
	awk -F, -v n="$calls" -v f="$file" -v l="$line" -v p="$pattern" '
		index($0, p) && $0 ~ f "," l "," n "," { found = 1 }
		END { exit !found }' "$T/report.csv" ||
		fail "no $pattern at $file:$line with $calls calls:" \
			"$(cat "$T/report.csv")"
}
split() {
	objcopy --only-keep-debug "$T/there/$1" "$T/debug/$1.debug"
	cp "$T/there/$1" "$T/$1.whole"
	strip "$T/there/$1"
	(cd "$T/debug" && objcopy --add-gnu-debuglink="$1.debug" \
		"$T/there/$1")
}
check_c() {
	report "$@"
	named plain 7 c.c "$(line c.c 'int plain')"
	named inlined 14 c.c "$(line c.c 'int inlined')"
	named main 1 c.c "$(line c.c 'int main')"
}
check_cc() {
	report "$@"
	named "shop::till<long>::put(long)" 10 cc.cc "$(line cc.cc 'void put')"
	named "::operator()(int)" 5 cc.cc \
		"$(line cc.cc 'auto twice')"
}

for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	[ $compiler = gcc ] && plus=g++ || plus=clang++
	rm -rf "$T/debug" && mkdir "$T/debug"
	(cd "$T/src" && $compiler -O2 -g -Wl,--build-id \
		-finstrument-functions c.c -o "$T/there/c" &&
	$plus -O2 -g -Wl,--build-id -finstrument-functions cc.cc \
		-o "$T/there/cc") || fail "$compiler fails"
	split c
	split cc

	record "$T/there/cc" || fail "weft record fails"
	check_cc --debug-dir "$T/more" --debug-dir "$T/debug"
	record "$T/there/c" || fail "weft record fails"
	check_c --debug-dir "$T/debug"
	report
	grep -q 'c without a name: stripped, and its debug file was not' \
		"$T/report.err" || fail "stripped, and nobody says so"
	# Beside the program; with another checksum it is another file.
	cp "$T/debug/c.debug" "$T/there/c.debug"
	check_c
	printf x >>"$T/there/c.debug"
	report
	grep -q '^plain,' "$T/report.csv" &&
		fail "a debug file with a wrong checksum names"
	rm "$T/there/c.debug"
	# The program went; the trace moves away.
	mv "$T/there/c" "$T/c.stripped"
	id=$(readelf -n "$T/c.stripped" | sed -n 's/.*Build ID: //p')
	mkdir -p "$T/store/.build-id/${id:0:2}"
	cp "$T/debug/c.debug" "$T/store/.build-id/${id:0:2}/${id:2}.debug"
	check_c --debug-dir "$T/more:$T/store"
	# Another build in its place: its names would be wrong.
	(cd "$T/src" && $compiler -O0 -g -Wl,--build-id \
		-finstrument-functions c.c -o "$T/there/c")
	report
	grep -Eq '^(plain|inlined|main),' "$T/report.csv" &&
		fail "names of another build"
	grep -q '/there/c was replaced: build-id differs' "$T/report.err" ||
		fail "nobody says that it was replaced: $(cat "$T/report.err")"
	# Its debug file names it all the same.
	check_c --debug-dir "$T/debug"
	rm -rf "$T/store" "$T/there/c"
done
