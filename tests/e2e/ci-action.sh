#!/bin/bash
# The action of docs/ci.md, its steps run as GitHub runs them: it builds and
# records both sides, passes if they call the same, fails with 4 if the head
# calls a function once more, and draws the page in either case. weft is this
# tree's build; the flags that weft would be built with there are looked at.
# SPDX-License-Identifier: MIT
. tests/lib.sh
tree=$PWD
unset MAKEFLAGS MFLAGS MAKELEVEL

# The job's environment goes to $T/env; each step to a folder of its own, with
# its keys as files. Other keys and forms are not understood.
mkdir "$T/steps" "$T/bin"
sed -n '/^```yaml$/,/^```$/p' docs/ci.md | sed '1d;$d' >"$T/weft.yml"
awk -v to="$T/steps/" -v env="$T/env" '
	function bad() { print "line " NR ": " $0; status = 1; exit 1 }
	function text(s) { sub(/^[^:]*: */, "", s); sub(/ +#.*/, "", s); return s }
	/^          / && block { sub(/^          /, ""); print >block; next }
	{ block = "" }
	/^        with:$/ { is_with = 1; next }
	is_with && /^          [a-z]+: / { next }
	is_with && /^            / { print $1 >(step "/files"); next }
	{ is_with = 0 }
	/^(name|on|jobs):/ || /^  [a-z]+:$/ || /^    (runs-on|env|steps):/ { next }
	/^      [A-Z]+: / { sub(/^ */, ""); sub(/: */, "="); sub(/ +#.*/, "")
		print >env; next }
	/^      - name: / { step = to sprintf("%02d", ++n)
		system("mkdir " step); print text($0) >(step "/name"); next }
	!step { bad() }
	/^        run: \|$/ { block = step "/run"; next }
	/^        (run|shell|if|uses): / { print text($0) >(step "/" substr($1, 1,
		length($1) - 1)); next }
	/^        with: \{.*path: [a-z]+/ { sub(/.*path: /, ""); sub(/[ ,].*/, "")
		print >(step "/path"); next }
	{ bad() }
	END { exit status }' "$T/weft.yml" >"$T/e" || fail "docs/ci.md: $(cat "$T/e")"

# What a machine of GitHub has.
cat >"$T/bin/sudo" <<'END'
#!/bin/sh
echo "$*" >>"$LOG"
END
chmod +x "$T/bin/sudo"

# side FOLDER CALLS: a program that makes so many calls of its last function.
side() {
	mkdir -p "$1/tests"
	echo abc >"$1/tests/input.txt"
	printf 'program: program.c\n\t$(CC) $(CFLAGS) -o $@ $<\n' >"$1/Makefile"
	cat >"$1/program.c" <<-END
	#include <stdio.h>
	__attribute__((noinline)) int letter(int c) { return c + 1; }
	__attribute__((noinline)) int last(int c) { return letter(c) * 2; }
	int main(int argc, char **argv)
	{
		FILE *const f = argc == 2 ? fopen(argv[1], "r") : NULL;
		int c, sum = 0;
		if (!f)
			return 1;
		while ((c = getc(f)) != EOF)
			sum += letter(c);
		for (int i = 0; i < $2; i++)
			sum += last(i);
		return sum == 0;
	}
	END
}

# action NAME CALLS: the steps in the folder $T/NAME, where the base makes 3 calls
# and the head so many; each step's status goes to $T/NAME/status.
action() {
	local step status failed= shell
	mkdir -p "$T/$1/weft"
	cd "$T/$1" || exit 1
	side base 3
	side head "$2"
	ln -s "$tree/tests" weft/tests
	ln -s "$B" weft/build
	printf 'all:\n\t@$(MAKE) -n -C %s B=%s >../flags\n' "$tree" "$T/none" \
		>weft/Makefile
	: >path
	for step in "$T"/steps/*; do
		[ -z "$failed" ] || grep -qsx 'always()' "$step/if" || continue
		if [ -e "$step/path" ]; then
			[ -d "$(cat "$step/path")" ] || fail "no $(cat "$step/path")"
		elif [ -e "$step/files" ]; then
			ls $(cat "$step/files") >o 2>&1 || fail "files: $(cat o)"
		fi
		[ -e "$step/run" ] || continue
		shell="bash -e"
		[ ! -e "$step/shell" ] ||
			shell="$(cat "$step/shell") --noprofile --norc -eo pipefail"
		env -u B LOG="$T/$1/sudo" GITHUB_PATH="$T/$1/path" \
			PATH="$(tac path | tr '\n' :)$T/bin:$PATH" \
			"${environment[@]}" $shell "$step/run" >o 2>&1
		status=$?
		[ $status = 0 ] || failed=1
		echo "$(cat "$step/name"): $status" >>status
		cat o >>all
	done
	cd "$tree" || exit 1
}
mapfile -t environment <"$T/env"
printf '%s\n' "${environment[@]}" | grep -q '^CFLAGS=.*-finstrument-functions' ||
	fail "environment: $(cat "$T/env")"

# is NAME STATUS: all steps but Compare succeeded, and what they leave is there.
is() {
	local of=$T/$1
	printf '%s: 0\n' 'Build weft' 'Build and record both' "Compare" Draw |
		sed "s/^Compare: 0/Compare: $2/" | cmp -s - "$of/status" ||
		fail "$1: $(cat "$of/status" "$of/all")"
	grep -q '</html>' "$of/diff.html" || fail "$1: no page"
}
action same 3
is same 0
grep -qx 'every function is called as often as before' "$T/same/counts.txt" ||
	fail "same: $(cat "$T/same/counts.txt")"
action more 4
is more 4
grep -q '"last" is called' "$T/more/all" || fail "more: $(cat "$T/more/all")"
grep -q '^+1 .* last$' "$T/more/counts.txt" ||
	fail "more: $(cat "$T/more/counts.txt")"

# The packages; and the flag, which is for the program, is not for weft.
grep -q '^apt-get install -y gcc .*liblttng-ust-dev' "$T/same/sudo" ||
	fail "packages: $(cat "$T/same/sudo")"
grep -q 'hook\.c' "$T/same/flags" || fail "weft is not built"
! grep -q -e '-finstrument-functions' "$T/same/flags" ||
	fail "weft is built as the program is"
echo "$(ls "$T/steps" | wc -l) steps; equal: 0; a call more: 4"
