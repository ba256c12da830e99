#!/bin/sh
# docs.sh PAGE TABLE PROCESSOR - puts the table of a bench into the page, into
# the section of this kind of processor, in place of the table that is there. A
# kind that the page does not know gets a section at its end. PROCESSOR is what
# /proc/cpuinfo calls it.
# SPDX-License-Identifier: MIT
set -eu
kind=$(printf '%s\n' "$3" | sed 's/([A-Za-z]*)//g; s/@.*//; s/[0-9]*-Core//
	s/\<CPU\>//; s/\<Processor\>//; s/[^A-Za-z0-9. -]//g; s/  */ /g
	s/^ //; s/ $//')
awk -v heading="## ${kind:-an unknown processor}" -v table="$2" '
	function put(   line) {
		print "<!-- bench: begin -->"
		while ((getline line < table) > 0)
			print line
		print "<!-- bench: end -->"
		is_put = 1
	}
	/^## / {
		if (here && !is_put) {
			put()
			print ""
		}
		here = $0 == heading
		known += here
	}
	here && /^<!-- bench: begin/ { skip = 1; put() }
	!skip { print }
	/^<!-- bench: end/ { skip = 0 }
	END {
		if (!known)
			print "\n" heading "\n"
		if (!is_put)
			put()
	}' "$1" >"$1.new"
cat "$1.new" >"$1"
rm -f "$1.new"
