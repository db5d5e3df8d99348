# cairn run --alloc of programs of machine code, of scripts, and of what cannot be.
[ -e "$(dirname "$CAIRN_TOOL")/hosts/alloc/libcairn-alloc.so" ] || {
    echo "libcairn-alloc is not in this build"
    exit 77
}
cc -g -O2 -o allocate "$DATA/allocate.c"
unset LD_PRELOAD CAIRN_OUT CAIRN_ALLOC

echo 'figures are exact, and where they belong:'
cairn run --alloc=exact --label who=me ./allocate 3
mv allocate elsewhere # the capture holds names, for other machines
cairn report allocate.cairn --no-summary --metric 'alloc bytes,live bytes' |
    grep -E ' make_(small|large) ' | sed "s|$DATA/||"
cairn report allocate.cairn | grep -o 'exit_status=3, who=me'
cairn report allocate.cairn | grep -A 1 '^memory' |
    sed -E 's/in [0-9,]+ objects/in N objects/g; s/[0-9.]+ KiB/SIZE/g'
cairn assert allocate.cairn '"alloc bytes"("make_small") == 100000' \
    '"alloc objects"("make_small") == 100' '"freed bytes"("make_small") == 60000' \
    '"live bytes"("make_small") == 40000' '"live objects"("make_small") == 40' \
    '"alloc bytes"("work") == 800000' '"live bytes"("work") == 40000' && echo holds
cairn report allocate.cairn --no-summary --top 0 | grep -c ' 0x' || :
mv elsewhere allocate

echo 'sampled:'
cairn run --alloc=4096 -o sampled.cairn ./allocate
cairn report sampled.cairn | grep -o 'one sample in about 4 KiB'
cairn report sampled.cairn --json | grep -o '"memory":{"mode":"sampled","mean_bytes":4096'
cairn assert sampled.cairn '"alloc bytes"("make_large") == 700000' && echo 'large ones are all drawn'

echo 'the environment is the program'"'s own:"
cairn run --alloc -o e.cairn ./allocate 0 LD_PRELOAD
cairn run --alloc -o e.cairn ./allocate 0 CAIRN_OUT

echo 'it ends as the program does:'
cairn run --alloc -o killed.cairn ./allocate -15
cairn report killed.cairn | grep -o 'ended_by=[A-Za-z]*'

echo 'scripts:'
printf '#!/bin/sh\necho "$@"\n' >plain.sh
printf '#!/usr/bin/env sh\necho "$@"\n' >through_env.sh
printf '#!/usr/bin/env -S sh -u\necho "$@"\n' >split.sh
chmod +x ./*.sh
for script in plain through_env split; do
    cairn run --alloc=exact -o $script.cairn ./$script.sh a 'b c'
done
ls plain.cairn through_env.cairn split.cairn 2>/dev/null

echo 'what cannot be:'
echo 'const char *uses = "libcairn"; int main(void) { return 0; }' >empty.c
cc -static -o static empty.c && cairn run --alloc ./static
cc -o empty empty.c
cairn run --alloc=12x ./empty 2>&1 | head -n 1
cairn run --alloc --ticks 5 ./empty
cairn run --alloc -o nowhere/a.cairn ./empty 2>&1 | sed "s,$PWD/,,"
cairn run -o empty.c ./empty 2>&1 | sed "s,$PWD/,," && cat empty.c
cairn run --label a=b ./empty

echo 'without --alloc:'
cairn run ./empty
cairn run --quiet ./empty
cairn run --wall=sampled -o killed.cairn ./allocate -15
