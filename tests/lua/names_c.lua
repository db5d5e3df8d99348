-- C functions as a person would write them, wherever they are called from.
local renamed = string.gsub
renamed("x", "x", "y")
local text = ("x"):rep(3):upper()
text:gsub("X", string.lower)
for _ in text:gmatch(".") do end
for _ in ipairs({ 1 }) do end
for _ in pairs({ 1 }) do end
for _ in utf8.codes("a") do end
local file = io.tmpfile()
file:write("a\n")
file:seek("set")
for _ in file:lines() do end
file:close()
io.write(math.type(1), " ", utf8.char(65), "\n")
tostring(1)
local values = table.pack(table.unpack({ 1, 2 }))
print(select("#", values), os.time() > 0)
local own = { print = print, shout = string.upper }
own.shout("x")
require("string")
