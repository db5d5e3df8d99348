-- Hooks are set for one coroutine each.
local lines = 0
local function work(n)
  for _ = 1, n do
    local _ = n
  end
end
local thread = coroutine.create(function()
  work(2)
  coroutine.yield()
  work(3)
end)
debug.sethook(thread, function() lines = lines + 1 end, "l")
print(debug.gethook(), debug.gethook(thread) ~= nil)
coroutine.resume(thread)
local before = lines
work(5)
print(lines == before)
coroutine.resume(thread)
print(lines)
-- A thread that is made while a hook is set inherits the mask, not the function.
debug.sethook(function() lines = lines + 1 end, "c")
local heir = coroutine.create(function() work(1) end)
print(debug.gethook(heir))
coroutine.resume(heir)
debug.sethook()
print(lines)
