-- examples.lua - the commands that a page of docs/ shows, and what it shows
-- below them. Knows how the pages are written; runs nothing.
--
--   examples.lua list PAGE: a line for each command: the line of the page, a
--       tab, the command as a shell takes it; below it the lines that the page
--       shows, each behind a tab.
--   examples.lua compare SHOWN HAVE STRICT: print the lines of the file SHOWN
--       that no line of HAVE is like. STRICT 0: only heads of tables.
-- SPDX-License-Identifier: MIT

-- A placeholder stands for something that is there; "..." for more of the same.
-- A command that a sentence only names may lack its operands.
local function complete(command)
	command = command:gsub("%-%- %.%.%.", "-- program"):gsub(" ?%.%.%.", "")
	command = command:gsub("%f[%w]FUNCTION%f[%W]", "compare_bags")
	command = command:gsub("%f[%w]KIND%f[%W]", "hot"):gsub("&#124;", "|")
	if command:match("^weft record %-") and not command:match(" %-%- ") and
	   not command:match(" lua5") then
		return command .. " -- program"
	elseif command:gsub(" %-%-fail%-over %S+", "")
	       :gsub(" %-%S+", "") == "weft diff" then
		return command .. " A B"
	end
	return command
end

-- The page's commands: in blocks that are indented or fenced, and in lines.
-- Each is { line =, text =, shown = { LINE... } }.
local function commands(page)
	local found, text, block, fenced, number = {}, {}, nil, false, 0
	local function mentioned()
		local all = table.concat(text, "\n")
		for at, span in all:gmatch("()`(weft%s+[^`]+)`") do
			local _, newlines = all:sub(1, at):gsub("\n", "")
			span = span:gsub("%s+", " ")
			if span:match("^weft %l+ .") then
				found[#found + 1] = { text = span, shown = {},
					line = text.first + newlines }
			end
		end
		text = {}
	end
	for line in io.lines(page) do
		number = number + 1
		if line:match("^```") then
			fenced = not fenced
		end
		local inside = not fenced and line:match("^    (.*)")
		local typed = inside and (inside:match("^%$ (.*weft .*)") or
			inside:match("^(weft .*)")) or
			fenced and line:match("run: (weft .*)")
		if typed then
			block = { line = number, shown = {},
				text = typed:gsub("%s+# .*", "") }
			found[#found + 1] = block
		elseif inside and block and not inside:match("^%$ ") then
			block.shown[#block.shown + 1] = inside
		elseif inside or line ~= "" then
			block = nil
		end
		if inside or fenced or line == "" then
			mentioned()
		else
			text.first = text.first or number
			text[#text + 1] = line
		end
	end
	mentioned()
	for i, c in ipairs(found) do
		c.place = c.line * 1000 + i
	end
	table.sort(found, function(a, b) return a.place < b.place end)
	return found
end

-- A line without what differs from run to run and from machine to machine:
-- figures with their units, times of day, addresses, padding. The columns of
-- times on and off the CPU become those of elapsed time, which stand there if
-- the kernel reports no switches.
local units = { ns = 1, us = 1, ms = 1, s = 1, B = 1, KB = 1, MB = 1, GB = 1 }
local function words(line)
	local kept, was_figure = {}, false
	line = line:gsub("%d+%-%d+%-%d+ %d+:%d+:%d+ UTC", "")
	line = line:gsub("%+0x%x+", "+0x"):gsub(" 0x%x+", " 0x"):gsub("/%S+/srv/", "/srv/")
	line = line:gsub("%(fastest%)", "")
	-- LTTng may be late on a busy machine: part of it is in the spill file.
	line = line:gsub(" and carver$", "")
	for word in line:gmatch("%S+") do
		local bare = word:gsub("^[%[(]", ""):gsub("[%],;:.)]+$", "")
		if bare:match("^[~<>+%-]?%d[%d,.]*[%%x]?$") or bare == "-" or
		   bare == "±" then
			was_figure = true
		elseif not (was_figure and units[bare]) then
			kept[#kept + 1] = word
			was_figure = false
		end
	end
	line = table.concat(kept, " ")
	line = line:gsub("^cpu share off%-cpu ", "self share ")
	return (line:gsub("^total cpu share total off cpu ", "total share self "))
end

-- The head of a table: names of columns alone.
local function is_head(line)
	return line:match("^[%l /:%%+%-,]+$") and line:match(" self ") or
		line:match(" calls ")
end

local function compare(shown, have, strict)
	local there, missing = {}, 0
	for line in io.lines(have) do
		there[words(line)] = true
	end
	for line in io.lines(shown) do
		local want = words(line)
		if want ~= "" and want ~= "..." and not there[want] and
		   (strict or is_head(want)) then
			print("not there: " .. line)
			missing = missing + 1
		end
	end
	return missing
end

if arg[1] == "list" then
	for _, c in ipairs(commands(arg[2])) do
		print(c.line .. "\t" .. complete(c.text))
		for _, line in ipairs(c.shown) do
			print("\t" .. line)
		end
	end
else
	os.exit(compare(arg[2], arg[3], arg[4] ~= "0") == 0)
end
