-- Lua called back from C: sort, gsub, metamethods, tostring, load's reader, iterators.
local function less(a, b) return a < b end
local list = { 5, 3, 4, 1, 2 }
table.sort(list, less)
print(table.concat(list, " "))
print((("abc"):gsub("%a", function(letter) return letter:upper() end)))
local Point = {}
Point.__index = Point
Point.__add = function(a, b) return setmetatable({ x = a.x + b.x }, Point) end
Point.__tostring = function(point) return "x=" .. point.x end
Point.__lt = function(a, b) return a.x < b.x end
Point.__len = function() return 0 end
Point.__concat = function(a, b) return tostring(a) .. tostring(b) end
Point.__newindex = function(point, key, value) rawset(point, key, value) end
Point.__pairs = function(point) return next, point, nil end
local point = setmetatable({ x = 1 }, Point)
point.y = 2
print(tostring(point + point), point < point, #point, point .. point)
for _ in pairs(point) do end
local pieces = { "return ", "7" }
print(load(function() return table.remove(pieces, 1) end)())
