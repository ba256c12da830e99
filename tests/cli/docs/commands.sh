#!/bin/sh
# What the pages say is so: options that are named exist; links lead somewhere.
# Lines have 100 columns at most. examples.sh runs the commands.
# SPDX-License-Identifier: MIT
set -eu
bad=0
# headings PAGE: as links name them.
headings() {
	sed '/^```/,/^```/d' "$1" | sed -n 's/^##* //p' |
		tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}
for page in README.md docs/*.md; do
	# A link may be broken at a space in its text, never behind that.
	for link in $(grep -o '](\([^):]*\))' "$page" | sed 's/](//; s/)//'); do
		file=$(dirname "$page")/${link%%#*}
		[ "${link%%#*}" ] || file=$page
		[ -e "$file" ] || {
			echo "$page: no file $link"
			bad=1
			continue
		}
		case $link in *'#'*)
			headings "$file" | grep -qxF -e "${link#*#}" || {
				echo "$page: no heading $link"
				bad=1
			} ;;
		esac
	done
	# Tables and what is typed are as wide as they are.
	if sed '/^```/,/^```/s/.*//' "$page" |
	   LC_ALL=C.UTF-8 grep -nE '^.{101,}' |
	   grep -vE '^[0-9]+:(\||    |<)' | sed "s|^|$page:|" | grep .; then
		bad=1
	fi
done
{
	for command in $("$WEFT" help |
		sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
		"$WEFT" "$command" --help
	done
} | grep -oE -e '--[a-z][a-z-]+' | sort -u >"$T/options"
# These are options of other programs.
printf '%s\n' --plugin-path --shm-size --cflags --libs --component --params \
	--cap-add --mount --now --target \
	--begin --end --output-format --names --fields --array --wait --only-keep-debug --build-id --exists \
	--data-binary --retry >>"$T/options"
for page in README.md docs/guide.md docs/lua.md docs/fleets.md docs/report-reading.md docs/ci.md; do
	for option in $(grep -oE -e '`[^`]*`|^    .*' "$page" | sed 's/ -- .*//' |
		grep -oE -e '(^|[ `])--[a-z][a-z-]+' | tr -d ' `' | sort -u); do
		grep -qxF -e "$option" "$T/options" || {
			echo "$page: there is no option $option"
			bad=1
		}
	done
done
# Files that are named are there; of some, only the end of the path is given.
git ls-files >"$T/files" 2>/dev/null || find . -type f >"$T/files"
for page in docs/architecture.md docs/contributing.md; do
	for file in $(grep -oE '`[a-z_*/]+\.[chj]s?`' "$page" | tr -d '`' |
		grep -v '[*]' | sort -u); do
		grep -qE "(^|/)$file\$" "$T/files" || {
			echo "$page: there is no $file"
			bad=1
		}
	done
done
# The man page knows the variables that the commands read.
"$WEFT" help --man >"$T/man"
for name in $(grep -rhoE 'getenv\("[A-Z_]+"' analyzer | cut -d '"' -f 2); do
	grep -qx "\.B $name" "$T/man" || {
		echo "the man page lacks $name"
		bad=1
	}
done
[ $bad = 0 ]
