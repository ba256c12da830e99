# check.awk - compares a recording's figures with the program's own account.
# Arguments: the account, the CSV of weft report and of weft coroutines, and
# the SVG of weft plot. Prints what differs and the verdict.
# SPDX-License-Identifier: MIT

# Cut a row into cell[1..]; a cell may be quoted, with "" for a quote in it.
function cut(row,    n, text) {
	delete cell
	for (n = 0; ; row = substr(row, 2)) {
		if (substr(row, 1, 1) == "\"") {
			match(row, /^"([^"]|"")*"/)
			text = substr(row, 2, RLENGTH - 2)
			gsub(/""/, "\"", text)
			row = substr(row, RLENGTH + 1)
		} else {
			match(row, /^[^,]*/)
			text = substr(row, 1, RLENGTH)
			row = substr(row, RLENGTH + 1)
		}
		cell[++n] = text
		if (row == "")
			return n
	}
}

function is_equal(what, weft, own) {
	figures++
	if (weft == own)
		return
	wrong++
	printf "demo: %s: weft says %s, the program %s\n", what, weft, own
}

FNR == 1 { file++ }
FNR == 1 && file < 4 {
	n = cut($0)
	delete column
	for (i = 1; i <= n; i++)
		column[cell[i]] = i
	next
}

function get(name) {
	if (!(name in column)) {
		printf "demo: %s has no column %s\n", FILENAME, name
		exit (wrong = 1)
	}
	return cell[column[name]]
}

file < 4 { cut($0) }

file == 1 && get("what") == "calls" {
	key = get("language") == "lua" ? get("place") : get("name")
	own[get("language"), key] = get("count")
	own_name[get("language"), key] = get("name")
}
file == 1 && get("what") == "tally" { tally[get("name")] = get("count") }

# A Lua function is told by its place, a native one by its name.
file == 2 {
	key = get("function")
	if (get("language") == "lua")
		key = get("file") ":" get("line")
	calls[get("language"), key] += get("calls")
	key_of[get("function")] = get("language") SUBSEP key
	off[get("function")] = get("off_cpu_ns")
	on[get("function")] = get(get("off_cpu_ns") == "" ? "self_ns" : "cpu_ns")
	language[get("function")] = get("language")
}

file == 3 {
	coroutines++
	resumes += get("resumes")
	moved += get("threads") ~ / /
	failed += get("state") == "error"
}

# The plot: a bar is a polygon that begins where the axis stands; a label lies
# left of it, at the same height, and a note right of it. Waiting has a colour
# with much green in it.
function number_after(text, mark,    at) {
	at = index(text, mark)
	return at ? substr(text, at + length(mark)) + 0 : 0
}

file == 4 && /translate\(/ {
	text_y = $0
	sub(/.*translate\([^,]*,/, "", text_y)
	text_y = text_y + 0
	is_label = /text-anchor="end"/
	if (is_label && /d='M/) {
		left = number_after($0, "d='M")
		tic = $0
		sub(/.*d='M[^,]*,/, "", tic)
		tic_of[text_y] = tic + 0
	}
}
file == 4 && /<text/ {
	text = $0
	gsub(/.*<text[^>]*>|<\/text>.*/, "", text)
	gsub(/&lt;/, "<", text)
	gsub(/&gt;/, ">", text)
	gsub(/&amp;/, "\\&", text)
	if (is_label && text_y in tic_of && !(text_y in label))
		label[text_y] = text
	else if (text ~ / calls?$/)
		note[text_y] = text
}
file == 4 && /<polygon/ {
	n = split($0, part, "'")
	split(part[2], rgb, /[(,]/)
	is_lighter = rgb[3] > 190
	split(part[n - 1], point, /[ ,]/)
	tic = int((point[2] + point[6]) / 2 + 0.5)
	if (is_lighter) {
		# One that is cut ends in gaps: it has several parts.
		if (!(tic in lighter) || point[1] < begun[tic])
			begun[tic] = point[1]
		if (point[3] > ended[tic])
			ended[tic] = point[3]
		lighter[tic] = ended[tic] - begun[tic]
	} else if (point[1] == left) {
		width[tic] = point[3] - point[1]
		colour[tic] = part[2]
	}
}

function check_length(what, name, have, time,    w) {
	w = widest * time / longest
	if (have - w > 0.5 || w - have > 0.5)
		is_equal(what " of " name, have, w)
}

# As long as its time on the CPU says, to half a pixel; the lighter part as the
# time off it, up to the longest bar; calls as counted; one colour a language.
function check_bar(name, y, count) {
	bars++
	check_length("length of the bar", name, width[y], on[name])
	check_length("waiting", name, lighter[y],
		off[name] + 0 > longest ? longest : off[name])
	if (language[name] in hue)
		is_equal("colour of " name, colour[y], hue[language[name]])
	hue[language[name]] = colour[y]
	if (key_of[name] in own)
		is_equal("calls in the plot of " name, count,
			own[key_of[name]])
}

function check_plot(    y, tic, count) {
	for (y in label) {
		tic = int(tic_of[y] + 0.5)
		if (on[label[y]] + 0 > longest) { # not as text
			longest = on[label[y]] + 0
			widest = width[tic]
		}
	}
	for (y in label) {
		count = note[y]
		sub(/ calls?$/, "", count)
		sub(/.* /, "", count)
		gsub(/,/, "", count)
		check_bar(label[y], int(tic_of[y] + 0.5), count)
	}
}

END {
	for (key in own)
		is_equal("calls of " own_name[key], calls[key] + 0, own[key])
	is_equal("coroutines", coroutines, tally["coroutines"])
	is_equal("resumes", resumes, tally["resumes"])
	is_equal("coroutines that changed threads", moved, tally["moved"])
	is_equal("coroutines ended by an error", failed, tally["failed"])
	counted = figures
	check_plot()
	if (wrong || !bars)
		exit 1
	printf "demo: %d figures of the report equal the program's own " \
		"account, as do the %d bars of the plot\n", counted, bars
}
