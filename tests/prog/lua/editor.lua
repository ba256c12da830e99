-- editor.lua - in neovim: what stock.lua does, and functions that the editor
-- calls, at a change, by a timer, later, from an expression. Says "editor N
-- CALLS".
-- SPDX-License-Identifier: MIT
local calls = {}
local count
function count(name)
	calls.count = (calls.count or 0) + 1
	calls[name] = (calls[name] or 0) + 1
end

function say(...)
	local text = {}
	count "say"
	for i = 1, select("#", ...) do
		text[i] = tostring((select(i, ...)))
	end
	io.stdout:write(table.concat(text, "\t"), "\n")
end
dofile "tests/prog/lua/stock.lua"

local function leaf(x) count "leaf" return x + 1 end
local function changed() count "changed" leaf(1) end
local ticks = 0
local function tick() count "tick" ticks = leaf(ticks) end
local function later() count "later" leaf(1) end
function double(x) count "double" return leaf(x) * 2 end

vim.api.nvim_create_autocmd("User", { pattern = "Changed", callback = changed })
for i = 1, 20 do
	vim.api.nvim_buf_set_lines(0, i - 1, -1, false, { ("%d"):format(leaf(i)) })
	vim.cmd "doautocmd User Changed"
	vim.schedule(later)
end
local timer = vim.loop.new_timer()
local function fires()
	count "fires"
	if ticks < 10 then
		tick()
	else
		timer:stop()
	end
end
timer:start(1, 1, vim.schedule_wrap(fires))
local function over() count "over" return not timer:is_active() end
say(vim.wait(20000, over))
say(vim.fn.eval("map(range(3), 'v:lua.double(v:val)')")[3])
say(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), " "))
say(pcall(vim.api.nvim_buf_get_lines, 99, 0, -1, false))
local known = { count = count, say = say, leaf = leaf, changed = changed,
	tick = tick, fires = fires, over = over, later = later, double = double }
local lines = {}
for name, fn in pairs(known) do
	lines[name] = debug.getinfo(fn, "S").linedefined
end
for name, line in pairs(lines) do
	io.stdout:write(("editor %d %d\n"):format(line, calls[name]))
end
