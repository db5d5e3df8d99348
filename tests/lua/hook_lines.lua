-- The program's own line and call hooks see what they would see in lua5.4.
local seen = {}
local function note(event, line) seen[#seen + 1] = event .. (line and ":" .. line or "") end
local function work(n)
  local sum = 0
  for i = 1, n do
    sum = sum + i
  end
  return sum
end
debug.sethook(note, "l")
work(2)
print(select(2, debug.gethook()), debug.gethook() == note)
debug.sethook(note, "cr")
work(1)
debug.sethook()
print(debug.gethook())
print(table.concat(seen, " "))
work(1)
