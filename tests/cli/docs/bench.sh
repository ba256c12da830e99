#!/bin/bash
# The bench writes its table into the section of the processor it ran on, and
# into no other: one that the page has, one that it has without a table, and one
# that it does not know.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cp docs/benchmarks.md "$T/page" || fail "no page"
grep -q '^## AMD EPYC$' "$T/page" || fail "the page has no AMD EPYC"

# put TEXT PROCESSOR
put() {
	printf '%s\n\n| a | b |\n' "$1" >"$T/table"
	tests/bench/docs.sh "$T/page" "$T/table" "$2" || fail "not written"
}
# section KIND: its text.
section() {
	awk -v heading="## $1" '
		/^## / { on = $0 == heading }
		on && $0 != heading' "$T/page"
}
amd=$(section 'AMD EPYC')
intel=$(section 'Intel Xeon')

# A new kind: nothing that was there changes.
cp "$T/page" "$T/before"
put 'made up, the first' 'Made(R) Up(TM) CPU 7X13 64-Core Processor @ 2.10GHz'
head -c "$(wc -c <"$T/before")" "$T/page" | cmp - "$T/before" ||
	fail "a new processor changes what was there"
[ "$(section 'Made Up 7X13')" = "
<!-- bench: begin -->
made up, the first

| a | b |
<!-- bench: end -->" ] || fail "a new processor: $(section 'Made Up 7X13')"

# It comes again, between others, and the words beside its table stay.
printf '\nWords that stay.\n\n## Another\n\n<!-- bench: begin -->\nold\n%s\n' \
	'<!-- bench: end -->' >>"$T/page"
put 'made up, the second' 'Made Up 7X13 Processor'
[ "$(section 'Made Up 7X13')" = "
<!-- bench: begin -->
made up, the second

| a | b |
<!-- bench: end -->

Words that stay." ] || fail "a known processor: $(section 'Made Up 7X13')"
[ "$(section Another)" = "
<!-- bench: begin -->
old
<!-- bench: end -->" ] || fail "another section: $(section Another)"

# A section without a table gets one.
printf '\n## Bare Metal\n\nNo table yet.\n\n## Last\n' >>"$T/page"
put 'bare' 'Bare Metal'
[ "$(section 'Bare Metal')" = "
No table yet.

<!-- bench: begin -->
bare

| a | b |
<!-- bench: end -->" ] || fail "no table yet: $(section 'Bare Metal')"
[ "$(grep -c '^## ' "$T/page")" = $(($(grep -c '^## ' "$T/before") + 4)) ] ||
	fail "sections: $(grep '^## ' "$T/page")"
[ "$(section 'AMD EPYC')" = "$amd" ] && [ "$(section 'Intel Xeon')" = "$intel" ] ||
	fail "the other processors have other tables"

# What this machine's processor is called, as the bench asks.
put 'Xeon' 'Intel(R) Xeon(R) Processor'
section 'Intel Xeon' | grep -qx Xeon || fail "Intel Xeon has no new table"
[ "$(section 'AMD EPYC')" = "$amd" ] || fail "AMD EPYC has another table"
