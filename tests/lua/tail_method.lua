-- Tail calls through methods, __call and a varying callee.
local Node = {}
Node.__index = Node
function Node:walk(n)
  if n == 0 then return self:stop() end
  return self:walk(n - 1)
end
function Node:stop() return "stopped" end
local callable = setmetatable({}, {
  __call = function(self, n)
    if n == 0 then return "called" end
    return self(n - 1)
  end,
})
local function start(n) return callable(n) end
print(setmetatable({}, Node):walk(4))
print(start(3))
