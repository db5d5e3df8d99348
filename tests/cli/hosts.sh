# cairn run finds hosts by their names, which can have a version, beside the tool and in ../libexec/cairn.
mkdir -p tool/hosts/toy tool/hosts/zap/cairn-dir libexec/cairn
cp "$CAIRN_TOOL" tool/cairn
for host in tool/hosts/toy/cairn-toy5.4 libexec/cairn/cairn-elsewhere; do
    printf '#!/bin/sh\necho "${0##*/}: $*"\n' >"$host"
    chmod +x "$host"
done
touch tool/hosts/zap/cairn-zap a.toy a.elsewhere a.zap a.txt
tool/cairn run --wall exact --cpu --label a=b --label c=d a.toy --x y
tool/cairn run --spans --ticks 7 -o out.cairn -q a.elsewhere
echo "any other script is for the first"
tool/cairn run a.zap
tool/cairn run a.txt
tool/cairn run -
cp "$(command -v env)" toy5.4 # profiles nothing, unlike the tool
tool/cairn run ./toy5.4 a.toy
