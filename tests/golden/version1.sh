# A capture of format version 1, whose records had 32 bytes, is read as before.
cp "$DATA/version1.cairn" .
cairn report version1.cairn
cairn report --tree version1.cairn | tail -4
cairn top --once -b version1.cairn | grep -c fib
