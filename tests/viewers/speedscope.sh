#!/bin/bash
# speedscope's own importers, in a browser that nobody looks at: of each file
# that they read, they tell the functions' self times of the report.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need chromium chromium
need jq jq
npm_need speedscope@1.25.0
dir=$(realpath "$NODE_PATH/speedscope/dist/release")
export HOME=$T

# read_by_speedscope FILE: what it makes of the file, as its own JSON in
# $T/told.
read_by_speedscope() {
	local name=${1##*/} script
	script=$(cd "$dir" && echo speedscope-*.js)
	{
		printf 'speedscope.loadFileFromBase64("%s", "' "$name"
		base64 -w 0 "$1"
		echo '")'
	} >"$T/profile.js"
	{
		echo "<!DOCTYPE html><meta charset=utf-8><body><script>"
		cat tests/viewers/speedscope.js
		echo "location.hash = 'localProfilePath=${T#/}/profile.js'"
		echo "</script><script src=\"file://$dir/$script\"></script>"
	} >"$T/speedscope.html"
	timeout 120 chromium --headless --no-sandbox --disable-gpu \
		--allow-file-access-from-files --enable-unsafe-swiftshader \
		--user-data-dir="$T/chromium" --virtual-time-budget=20000 \
		--dump-dom "file://$T/speedscope.html" >"$T/dom" 2>"$T/e"
	sed -n '/<pre id="told">/,/<\/pre>/p' "$T/dom" |
		sed -e 's/<pre id="told">//; s/<\/pre>.*//; /^$/d' \
			-e 's/&lt;/</g; s/&gt;/>/g; s/&nbsp;/ /g; s/&amp;/\&/g' \
			>"$T/told"
	jq -e '."$schema"' "$T/told" >/dev/null 2>&1 ||
		fail "$name: speedscope does not read it: $(tail -n 3 "$T/e")"
}

# Of all profiles: "NAME<tab>SELF" in ns, by events and by samples.
cat >"$T/self.jq" <<'JQ'
def ns: {nanoseconds: 1, microseconds: 1000, milliseconds: 1000000,
	seconds: 1000000000, none: 1}[.];
.shared.frames as $frames
| [.profiles[] | (.unit | ns) as $unit
	| if .type == "evented" then
		foreach .events[] as $e ({open: [], at: 0};
			.told = [$frames[.open[-1] // -1].name,
				 ($e.at - .at) * $unit]
			| if .open == [] then .told = null else . end
			| .at = $e.at
			| if $e.type == "O" then .open += [$e.frame]
			  else .open |= .[:-1] end;
			.told | values)
	  else
		. as $p | range($p.samples | length)
		| select($p.samples[.] != [])
		| [$frames[$p.samples[.][-1]].name, $p.weights[.] * $unit]
	  end]
| group_by(.[0])[] | "\(.[0][0])\t\(map(.[1]) | add | round)"
JQ
cat >"$T/compare.lua" <<'LUA'
local told, rows = {}, 0
for line in io.lines(arg[1]) do
	local name, ns = line:match("^(.*)\t(%-?%d+)$")
	name = name:gsub(" %[lua%]$", "")
	told[name] = (told[name] or 0) + tonumber(ns)
end
for line in io.lines(arg[2]) do
	local name, ns = line:match("^(.*)\t(%d+)$")
	name, ns = name:gsub(" %[lua%]$", ""), tonumber(ns)
	assert(math.abs((told[name] or 0) - ns) <= 60 + ns // 50,
	       name .. ": " .. tostring(told[name]) .. " not " .. ns)
	rows = rows + 1
end
assert(rows >= 5, rows .. " functions")
LUA
make_trace t coroutines=1 chunks=4 threads=2
reported "$T/t" self_ns | grep -v '^\[' >"$T/want"
while read -r format name; do
	"$W" export -f "$format" -o "$T/$name" "$T/t" 2>"$T/e" ||
		fail "$format: $(cat "$T/e")"
	read_by_speedscope "$T/$name"
	jq -r -f "$T/self.jq" "$T/told" >"$T/summed" || fail "$format: sums"
	lua5.4 "$T/compare.lua" "$T/summed" "$T/want" ||
		fail "$format: speedscope adds up otherwise"
done <<'EOT'
speedscope x.speedscope.json
speedscope-time y.speedscope.json
collapsed x.collapsedstack.txt
chrome x.json
callgrind callgrind.out.1
pprof x.pb
EOT
exit 0
