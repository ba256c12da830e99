#!/bin/bash
# layers-seen.sh - layers.sh accepts a small made-up tree, and complains of each
# kind of fault that is put into it.
# SPDX-License-Identifier: MIT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(mktemp -d "${T:-/tmp}/layers-XXXXXX")
trap 'rm -rf "$top"' EXIT

# Two folders; analyzer/cmd may see analyzer/base. In analyzer/base, text stands
# on mem. A header without a .c file may need the header of one that needs it.
tree() {
	rm -rf "$top/tree"
	mkdir -p "$top/tree/tests" "$top/tree/tracepoints" "$top/tree/tracer"
	cd "$top/tree"
	cp "$here/layers.sh" "$here/layers.awk" tests/
	mkdir -p analyzer/base analyzer/cmd
	printf '%s\n' 'tracepoints:' 'analyzer/base:' \
		'analyzer/cmd: analyzer/base' >tests/layers.txt
	echo >tracepoints/record.h
	printf '%s\n' '#pragma once' 'int mem(void);' >analyzer/base/mem.h
	source analyzer/base/mem 'int mem(void) { return 1; }' mem inside
	source analyzer/base/text 'int text(void) { return mem(); }' mem
	printf '%s\n' '#pragma once' '#include "analyzer/base/mem.h"' \
		>analyzer/base/inside.h
	source analyzer/cmd/cmd 'int cmd(void) { return mem(); }' mem
}

# source STEM TEXT [HEADER...]: STEM.c, which includes headers of analyzer/base.
source() {
	local stem=$1 text=$2 name
	shift 2
	for name in "$@"; do
		echo "#include \"analyzer/base/$name.h\""
	done >"$stem.c"
	echo "$text" >>"$stem.c"
}

check() {
	local f
	for f in analyzer/*/*.c; do
		mkdir -p "build/obj/${f%/*}"
		cc -I. -w -std=gnu89 -c -o "build/obj/${f%.c}.o" "$f"
	done
	B=build sh tests/layers.sh "$@" >said 2>&1
}

# expect KIND MESSAGE
expect() {
	if check --list; then
		echo "layers.sh does not notice: $1"
		exit 1
	elif ! grep -qx -- "$2" said; then
		echo "layers.sh says of \"$1\":"
		cat said
		echo "and not: $2"
		exit 1
	fi
}

tree
check || {
	echo "layers.sh does not accept a good tree:"
	cat said
	exit 1
}

tree
mkdir analyzer/attic
echo >analyzer/attic/old.h
expect "a folder that is not listed" \
	"analyzer/attic/old.h: its folder is not in tests/layers.txt"

tree
echo 'analyzer/gone:' >>tests/layers.txt
expect "a listed folder that is gone" \
	"tests/layers.txt: no source in analyzer/gone/"

tree
echo >analyzer/cmd/cmd.h
echo '#include "analyzer/cmd/cmd.h"' >>analyzer/base/mem.h
expect "an include of a higher folder" \
	"analyzer/base/mem.h: may not include analyzer/cmd/cmd.h"

tree
echo '#include "mem.h"' >>analyzer/base/text.c
expect "an include that does not begin at the root" \
	"analyzer/base/text.c: include from the root: mem.h"

tree
source analyzer/base/text 'int text(void) { return cmd(); }'
expect "a call of a higher folder" \
	"analyzer/base/text.c: may not refer to analyzer/cmd/cmd.c: cmd"

tree
echo >analyzer/base/text.h
echo '#include "analyzer/base/text.h"' >>analyzer/base/mem.h
expect "a circle of .c files by includes" \
	"circle of 2 files: analyzer/base/mem analyzer/base/text"
grep -qx '  analyzer/base/mem -> analyzer/base/text: include' said

tree
echo '#include "analyzer/base/inside.h"' >>analyzer/base/mem.h
expect "a circle of headers" \
	"circle of 2 files: analyzer/base/\(inside.h analyzer/base/mem.h\|mem.h\
 analyzer/base/inside.h\)"

tree
source analyzer/base/mem 'int mem(void) { return text(); }'
expect "a circle of files by symbols" \
	"circle of 2 files: analyzer/base/mem analyzer/base/text"
grep -qx '  analyzer/base/mem -> analyzer/base/text: text' said

tree
source analyzer/base/mem 'extern int count; int mem(void) { return count; }'
source analyzer/base/text 'int count;' mem
expect "a circle by an include and a variable" \
	"circle of 2 files: analyzer/base/mem analyzer/base/text"

tree
sed -i 's|^analyzer/base:|& analyzer/cmd|' tests/layers.txt
expect "a circle of folders" \
	"circle of 2 folders: analyzer/base/ analyzer/cmd/"

# An object that is built once for each version of something has its number.
tree
source analyzer/base/mem 'int mem(void) { return text(); }'
check || :
mv build/obj/analyzer/base/mem.o build/obj/analyzer/base/mem-54.o
cc -x c -c -o build/obj/analyzer/base/mem.o /dev/null
B=build sh tests/layers.sh >said && {
	echo "layers.sh does not see the objects of a version"
	exit 1
}
exit 0
