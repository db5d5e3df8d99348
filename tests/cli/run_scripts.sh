# Programs that are not there are named; -h is help.
cairn run no_such_tool
cairn run -h | head -n 1
cairn report -h | head -n 1
