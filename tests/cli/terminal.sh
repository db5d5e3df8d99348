# On a terminal lines fit and there is colour; NO_COLOR is heeded; elsewhere nothing is cut.
script -qec true /dev/null >/dev/null 2>&1 || { echo "there are no terminals here"; exit 77; }
name=a_function_whose_name_goes_on_and_on_for_longer_than_any_terminal_is_wide_by_far
printf 'block %s some/directory/that/is/long/too/file.c 123\n>%s +100\n' $name $name | play a.cairn
on_terminal() {
    script -qec "stty cols 70; TERM=xterm cairn report --no-summary a.cairn" /dev/null |
        tr -d '\r' | sed 's/\x1b\[/<ESC>/g'
}
on_terminal
export NO_COLOR=1
on_terminal
cairn report --no-summary a.cairn

# The next command is suggested only on a terminal.
printf '>main >work +5 >sort +9\n' | play a.cairn
script -qec "stty cols 99; TERM=xterm cairn report --no-summary a.cairn" /dev/null | tr -d '\r'
script -qec "stty cols 99; TERM=xterm cairn report --no-summary a.cairn -f work" /dev/null | tr -d '\r'

# Of a sampled program that ran an interpreter, too.
printf 'note host sample\nnote python 3.11.2\n>main >work +5\n' | play a.cairn
script -qec "stty cols 99; TERM=xterm cairn report --no-summary a.cairn" /dev/null | tr -d '\r'
