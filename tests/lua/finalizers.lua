-- Finalizers run wherever memory is allocated; they count below <gc>.
local function work() end
local Resource = {
  __gc = function()
    work()
  end,
}
local function make() return setmetatable({}, Resource) end
for _ = 1, 50 do make() end
collectgarbage()
-- An error in one is a warning.
setmetatable({}, { __gc = function()
  work()
  error("lost", 0)
end })
collectgarbage()
work()
-- One that resumes a coroutine.
setmetatable({}, { __gc = coroutine.wrap(function() work() end) })
collectgarbage()
-- One that is left for the end.
Last = setmetatable({}, { __gc = function() print("last") end })
