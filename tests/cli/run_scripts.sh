# Scripts of other interpreters are named for what they are; programs are found on PATH; -h is help.
mkdir folder
printf '#!/usr/bin/env python3\nimport sys\n' >folder/tool
chmod +x folder/tool
cp folder/tool script
cairn run folder/tool
cairn run ./script
PATH=$PWD/folder:$PATH
cairn run tool 2>&1 | sed "s|$PWD|.|"
cairn run no_such_tool
cairn run -h | head -n 1
cairn report -h | head -n 1
