-- A generator: the producer's calls are its own strand's, the consumer's its own.
local function produce(n)
  for i = 1, n do coroutine.yield(i) end
end
local function generator(n)
  return coroutine.wrap(function() produce(n) end)
end
local function consume(value) return value end
local sum = 0
for value in generator(10) do sum = sum + consume(value) end
print(sum)
