# Programs that are not there are named; -h is help.
cairn run no_such_tool
cairn run -h | sed -n 1p
cairn report -h | sed -n 1p
