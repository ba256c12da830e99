-- yardstick.lua - how far self times agree with perf's samples of a program that
-- is not recorded. Files of shares have lines "AMOUNT FUNCTION".
--   perf PROGRAM FLAGGED: shares of PROGRAM's own code, from what "perf script
--     --show-mmap-events -F ip,dso" prints. Inlined code counts for the innermost
--     function that FLAGGED, the build with the compiler's flag, has; PLTs do not
--     count.
--   weft PROGRAM: the same from "weft report --csv", by time on the CPU.
--   table TOP FILE... -- LABEL FILE...: compares LABEL's with the sum of the
--     FILEs, which are runs of perf, and each of these with the sum of the
--     others: their noise. Then the TOP functions with their shares.
-- A function is told by its name: two of one name are one.
-- SPDX-License-Identifier: MIT
local TOP, RANKED = 10, 30

-- gcc's "f.part.0", "f.cold" and so on are f.
local function plain(name) return (name:gsub("^([^.]+)%..*", "%1")) end

local function add(to, name, amount)
    to[name] = (to[name] or 0) + amount
end

local function lines_of(command)
    local pipe = assert(io.popen(command))
    return pipe:lines()
end

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

-- Where its code is: the section's address, its end, and how far addresses are
-- above places in the file.
local function text_of(program)
    for line in lines_of("readelf -SW " .. quoted(program)) do
        local from, offset, size =
            line:match(" %.text +PROGBITS +(%x+) (%x+) (%x+)")
        if from then
            from = tonumber(from, 16)
            return from, from + tonumber(size, 16),
                from - tonumber(offset, 16)
        end
    end
    error(program .. " has no code")
end

-- How many samples are at each address of its code.
local function samples_of(program)
    local from, to, above = text_of(program)
    local maps, found = {}, {}
    for line in io.lines() do
        local start, size, offset, path = line:match("PERF_RECORD_MMAP2 .*" ..
            "%[0x(%x+)%(0x(%x+)%) @ (%w+) .*%]: %S*x%S* (.*)$")
        local ip = line:match("^%s*(%x+) %(")
        if path == program then
            start = tonumber(start, 16)
            maps[#maps + 1] = { start, start + tonumber(size, 16),
                tonumber(offset) - start + above }
        elseif ip then
            ip = tonumber(ip, 16)
            for _, map in ipairs(maps) do
                local at = ip + map[3]
                if ip >= map[1] and ip < map[2] and at >= from and at < to then
                    add(found, at, 1)
                    break
                end
            end
        end
    end
    return found
end

local function functions_of(program)
    local found = {}
    for line in lines_of("nm " .. quoted(program)) do
        local name = line:match(" [tTwWi] (.*)$")
        if name then found[plain(name)] = true end
    end
    return found
end

local function perf(program, flagged)
    local samples, known = samples_of(program), functions_of(flagged)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    for at in pairs(samples) do file:write(("0x%x\n"):format(at)) end
    file:close()
    -- Of each address: itself, then function and place, innermost first.
    local shares, at, best = {}
    local function count()
        if at and best then add(shares, best, samples[at]) end
    end
    local is_name = false
    for line in lines_of("addr2line -a -i -f -e " .. quoted(program) .. " <" ..
            path) do
        local address = line:match("^0x(%x+)$")
        if address then
            count()
            at, best, is_name = tonumber(address, 16), nil, true
        else
            if is_name and not (best and known[best]) then best = plain(line) end
            is_name = not is_name
        end
    end
    count()
    os.remove(path)
    return shares
end

-- Names with commas are quoted.
local function fields(line)
    local t = {}
    line = line:gsub('"([^"]*)"', function(s) return (s:gsub(",", ";")) end)
    for f in (line .. ","):gmatch("([^,]*),") do t[#t + 1] = f end
    return t
end

local function weft(program)
    local head, shares
    for line in io.lines() do
        local row = fields(line)
        if not head then
            head, shares = {}, {}
            for i, name in ipairs(row) do head[name] = i end
        elseif row[head.language] == "native" and
            row[head.module] == program then
            local name = row[head["function"]]:gsub(" %[sampled%]$", "")
            local ns = tonumber(row[head.cpu_ns]) or 0
            -- A row of the PLT is no function's.
            if ns > 0 and not name:find("[@%[]") then add(shares, plain(name), ns) end
        end
    end
    return shares
end

local function read(path)
    local shares = {}
    for line in io.lines(path) do
        local amount, name = line:match("^(%S+) (.+)$")
        add(shares, name, tonumber(amount))
    end
    return shares
end

local function write(shares)
    for name, amount in pairs(shares) do
        print(("%.17g %s"):format(amount, name))
    end
end

-- Parts of 1; the names, the largest first.
local function ranked(amounts)
    local all, shares, names = 0, {}, {}
    for _, amount in pairs(amounts) do all = all + amount end
    for name, amount in pairs(amounts) do
        shares[name] = amount / all
        names[#names + 1] = name
    end
    table.sort(names, function(a, b)
        if shares[a] ~= shares[b] then return shares[a] > shares[b] end
        return a < b
    end)
    return shares, names
end

local function sign(x) return x > 0 and 1 or x < 0 and -1 or 0 end

-- Kendall's tau-b of the first names.
local function tau(names, a, b)
    local same, pairs_a, pairs_b = 0, 0, 0
    local n = math.min(#names, RANKED)
    for i = 1, n do
        for k = i + 1, n do
            local x = sign(a[names[i]] - a[names[k]])
            local y = sign((b[names[i]] or 0) - (b[names[k]] or 0))
            same = same + x * y
            pairs_a, pairs_b = pairs_a + x * x, pairs_b + y * y
        end
    end
    return pairs_a * pairs_b > 0 and same / math.sqrt(pairs_a * pairs_b) or 0
end

local function compare(truth, ours)
    local a, first = ranked(truth)
    local b, second = ranked(ours)
    local top, shared, off = math.min(#first, TOP), 0, 0
    local is_top = {}
    for i = 1, top do is_top[first[i]] = true end
    for i = 1, math.min(#second, top) do
        shared = shared + (is_top[second[i]] and 1 or 0)
    end
    for name, share in pairs(a) do off = off + math.abs(share - (b[name] or 0)) end
    for name, share in pairs(b) do off = off + (a[name] and 0 or share) end
    -- With nothing at all, all of it is elsewhere.
    if #first == 0 or #second == 0 then off = #first == #second and 0 or 2 end
    return { shared = shared, top = top, tau = tau(first, a, b), off = off / 2 }
end

-- The sum of the runs but one; of all, without the second argument.
local function sum_of(runs, but)
    local sum = {}
    for i, run in ipairs(runs) do
        if i ~= but then
            for name, amount in pairs(run) do add(sum, name, amount) end
        end
    end
    return sum
end

local function noise_of(runs)
    local mean = { shared = 0, top = 0, tau = 0, off = 0 }
    for i, run in ipairs(runs) do
        for key, value in pairs(compare(sum_of(runs, i), run)) do
            mean[key] = mean[key] + value / #runs
        end
    end
    return mean
end

local function print_row(label, c, noise)
    -- Both are like sums of independent differences.
    local left = noise and math.sqrt(math.max(0, c.off ^ 2 - noise.off ^ 2))
    print(("%-28s %5.3g of %-3.0f %6.2f %10.1f%%%s"):format(label, c.shared,
        c.top, c.tau, 100 * c.off, left and ("%16.1f%%"):format(100 * left) or
        ""))
end

local function print_functions(top, truth, labels, ours)
    local a, first = ranked(truth)
    local head, shares = { "perf" }, {}
    for i, label in ipairs(labels) do
        head[i + 1] = label
        shares[i] = ranked(ours[i])
    end
    print("\nself: " .. table.concat(head, ", "))
    for i = 1, math.min(#first, top) do
        local row = { ("%5.1f%%"):format(100 * a[first[i]]) }
        for k, share in ipairs(shares) do
            row[k + 1] = ("%5.1f%%"):format(100 * (share[first[i]] or 0))
        end
        print(table.concat(row, " ") .. "  " .. first[i])
    end
end

local function print_table(top, ...)
    local runs, labels, ours = {}, {}, {}
    local args, i = { ... }, 1
    while args[i] ~= "--" do
        runs[i] = read(args[i])
        i = i + 1
    end
    for k = i + 1, #args, 2 do
        labels[#labels + 1] = args[k]
        ours[#ours + 1] = read(args[k + 1])
    end
    local truth, noise = sum_of(runs), noise_of(runs)
    print(("%-28s %11s %6s %11s %16s"):format("", "top 10", "tau 30",
        "misplaced", "noise taken out"))
    for k, label in ipairs(labels) do
        print_row(label, compare(truth, ours[k]), noise)
    end
    print_row("a run of perf's, the others", noise)
    if top > 0 then print_functions(top, truth, labels, ours) end
end

if arg[1] == "perf" then
    write(perf(arg[2], arg[3]))
elseif arg[1] == "weft" then
    write(weft(arg[2]))
else
    print_table(tonumber(arg[2]), table.unpack(arg, 3))
end
