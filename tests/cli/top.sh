# Totals of a closed capture, as text.
play a.cairn <<EVENTS
note command my_program
block parse src/parser.c 10
block token src/token.c 20
>main +10 >parse +20 >token +60 < <
3 * >token +5 <
>render +5 >\x1b[2Jhostile +1
EVENTS
without_pid() { sed -E 's/pid +[0-9]+ +[0-9.]+ [a-zµ]+/pid PID TIME/; s/[0-9.]+[kMG]? calls\/s/N calls\/s/'; }
cairn top --once a.cairn | without_pid
cairn top a.cairn --count 1 --view tree | without_pid | sed 1,4d
cairn top --once a.cairn --view total --sort name | sed 1,4d
cairn top --once a.cairn --metric calls --top 2 | sed 1,2d
cairn top --once a.cairn --focus parse | sed 1,3d
cairn top --once a.cairn --view callers --focus token | sed 1,3d
cairn top --once a.cairn --view lanes | sed 1,3d
cairn top --once a.cairn --filter PARSER.c | sed 1,4d
cairn top --once a.cairn --filter nothing_has_this | sed 1,2d
cairn top --once a.cairn --view callers | sed 1,2d
cairn top --once a.cairn --focus no_such_block | sed 1,2d

# Names have their enclosing blocks if there is space.
play nested.cairn <<EVENTS
block run src/run.c 3
block step src/run.c 5 run
block each src/run.c 7 step
>run +10 >step +5 >each +1
EVENTS
cairn top --once nested.cairn | sed 1,4d
cairn top --once nested.cairn --view tree | sed 1,4d

# Lists the captures of children, and no other files.
cp a.cairn a.77.cairn
cp a.cairn a.77.2.cairn
cp a.cairn a.seven.cairn
cp a.cairn ab.77.cairn
cairn top --once a.cairn | grep children
rm a.*.cairn

# Invalid options.
mkdir empty
(cd empty && cairn top)
cairn top a.cairn b.cairn
cairn top a.cairn --pid 1
cairn top --pid many
cairn top --pid 4194305
cairn top a.cairn --view sideways
cairn top a.cairn --sort size
cairn top a.cairn --delay 0
cairn top a.cairn --count 0
cairn top --once a.cairn --metric size
cairn top not_there.cairn
cairn top .
echo "this is no capture" >b.cairn
cairn top b.cairn
