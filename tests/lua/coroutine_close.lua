-- coroutine.close runs what is to be closed, on the coroutine's own stack.
local function leaf() end
local function guard(name)
  return setmetatable({}, {
    __close = function(_, problem)
      print("close", name, problem)
      leaf()
    end,
  })
end
local function suspended()
  local outer <close> = guard("outer")
  local function inner()
    local own <close> = guard("inner")
    coroutine.yield()
  end
  inner()
end
local thread = coroutine.create(suspended)
print(coroutine.resume(thread))
print(coroutine.close(thread))
print(coroutine.status(thread))
local failing = coroutine.wrap(function()
  local own <close> = guard("failing")
  error("failed", 0)
end)
print(pcall(failing))
print(coroutine.close(coroutine.create(leaf)))
leaf()
