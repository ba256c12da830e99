-- heaptrack.lua [MODULE] - what heaptrack has written (its text is on stdin), as
-- lines of bytes, blocks and place, by falling bytes: all that was taken, where.
-- A place is the code that calls malloc, as module+LAST-THREE-DIGITS and the
-- function's name, if that is known; or, with MODULE, the stack of that module's
-- functions, outermost first. What heaptrack's own C++ library takes is left out,
-- unless it is the program's, too (HAS_CPP).
-- SPDX-License-Identifier: MIT
local module = arg[1]
local strings, places, traces, infos, sums = {}, {}, {}, {}, {}
local has_cpp = os.getenv("HAS_CPP")

local function numbers(text)
	local t = {}
	for word in text:gmatch("%x+") do t[#t + 1] = tonumber(word, 16) end
	return t
end

local function file(path) return (path or "?"):match("[^/]*$") end

-- What calls malloc for others.
local function is_between(place)
	return place.module == "libheaptrack_preload.so" or
		place.module == "libstdc++.so.6" and
		(place.names[1] or ""):match("^operator new")
end

local function site(at)
	while at and is_between(at.place) do at = traces[at.below] end
	return at and string.format("%s+%03x %s", at.place.module,
		at.place.at & 0xfff, at.place.names[1] or "") or ""
end

local function stack(at)
	local names = {}
	while at do
		for _, name in ipairs(at.place.module == module and
				      at.place.names or {}) do
			if name ~= "_start" then table.insert(names, 1, name) end
		end
		at = traces[at.below]
	end
	return table.concat(names, ";")
end

local function take(size, at)
	local key = module and stack(at) or site(at)
	local sum = sums[key] or { key = key, bytes = 0, blocks = 0 }
	sum.bytes, sum.blocks = sum.bytes + size, sum.blocks + 1
	sums[key] = sum
end

-- The emergency pool of its C++ library, which most programs do not have.
local function is_pool(size, at)
	return not has_cpp and size == 72704 and
		site(at):match("^libstdc%+%+")
end

for line in io.lines() do
	local kind, rest = line:match("^(%S) (.*)$")
	local n = kind and kind ~= "s" and numbers(rest)
	if kind == "s" then
		strings[#strings + 1] = rest:match("^%x+ (.*)$") or ""
	elseif kind == "i" then
		local names = {}
		for i = 3, #n, 3 do names[#names + 1] = strings[n[i]] end
		places[#places + 1] = { at = n[1], names = names,
					module = file(strings[n[2]]) }
	elseif kind == "t" then
		traces[#traces + 1] = { place = places[n[1]], below = n[2] }
	elseif kind == "a" then
		infos[#infos + 1] = { size = n[1], at = traces[n[2]] }
	elseif kind == "+" then
		local info = infos[n[1] + 1]
		if not is_pool(info.size, info.at) then
			take(info.size, info.at)
		end
	end
end
local list = {}
for _, sum in pairs(sums) do list[#list + 1] = sum end
table.sort(list, function(a, b) return a.bytes > b.bytes end)
for _, sum in ipairs(list) do print(sum.bytes, sum.blocks, sum.key) end
