#!/bin/sh
# style.sh [FOLDER...] - fails where a source (of all, if no folder is named)
# breaks a rule of docs/contributing.md that can be counted.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- tracepoints tracer analyzer tests
command -v ctags >/dev/null || {
	echo "style: no ctags: tests/deps.sh test installs it"
	exit 1
}
files=$(find "$@" -name '*.[ch]' | sort)
bad=0

# none RULE: standard input, which must be empty, has what breaks it.
none() {
	found=$(cat)
	[ -n "$found" ] || return 0
	echo "$1:"
	printf '%s\n' "$found" | sed 's/^/  /'
	bad=1
}

none "more than 80 columns" <<END
$(awk '{
	columns = 0
	parts = split($0, part, "\t")
	for (i = 1; i <= parts; i++) {
		columns += length(part[i])
		if (i < parts)
			columns += 8 - columns % 8
	}
	if (columns > 80)
		print FILENAME ":" FNR ": " columns
}' $files)
END

none "a condition compares a pointer with NULL: write p or !p" <<END
$(grep -nE '[][a-zA-Z0-9_] [!=]= NULL|NULL [!=]=' $files |
	grep -vE '(return|=) [^&|?]* [!=]= NULL([,;]| })' || true)
END

none "a function of more than 40 lines" <<END
$(ctags --kinds-C=f --fields=+ne -f - $files | awk -F '\t' '{
	for (i = 4; i <= NF; i++) {
		split($i, field, ":")
		value[field[1]] = field[2]
	}
	lines = value["end"] - value["line"] + 1
	if (lines > 40)
		print $2 ":" value["line"] ": " $1 ": " lines
}')
END

# weft.h is for other compilers, too; LTTng reads weft_tp.h several times.
none "a header without #pragma once" <<END
$(grep -L '^#pragma once$' $files | grep '\.h$' |
	grep -v -e /weft.h -e /weft_tp.h || true)
END

none "a file without an SPDX line" <<END
$(grep -L SPDX-License-Identifier $files || true)
END

# Names of the past, each of which has a better one in docs/glossary.md.
none "a word that is not used any more" <<END
$(grep -nE '\b(dearest|manieth|lua_ways)|\b(announce|bodies|combine|confine|delta|keeper|moments|people|quiet|seat|spread|story|surround|trail)_[a-z]' \
	$files || true)
END

# An issue says what is to be done; the source says what is.
mark=TO
mark=${mark}DO
none "a note on what is to be done" <<END
$(grep -rnw -e "$mark" -e FIXME -e XXX tracepoints tracer analyzer docs tests \
	Makefile --include='*.[ch]' --include='*.sh' --include='*.mk' \
	--include='*.md' --include=Makefile | grep -v '^tests/style.sh' || true)
END
exit $bad
