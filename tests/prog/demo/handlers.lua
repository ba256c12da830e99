-- handlers.lua - what is done with a document and with a query. Each request is
-- one call of on_document or on_query, in a coroutine of its own; await yields
-- to the scheduler, which runs the job and resumes us on any of its threads.
-- SPDX-License-Identifier: MIT

-- The account: every function below counts its calls on its first line.
calls = {
	await = 0, heavier = 0, better = 0, kind_of = 0, parse = 0, rows = 0,
	describe = 0, search = 0, on_document = 0, on_query = 0,
}
tally = { errors = 0, coroutines = 0, resumes = 0 }

local function await(job, argument)
	calls.await = calls.await + 1
	return coroutine.yield(job, argument)
end

local function heavier(a, b)
	calls.heavier = calls.heavier + 1
	if a.count ~= b.count then return a.count > b.count end
	return a.word < b.word
end

local function better(a, b)
	calls.better = calls.better + 1
	if a.weight ~= b.weight then return a.weight > b.weight end
	return a.document < b.document
end

local kinds = {
	c = "code", h = "code", lua = "code", sh = "script", mk = "script",
	md = "text", txt = "text",
}

local function kind_of(path)
	calls.kind_of = calls.kind_of + 1
	local suffix = path:match("%.(%w+)$")
	return kinds[suffix] or error("what is " .. path .. "?", 0)
end

function on_document(document)
	calls.on_document = calls.on_document + 1
	local words = await("index", document)
	local known, kind = pcall(kind_of, library.path(document))
	if not known then
		tally.errors = tally.errors + 1
		kind = "other"
	end
	local terms = library.terms(document, 40)
	table.sort(terms, heavier)
	local first = {}
	for i = 1, math.min(5, #terms) do first[i] = terms[i].word end
	return kind .. ", " .. words .. " words: " .. table.concat(first, " ")
end

-- Words of a query. Quotes must come in pairs.
local function parse(text)
	calls.parse = calls.parse + 1
	local _, quotes = text:gsub('"', "")
	if quotes % 2 == 1 then error("a quote is left open", 0) end
	local words = {}
	for word in text:lower():gmatch("[%a_]+") do words[#words + 1] = word end
	if #words == 0 then error("nothing to look for", 0) end
	return words
end

-- The body of a generator: the first hits, one by one.
local function rows(hits, limit)
	calls.rows = calls.rows + 1
	for i = 1, math.min(limit, #hits) do coroutine.yield(i, hits[i]) end
end

local function describe(hit, words)
	calls.describe = calls.describe + 1
	local line
	for _, word in ipairs(words) do
		line = line or library.snippet(hit.document, word)
	end
	return string.format("  %s:%d  %s", library.path(hit.document),
		line or 1, library.title(hit.document))
end

local function search(text)
	calls.search = calls.search + 1
	local words = parse(text)
	local hits = await("rank", table.concat(words, " "))
	if #hits == 0 then error("nothing found", 0) end
	table.sort(hits, better)
	local lines = {}
	local next_row = coroutine.wrap(rows)
	tally.coroutines = tally.coroutines + 1
	tally.resumes = tally.resumes + 1
	local i, hit = next_row(hits, 3)
	while i do
		lines[i] = describe(hit, words)
		tally.resumes = tally.resumes + 1
		i, hit = next_row()
	end
	local near, share = library.nearest(hits[1].document)
	lines[#lines + 1] = string.format("  see also %s, %.0f %% alike",
		library.path(near), 100 * share)
	return table.concat(lines, "\n")
end

-- A query that begins with ! is an error that nobody here catches: it ends its
-- coroutine, and the scheduler counts it.
function on_query(text)
	calls.on_query = calls.on_query + 1
	if text:sub(1, 1) == "!" then error("no such command: " .. text, 0) end
	local found, answer = pcall(search, text)
	if not found then
		tally.errors = tally.errors + 1
		return "  refused: " .. answer
	end
	return answer
end

functions = {
	"await", await, "heavier", heavier, "better", better,
	"kind_of", kind_of, "parse", parse, "rows", rows,
	"describe", describe, "search", search,
	"on_document", on_document, "on_query", on_query,
}
