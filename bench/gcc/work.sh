# SPDX-License-Identifier: MIT
# What dash is measured on: functions, arithmetic, patterns, expansion, here documents. Starts no process.
fib() {
    if [ "$1" -lt 2 ]; then
        result=$1
    else
        fib $(($1 - 1))
        set -- "$1" "$result"
        fib $(($1 - 2))
        result=$(($2 + result))
    fi
}
i=0 words= odd=0
while [ $i -lt ${1:-60000} ]; do
    case $i in
    *[13579]) odd=$((odd + 1)) ;;
    *00) words="$words ${i%00}" ;;
    esac
    name="row_${i#?}"
    eval "last_$((i % 7))=\$name"
    i=$((i + 1))
done
for word in $words; do
    [ "${word#1}" = "$word" ] || odd=$((odd + ${#word}))
done
fib 13
read -r first rest <<TEXT
$last_3 $words
TEXT
echo "$odd $result $first ${#rest}"
