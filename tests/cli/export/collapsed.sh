#!/bin/bash
# weft export --format collapsed: a stack a line, whose self times add up to the
# report's.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=4
same collapsed 0 "$W" export --format collapsed t
"$W" export --format collapsed "$T/t" 2>/dev/null | lua5.4 -e '
	local self, sum = {}, 0
	for line in io.lines() do
		local stack, n = line:match("^(.*) (%d+)$")
		local leaf = stack:match("([^;]*)$")
		if stack:find(";") then
			self[leaf] = (self[leaf] or 0) + n
		end
	end
	for name, n in pairs(self) do print(name .. "\t" .. n // 1) end' |
	sort >"$T/summed"
"$W" report --csv "$T/t" 2>/dev/null | awk -F, 'NR > 1 && $7 > 0 {
	print $1 "\t" $7 }' | sort >"$T/reported"
diff "$T/reported" "$T/summed" || fail "self times are others"
"$W" export --format folded "$T/t" 2>/dev/null | cmp -s - \
	<("$W" export --format collapsed "$T/t" 2>/dev/null) ||
	fail "folded is another one"
"$W" export -o "$T/t.pb" "$T/t" 2>/dev/null
"$W" export --format collapsed "$T/t.pb" 2>/dev/null >"$T/of-profile"
"$W" export --format collapsed "$T/t" 2>/dev/null | diff - "$T/of-profile" ||
	fail "of a profile it is another"
exit 0
