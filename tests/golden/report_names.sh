# Names with commas, spaces, UTF-8, invalid UTF-8 and control characters.
play a.cairn <<'END'
block f(int,int) a.c 1
block naïve_größe π.c 2
block \x1b[31mred a.c 3
block bad\xff\xfe a.c 4
block twin a.c 5
block line a.c 7
>f(int,int) +5 >naïve_größe +4 >\x1b[31mred +3 >bad\xff\xfe +2 >twin +1
block twin b/a.c 6
>twin +6 < < < < < <
END
cairn report --no-summary a.cairn
cairn report --no-summary a.cairn --focus 'f(int,int),naïve größe'
cairn report --no-summary a.cairn --callers twin
cairn report --no-summary a.cairn --callers twin@a.c:6
cairn report --no-summary a.cairn --callers twin@b/a.c
cairn report --no-summary a.cairn --callers @b/a.c:6
cairn report --no-summary a.cairn --callers '#2'
cairn report --no-summary a.cairn --json --top 5 --sort name | tail -n +9
