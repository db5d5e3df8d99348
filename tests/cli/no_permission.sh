# Root may read everything: then the test lets another user try.
printf '>a +1 <\n' | play a.cairn
chmod 000 a.cairn
chmod 777 .
if [ "$(id -u)" = 0 ]; then
    # The tool itself may lie where that user cannot go.
    cp "$CAIRN_TOOL" tool
    chmod 755 tool
    dir=$(pwd)
    chmod 711 "$dir/.."
    export GCOV_PREFIX="$dir" # a build that counts coverage writes where that user may
    setpriv --reuid 65534 --regid 65534 --clear-groups ./tool report a.cairn
else
    "$CAIRN_TOOL" report a.cairn
fi
echo "status $?"
