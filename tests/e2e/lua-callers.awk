# The program's own counts by stack (first file) against those of weft tree --csv,
# which shows recursion once. Several trees are added up.
function once(list,   n, w, i, r) {
	n = split(list, w, ",")
	for (i = 1; i <= n; i++)
		if (i == 1 || w[i] != w[i - 1])
			r = r (r == "" ? "" : ",") w[i]
	return r
}
FNR == NR {
	sub(/ - /, " , ")
	if (split($0, w, " ") == 4 && w[1] == "is")
		said[w[2] " " once(w[3])] += w[4]
	next
}
FNR == 1 && !known {
	known = n = split($0, h, ",")
	for (i = 1; i <= n; i++)
		at[h[i]] = i
	next
}
{
	d = $at["depth"]
	name[d] = $at["function"]
	gsub(/"/, "", name[d])
	body[d] = $at["is_body"]
	split(name[d], w, " ")
	if (w[1] !~ /^(work|again|nanosleep)$/)
		next
	lines = ""
	for (i = d - 1; i >= 0 && body[i + 1] != 1; i--)
		if (name[i] ~ /<callers.lua/) {
			x = name[i]
			sub(/.*<callers.lua/, "", x)
			gsub(/[:>]/, "", x)
			lines = (x == "" ? 0 : x) (lines == "" ? "" : ",") lines
		}
	is[w[1] " " once(lines)] += $at["calls"]
}
END {
	for (k in said)
		if (k !~ /^take/ && said[k] != is[k]) {
			print "said", k, said[k], "is", is[k] + 0
			bad = 1
		}
	for (k in is)
		if (!(k in said)) {
			print "is", k, is[k], "and nobody said so"
			bad = 1
		}
	exit bad || !known
}
