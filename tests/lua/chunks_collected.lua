-- Thousands of chunks are compiled, run, collected, and their memory used again. Each
-- function must be told from all that were where it is now.
local sum = 0
for i = 1, 7000 do
  local kind = i % 7
  local text = ("local function kind%d() return %d end return kind%d()"):format(kind, kind, kind)
  sum = sum + load(text)()
  if i % 100 == 0 then collectgarbage() end
end
print(sum)
