-- Yield across pcall, metamethods and iterators.
local function leaf() end
local object = setmetatable({}, {
  __add = function(a, b)
    coroutine.yield("add")
    leaf()
    return 1
  end,
})
local thread = coroutine.wrap(function()
  print(pcall(function()
    coroutine.yield("one")
    leaf()
    local _ = object + 1
    error("end", 0)
  end))
  for _ in function(_, last)
    coroutine.yield("iterator")
    return not last or nil
  end do
    leaf()
  end
  return "done"
end)
for _ = 1, 5 do print(thread()) end
