#!/bin/bash
# weft plot: a valid SVG with the names, a PNG, a PDF; the format that the file's
# name says; and a clear word when gnuplot is missing.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
command -v gnuplot >/dev/null || { echo "gnuplot is not installed"; exit 77; }
make_trace t coroutines=1
cd "$T" || exit 1
"$W" plot -o hot.svg t 2>err || fail "plot fails: $(cat err)"
grep -q 'plot written to hot.svg' err || fail "does not say where"
if command -v xmllint >/dev/null; then
	xmllint --noout hot.svg || fail "no valid XML"
fi
for text in 'made-up+0x1000' 'body &lt;made-up.lua:20>' native Lua 'self time'; do
	grep -qF "$text" hot.svg || fail "the plot lacks $text"
done
"$W" plot lattency t 2>err
[ $? = 1 ] && grep -q 'no kind of plot "lattency"; did you mean "latency"?' \
	err || fail "no guess: $(cat err)"
"$W" plot t 2>err && [ -s t.svg ] || fail "no t.svg beside the trace"
"$W" plot t t 2>err && [ -s merged.svg ] || fail "no merged.svg: $(cat err)"

# is KIND FILE: the file begins as one of that kind.
is() {
	local begin
	begin=$(head -c 4 "$2" | tr -dc 'A-Za-z%<?')
	case $1$begin in
	svg'<?xm' | pngPNG | pdf%PDF) ;;
	*) fail "$2 is no $1: it begins with $begin" ;;
	esac
}
is svg t.svg
"$W" plot --format png t 2>err || fail "no png: $(cat err)"
is png t.png
"$W" plot -o hot.png t 2>err || fail "no png by its name: $(cat err)"
is png hot.png
if gnuplot -e 'set terminal pdfcairo' 2>/dev/null; then
	"$W" plot -o hot.pdf t 2>err || fail "no pdf: $(cat err)"
	is pdf hot.pdf
	"$W" plot -f pdf -o - t >piped.pdf 2>err || fail "no pdf: $(cat err)"
	is pdf piped.pdf
fi

# Standard output gets the same as a file; no file is named "-".
"$W" plot -o - t >piped.svg 2>err || fail "not to stdout: $(cat err)"
cmp hot.svg piped.svg || fail "stdout gets another plot"
[ ! -s err ] && [ ! -e ./- ] || fail "-o - is a file: $(cat err)"
"$W" plot -f png -o - t >piped.png 2>err && is png piped.png

# All functions, and fewer.
"$W" plot --top 1 -o one.svg t 2>err || fail "--top 1 fails"
"$W" plot --top 0 -o all.svg t 2>err || fail "--top 0 fails: $(cat err)"
grep -qF 'body &lt;made-up.lua:20>' one.svg && fail "--top 1 shows all"
for text in $("$W" report --top 0 --csv t 2>/dev/null |
	grep -o '^made-up+0x[0-9a-f]*'); do
	grep -qF "$text" all.svg || fail "--top 0 lacks $text"
done

# refuse PATTERN ARGUMENT...
refuse() {
	local pattern=$1
	shift
	"$W" plot "$@" t 2>err && fail "takes $*"
	grep -q -e "$pattern" err || fail "$*: says $(cat err)"
}
refuse 'does not match --format svg' --format svg -o hot2.png
refuse 'does not end in' -o hot2.jpeg
refuse 'one of svg, png, pdf' --format gif
refuse 'no-such-folder' -o no-such-folder/x.svg
[ ! -e hot2.png ] && [ ! -e hot2.jpeg ] || fail "left a file"
mkdir bin
if PATH=$T/bin "$W" plot -o none.svg t 2>err; then
	fail "plots without gnuplot"
fi
grep -q 'gnuplot is not installed' err || fail "says: $(cat err)"
[ -e none.svg ] && fail "left a file"
exit 0
