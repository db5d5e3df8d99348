-- Chunks: loaded strings, named ones, binary ones, files, modules.
local directory = arg[0]:match("^(.*/)") or "./"
package.path = directory .. "?.lua"
local module = require("modules.shapes")
print(module.area({ width = 2, height = 3 }))
print(dofile(directory .. "modules/answer.lua"))
print(load("return 1 + 1")())
print(load("local function inside() return 'in' end return inside()", "=(named)")())
print(load("\nlocal function far() return 'far' end\nreturn far()", "@elsewhere/file.lua")())
print(load(string.dump(function() return "dumped" end, true))())
print(load(function() return nil end))
