-- Coroutines that resume coroutines, and one that runs many times.
local function deep(n)
  if n == 0 then
    coroutine.yield("bottom")
    return
  end
  local inner = coroutine.wrap(deep)
  coroutine.yield(inner(n - 1))
  inner()
end
local outer = coroutine.wrap(deep)
print(outer(6))
outer()
local function count() return coroutine.running() end
local counter = coroutine.wrap(function()
  while true do
    count()
    coroutine.yield(coroutine.isyieldable())
  end
end)
for _ = 1, 100 do counter() end
