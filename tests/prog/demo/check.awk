# check.awk - compares a recording's figures with the program's own account.
# Arguments: the account, then the CSV of weft report, of weft coroutines and
# the data of weft plot. Prints what differs and the verdict.
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

FNR == 1 {
	file++
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

{ cut($0) }

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
	self[get("language"), get("function")] = get("self_ns")
}

file == 3 {
	coroutines++
	resumes += get("resumes")
	moved += get("threads") ~ / /
	failed += get("state") == "error"
}

END {
	for (key in own)
		is_equal("calls of " own_name[key], calls[key] + 0, own[key])
	is_equal("coroutines", coroutines, tally["coroutines"])
	is_equal("resumes", resumes, tally["resumes"])
	is_equal("coroutines that changed threads", moved, tally["moved"])
	is_equal("coroutines ended by an error", failed, tally["failed"])
	if (wrong)
		exit 1
	printf "demo: %d figures of the report equal the program's own account\n",
		figures
}
