# Each gets one line that says what, where and what to do, and status 2.
printf '>a +1 <\n' | play a.cairn
: >empty.cairn
printf 'not a capture, but long enough to be looked at %4000s\n' x >garbage.cairn
mkdir directory.cairn
cp a.cairn newer.cairn
printf '\377' | dd of=newer.cairn bs=1 seek=8 conv=notrunc status=none
for file in missing.cairn empty.cairn garbage.cairn directory.cairn newer.cairn; do
    cairn report "$file"
done
cairn diff a.cairn missing.cairn
cairn assert missing.cairn '1 < 2'
cairn merge -o out.cairn a.cairn missing.cairn
cairn merge -o directory.cairn a.cairn
cairn merge -o nowhere/out.cairn a.cairn
cairn redact missing.cairn -o out.cairn
cairn redact a.cairn -o out.cairn --map directory.cairn
cairn assert a.cairn --file missing
ls
