-- SPDX-License-Identifier: MIT
-- Calls burn in many ways. tests/sample/embedded.c tells how the time is known.
local account = {}
function account:deposit() burn(20) end
local function leaf() burn(30) end
local function middle() leaf() burn(10) end
local function tail() return leaf() end
local function recursive(n)
  if n == 0 then return burn(25) end
  recursive(n - 1)
end
local object = setmetatable({}, {
  __index = function() burn(15) end,
  __add = function() middle() return 1 end,
  __call = function() account:deposit() end,
})
local function iterator() burn(5) end
local sleeper = coroutine.create(function()
  while true do
    middle()
    coroutine.yield()
    leaf()
    coroutine.yield()
  end
end)
local text = assert(load("burn(12)", "=text"))

for _ = 1, 4 do
  leaf()
  middle()
  tail()
  recursive(5)
  account:deposit()
  apply(leaf)
  apply(function() apply(middle) end)
  pcall(middle)
  local _ = object.missing, object + 1
  object()
  for _ in iterator do end
  resume(sleeper)
  text()
  string.gsub("ab", ".", function() burn(8) end)
  table.sort({ 2, 1 }, function(a, b) burn(6) return a < b end)
  pcall(error, "an error unwinds both stacks")
  assert(not pcall(function() leaf() error("after some work") end))
end
