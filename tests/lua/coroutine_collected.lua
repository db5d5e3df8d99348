-- Coroutines that are collected before they end, and whose memory others use again.
local function step()
  coroutine.yield()
end
local function body()
  step()
end
for i = 1, 3000 do
  coroutine.wrap(body)()
  if i % 1000 == 0 then collectgarbage() end
end
local function leaf() end
coroutine.wrap(leaf)()
