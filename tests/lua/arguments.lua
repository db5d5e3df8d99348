-- Prints what the program can see of its own start.
print(#arg, ...)
print(arg[0]:match("[^/]*$"), arg[-1], arg[-2])
for line in io.lines() do print("read", line) end
print(collectgarbage("isrunning"), collectgarbage("generational"))
io.stderr:write("to stderr\n")
