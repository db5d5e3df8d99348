# SPDX-License-Identifier: MIT
# A capture takes no other file's place, and none of the standard streams', when they are closed.
echo '>a <' >events
play first.cairn <events
echo 'print("mine")' >mine.lua
play mine.lua <events && echo taken
cat mine.lua
: >empty.cairn
play empty.cairn <events && echo replaced
play first.cairn <events && echo replaced
play closed.cairn <events >&- 2>&-
head -c 5 closed.cairn
echo
cairn assert closed.cairn 'calls("a") == 1' && echo whole
# A gate on what only one of two captures measures is refused.
echo '>a +5 <' | play ticks.cairn
cairn diff --fail-above 5% ticks.cairn first.cairn >/dev/null
