-- truth_table.lua - "truth_table.lua CSV TRUTH [test]": what weft report --csv
-- says of the functions of truth.c or truth.lua, beside what they say of
-- themselves ("true SELF CALLS NAME", on the CPU). Raw holds the probes, net is
-- what weft makes of it. The last lines say how far each is off, and how much of
-- of the truth lies inside 2 standard errors. With "test", fails if calls differ,
-- or if net is further off than raw; with "reference", if net is not as near as
-- that of a reference is, which is of another run: if the machine was faster then,
-- by at most a tenth, all functions were.
-- SPDX-License-Identifier: MIT
local is_test = arg[3] == "test"

local truth, order = {}, {}
for line in io.lines(arg[2]) do
    local self, calls, name = line:match("^true (%-?%d+) (%d+) (%S+)$")
    if name then
        truth[name] = { self = tonumber(self), calls = tonumber(calls) }
        order[#order + 1] = name
    end
end

-- Names with commas are quoted; no other quotes come here.
local function fields(line)
    local t = {}
    line = line:gsub('"([^"]*)"', function(s) return (s:gsub(",", ";")) end)
    for f in (line .. ","):gmatch("([^,]*),") do t[#t + 1] = f end
    return t
end

local function read(path)
    local lines = io.lines(path)
    local head, rows = fields(lines()), {}
    for line in lines do
        local row = {}
        for i, f in ipairs(fields(line)) do row[head[i]] = f end
        -- "leaf <lua_3.lua:2>" is lua_3_leaf.
        rows[row["function"]:gsub("^(%a+) <(lua_%d+)%.lua.*", "%2_%1")] = row
    end
    return rows
end

local rows, bad = read(arg[1]), #order == 0
local sum = { raw = 0, net = 0, self = 0 }
local known, inside, all_net = 0, 0, true
local leaves, leaf_off, most = 0, 0, 0
local speed = 1
if arg[3] == "reference" then
    local said, is = 0, 0
    for name, t in pairs(truth) do
        local row = rows[name] or {}
        said = said + t.self
        is = is + (tonumber(row.self_ns) or 0) - (tonumber(row.off_cpu_ns) or 0)
    end
    speed = said / is
    bad = bad or speed < 0.9 or speed > 1.1
    print(("net is taken times %.3f"):format(speed))
end
print(("%-16s %9s %11s %10s %6s %10s %6s %8s %5s"):format("function", "calls",
    "true a call", "raw", "off", "net", "off", "+-", "errors"))
for _, name in ipairs(order) do
    local t, row = truth[name], rows[name] or {}
    local calls = tonumber(row.calls)
    local away, self = tonumber(row.off_cpu_ns) or 0, tonumber(row.self_ns)
    local raw = tonumber(row.raw_self_ns) or self
    local net = tonumber(row.raw_self_ns) and self
    local error = net and tonumber(row.self_error_ns)
    raw, net = raw and raw - away, net and (net - away) * speed
    local function off(x)
        return x and ("%+.0f%%"):format((x / t.self - 1) * 100) or "-"
    end
    local function each(x)
        return x and ("%.1f"):format(x / t.calls) or "-"
    end
    if calls ~= t.calls then
        print(name, "has", calls, "calls instead of", t.calls)
        bad = true
    end
    local errors = net and error and error > 0 and (net - t.self) / error
    print(("%-16s %9d %11s %10s %6s %10s %6s %8s %5s"):format(name, t.calls,
        each(t.self), each(raw), off(raw), each(net), off(net), each(error),
        errors and ("%+.1f"):format(errors) or "-"))
    sum.self = sum.self + t.self
    sum.raw = sum.raw + math.abs((raw or 0) - t.self)
    if net then
        sum.net = sum.net + math.abs(net - t.self)
    else
        all_net = false
    end
    if net and name:match("_leaf$") then
        leaves = leaves + 1
        leaf_off = leaf_off + net / t.self - 1
    end
    if errors then
        most = math.max(most, error / t.self)
        known = known + 1
        inside = inside + (math.abs(errors) <= 2 and 1 or 0)
    end
end

print(("raw is off by %.1f%% of all self time"):format(sum.raw / sum.self * 100))
if not all_net then
    print("net is not known")
else
    print(("net is off by %.1f%%; %d of %d functions are inside 2 standard " ..
        "errors"):format(sum.net / sum.self * 100, inside, known))
    -- Where hooks cost a few ns only, or samples are few, errors are as large
    -- as what hooks add: net may then be farther off, but within them.
    bad = bad or sum.net > sum.raw and
        (known == 0 or inside < 0.9 * known)
end
if leaves > 0 then
    print(("leaves are off by %+.1f%% on average; the largest error is %.1f%%"):
        format(leaf_off / leaves * 100, most * 100))
end
if arg[3] == "reference" then
    bad = bad or known < #order or inside < 0.85 * known or most > 0.1 or
        math.abs(leaf_off / leaves) > 0.05
    os.exit(not bad)
end
os.exit(not (is_test and bad))
