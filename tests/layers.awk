# layers.awk - the check behind layers.sh. Reads layers.txt, every source, and
# "nm -A -P" of the objects; prints what is wrong and exits 1 if anything is.
# A .c file and its .h are one node of the graph, written without the ending. It
# has an edge to another if it includes that one's header or refers to a symbol
# that its object defines. A header is also a node of its own, for the sake of
# headers that have no .c file: these need other headers, not what is behind.
# A folder, written with a slash at its end, is a node with an edge to each
# folder that layers.txt lets it see.
# Variables: objects (their folder), list (1: print the edges of each circle).
# SPDX-License-Identifier: MIT

function wrong(text)
{
	print text
	bad = 1
}

function folder_of(path)
{
	sub(/\/[^\/]*$/, "", path)
	return path
}

function node_of(path)
{
	sub(/\.[ch]$/, "", path)
	return path
}

# The program or library that a node is linked into.
function part_of(node, names)
{
	split(node, names, "/")
	return names[1] == "tracer" ? names[1] "/" names[2] : names[1]
}

function add_edge(from, to, why)
{
	if (from == to)
		return
	if (!((from, to) in reason))
		edges[from] = edges[from] " " to
	if (!index(reason[from, to] " ", " " why " "))
		reason[from, to] = reason[from, to] " " why
}

# A header of no .c file is itself what the others see.
function resolve_includes(i, pair)
{
	for (i = 1; i <= includes; i++) {
		split(included[i], pair, SUBSEP)
		if (pair[1] in has_code)
			add_edge(pair[1], node_of(pair[2]) in has_code ? \
				node_of(pair[2]) : pair[2], "include")
	}
}

function may_use(from, to)
{
	return from == to || (from, to) in allowed
}

# ---- reading ----

function read_layer(i)
{
	sub(/:/, "", $1)
	known[$1]
	start[++starts] = $1 "/"
	for (i = 2; i <= NF; i++) {
		allowed[$1, $i]
		add_edge($1 "/", $i "/", "layers.txt")
	}
}

function read_source(quoted, to)
{
	if (FNR == 1) {
		folder = folder_of(FILENAME)
		node = node_of(FILENAME)
		inhabited[folder]
		if (FILENAME ~ /c$/)
			has_code[node]
		start[++starts] = FILENAME ~ /c$/ ? node : FILENAME
		if (!(folder in known))
			wrong(FILENAME ": its folder is not in tests/layers.txt")
	}
	if ($0 !~ /^[ \t]*#[ \t]*include[ \t]*"/)
		return
	split($0, quoted, "\"")
	to = quoted[2]
	if (to !~ /\//)
		wrong(FILENAME ": include from the root: " to)
	else if (!may_use(folder, folder_of(to)))
		wrong(FILENAME ": may not include " to)
	else
		add_include(to)
}

# The .c file of an included header may be read later: its name stays open.
function add_include(to)
{
	if (FILENAME ~ /h$/)
		add_edge(FILENAME, to, "include")
	included[++includes] = node SUBSEP to
}

# "build/obj/analyzer/base/mem.o: mem_need T 0 12"; an object that is built
# once a version of Lua is named hook-54.o. Objects of no source are old ones.
function read_symbol(name)
{
	name = substr($1, length(objects) + 2)
	sub(/\.o:$/, "", name)
	if (!(name in has_code))
		sub(/-[0-9]+$/, "", name)
	if (!(name in has_code))
		return
	if ($3 ~ /^[Uvw]$/)
		refers[name, $2]
	else if ($3 ~ /^[A-Z]$/)
		definer[part_of(name), $2] = name
}

FILENAME == "tests/layers.txt" { read_layer(); next }
FILENAME ~ /\.[ch]$/ { read_source(); next }
{ read_symbol() }

# ---- circles: the components that Tarjan's algorithm finds ----

function visit(node, to, count, i)
{
	order[node] = lowest[node] = ++visited
	stack[++depth] = node
	on_stack[node] = 1
	count = split(edges[node], to, " ")
	for (i = 1; i <= count; i++) {
		if (!(to[i] in order)) {
			visit(to[i])
			if (lowest[to[i]] < lowest[node])
				lowest[node] = lowest[to[i]]
		} else if (on_stack[to[i]] && order[to[i]] < lowest[node]) {
			lowest[node] = order[to[i]]
		}
	}
	if (lowest[node] == order[node])
		pop_component(node)
}

function pop_component(root, member, text, count)
{
	do {
		member = stack[depth--]
		on_stack[member] = 0
		text = " " member text
		count++
	} while (member != root)
	if (count == 1)
		return
	wrong("circle of " count (root ~ /\/$/ ? " folders:" : " files:") text)
	if (list)
		print_edges(text)
}

function print_edges(members, from, to, m, n, i, k)
{
	m = split(members, from, " ")
	for (i = 1; i <= m; i++) {
		n = split(edges[from[i]], to, " ")
		for (k = 1; k <= n; k++)
			if (index(members " ", " " to[k] " "))
				print "  " from[i] " -> " to[k] ":" \
					reason[from[i], to[k]]
	}
}

# Each symbol that is referred to is an edge, or a fault of its own.
function resolve_symbols(key, pair, to, names)
{
	for (key in refers) {
		split(key, pair, SUBSEP)
		if (!((part_of(pair[1]), pair[2]) in definer))
			continue
		to = definer[part_of(pair[1]), pair[2]]
		if (may_use(folder_of(pair[1]), folder_of(to)))
			add_edge(pair[1], to, pair[2])
		else
			names[pair[1] ".c: may not refer to " to ".c:"] = \
				names[pair[1] ".c: may not refer to " to ".c:"] \
				" " pair[2]
	}
	for (key in names)
		wrong(key names[key])
}

END {
	resolve_includes()
	resolve_symbols()
	for (i = 1; i <= starts; i++) {
		if (start[i] ~ /\/$/ && !(folder_of(start[i]) in inhabited))
			wrong("tests/layers.txt: no source in " start[i])
		if (!(start[i] in order))
			visit(start[i])
	}
	exit bad
}
