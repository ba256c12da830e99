-- profile.lua - report and tree of a session that was exported as a profile say
-- what those of the session itself must say.
-- SPDX-License-Identifier: MIT
local profile = {}

function profile.checks(s, random)
	local checks = {}
	for _, view in ipairs { "report", "tree", "bottom_up" } do
		local all = require(view).checks(s, random)
		local check = all[random(#all)]
		check.first = "$WEFT export --output @.pb.gz @"
		check.of = "@.pb.gz"
		checks[#checks + 1] = check
	end
	return checks
end

return profile
