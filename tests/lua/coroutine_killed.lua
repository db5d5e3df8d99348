-- Coroutines that die of an error, with frames that never return.
local function leaf() end
local function deep(n)
  if n == 0 then error("killed", 0) end
  deep(n - 1)
end
for i = 1, 3 do
  local thread = coroutine.create(function()
    leaf()
    deep(i)
  end)
  print(coroutine.resume(thread))
  print(coroutine.resume(thread))
  print(coroutine.status(thread))
  leaf()
end
