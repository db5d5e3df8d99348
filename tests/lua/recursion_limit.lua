-- Recursion to Lua's own limits: of its stack, of C calls, of coroutines.
local function counted(run)
  local deepest = 0
  local ok, message = pcall(run, function() deepest = deepest + 1 end)
  return ok, (tostring(message):gsub("^.-:%d+: ", "")), deepest > 0
end
local function down(count)
  count()
  return 1 + down(count)
end
print(counted(down))
local function by_gsub(count)
  count()
  return (string.gsub("x", "x", function() return by_gsub(count) end))
end
print(counted(by_gsub))
local function by_coroutine(count)
  count()
  return coroutine.wrap(by_coroutine)(count)
end
print(counted(by_coroutine))
local function after() end
after()
