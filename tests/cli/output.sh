# A closed pipe is no error; a full disk is. If a capture cannot be written, the existing file
# stays.
{
    for i in $(seq 3000); do echo ">function$i +$i <"; done
} | play a.cairn
cairn report a.cairn --top 0 2>said | head -n 1
cat said
(
    trap '' PIPE
    cairn report a.cairn --top 0 2>said | head -n 1
)
cat said
rm said
if [ -w /dev/full ]; then
    cairn report a.cairn >/dev/full
    cairn report a.cairn --json >/dev/full
    cairn report --help >/dev/full
    cairn --help >/dev/full
fi 2>&1 | sort -u
printf '>a +1 <\n' | play b.cairn
cairn merge -o c.cairn a.cairn b.cairn
cairn assert c.cairn 'calls("a") == 1' 'calls("function1") == 1'
# Output replaces neither the input file nor a file that is not a capture.
cairn merge -o b.cairn a.cairn b.cairn
cairn merge -o ./b.cairn b.cairn
echo mine >notes.txt
cairn merge -o notes.txt a.cairn
cairn redact -o notes.txt a.cairn
cat notes.txt
cairn merge -o c.cairn b.cairn garbage.cairn
cairn assert c.cairn 'calls("a") == 1' 'calls("function1") == 1' && echo stays
# All commands write through symbolic links.
mkdir folder
ln -s folder/sum.cairn sum.cairn
ln -s folder/a.pb.gz a.pb.gz
ln -s ../b.cairn folder/again.cairn
cairn merge -o sum.cairn a.cairn b.cairn
cairn export -o a.pb.gz a.cairn
cairn merge -o a.cairn folder/again.cairn
cairn merge -o b.cairn folder/again.cairn
echo 'a;b 1' | cairn import -o folder/again.cairn -
ls folder
cairn assert b.cairn 'calls("a") == 0' && readlink sum.cairn a.pb.gz folder/again.cairn
ls
