-- Errors and protected calls inside of coroutines.
local function leaf() end
local function fail(message) error(message, 0) end
local function body()
  print(pcall(function()
    print(pcall(fail, "first"))
    coroutine.yield("between")
    print(xpcall(fail, function(message)
      leaf()
      return message
    end, "second"))
    fail("third")
  end))
  coroutine.yield("last")
  fail("fourth")
end
local thread = coroutine.create(body)
for _ = 1, 5 do print(coroutine.resume(thread)) end
print(pcall(coroutine.wrap(function()
  leaf()
  fail("through wrap")
end)))
leaf()
