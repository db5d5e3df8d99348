-- The program ends by an error whose value is an object.
local function raise(value) error(value) end
io.stderr:write("before\n")
raise(setmetatable({}, { __tostring = function() return "an object" end }))
