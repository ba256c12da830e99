-- jit.lua - what LuaJIT alone has: calls through the FFI, built-in functions
-- that have no code of their own, a compiler that can be turned off and on.
-- Prints what it computes, and "*" lines of what depends on the recording. For
-- tests/e2e/lua-jit.sh.
local ffi = require "ffi"
local util = require "jit.util"
local has_weft, weft = pcall(require, "weft")
ffi.cdef [[
int abs(int); long labs(long); int toupper(int);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
]]
local C, int = ffi.C, ffi.typeof "const int *"
local labs = C.labs
local function order(a, b)
	return ffi.cast(int, a)[0] - ffi.cast(int, b)[0]
end
local numbers = ffi.new("int[3]", { 4, 1, 3 })
C.qsort(numbers, 3, 4, order)
local sum = 0
for i = 1, 10 do sum = sum + C.abs(-i) + tonumber(labs(-i)) end
for i = 1, 7 do sum = sum + C.toupper(97) end
local point = ffi.metatype("struct { int x; }", { __index = {
	get = function(p)
		return p.x
	end,
} })
for i = 1, 5 do sum = sum + point(i):get() end
for i = 1, 4 do sum = sum + math.floor(i + 0.5) + string.byte("a") end

-- Varargs, and calls in the place of their caller.
local function var(...) return select("#", ...) end
local function tail(n, ...)
	if n > 0 then
		return tail(n - 1, n, ...)
	end
	return var(...)
end
for i = 1, 6 do sum = sum + tail(i) end
print(numbers[0], numbers[2], sum)

local function add(x) return x + 1 end
local function loop() local s = 0 for i = 1, 200 do s = add(s) end return s end
local function is_compiled()
	for _ = 1, 20 do loop() end
	return util.traceinfo(1) ~= nil
end
jit.flush()
print("*", jit.status(), is_compiled())
jit.off()
print("off", (jit.status()))
jit.on()
print("*", jit.status(), is_compiled())
if has_weft then weft.pause() end
add(1)
print("paused", jit.status(), is_compiled())
if has_weft then weft.resume() end
