-- A C module: its functions by name, its own lua_resume, lua_sethook, lua_pcall and waits.
package.cpath = os.getenv("CAIRN_TEST_CPATH")
local native = require("native")
local function leaf() end
local function fail() error("failed") end
local thread = coroutine.create(function()
  leaf()
  coroutine.yield()
  fail()
end)
print(native.step(thread), native.step(thread), native.step(thread))
leaf()
print(native.again(leaf, 3), native.again(fail, 3))
leaf()
print(native.watch(10))
for _ = 1, 100 do leaf() end
print(native.unwatch())
for _ = 1, 3 do leaf() end
print(native.nap(15))
