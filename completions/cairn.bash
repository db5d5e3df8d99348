# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of the command line of cairn, for bash.

# Words of the line before the one that is completed: the command, and the option that waits for
# a value.
_cairn()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]-} options="" values="" files=""
    COMPREPLY=()

    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W \
            "run top view report spans explain critical query whatif cc c++ clang clang++ diff assert merge redact export import help --help --version" -- "$current")
        return
    fi

    # --option=value comes as three words, as "=" breaks words.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    case $command in
    run) options="--exact --ticks --sample --wall --cpu --period --spans --span-limit --span-rate
        --span-cpu --span-histograms --alloc --label --context-budget --path-limit
        --file-limit --output --quiet" files=any ;;
    report) options="--flat --tree --stack --gc --compare --callers --callees --focus --drop --top --threshold --metric
        --sort --json --html --no-summary --zero --dot --keep --merge --split" files=cairn ;;
    view) options="--port --source --api" files=any ;;
    top) options="--pid --view --metric --sort --focus --filter --total --delay --count --batch
        --once --top" files=cairn ;;
    spans) options="--slowest --missing --by --fail-above --block --where --histograms --sort --top --json" files=cairn ;;
    explain) options="--where --top --json" files=cairn ;;
    critical) options="--path --span --top --json" files=cairn ;;
    query) options="--csv --json --file --schema" files=cairn ;;
    whatif) options="--speedup --context --threads --cores --queue --sleep --timer --block --fixed --no-guesses
        --no-table --top --json" files=cairn ;;
    cc | c++) options="--profile --stack --only --skip --only-file --skip-file --small --inlined
        --clones --zero --branch --verify --calls" files=any ;;
    clang | clang++) options="--profile --stack --small --zero --inlined" files=any ;;
    diff) options="--contexts --fail-above --fail-above-block --share --json --metric --top --sort" \
        files=cairn ;;
    assert) options="--file --verbose --unknown-is-zero" files=cairn ;;
    merge) options="--output --redact" files=cairn ;;
    redact) options="--keep --map --output" files=cairn ;;
    export) options="--to --output --metric --no-times --redact" files=cairn ;;
    import) options="--from --output --metric" files=any ;;
    help) values="run top view report spans explain critical query whatif cc c++ clang clang++ diff assert merge redact export import" ;;
    esac
    options+=" --help --usage --version"

    case $command,$previous in
    run,--alloc) values="exact" ;;
    run,--wall) values="sampled exact off" ;;
    cc,--profile | c++,--profile | clang,--profile | clang++,--profile) values="count count+time alloc time" ;;
    run,--spans) values="first last off" ;;
    report,--compare) values="wall,cpu wall,ticks cpu,ticks" ;;
    report,--sort | report,-s) values="self inclusive calls name" ;;
    top,--sort | top,-s) values="self inclusive calls name" ;;
    top,--view | top,-v) values="self inclusive tree callers lanes focus" ;;
    top,--pid | top,-p | top,--filter | top,-F | top,-f | top,--delay | top,-d | top,--count) return ;;
    spans,--by) values="iteration parent-iteration parent path lane" ;;
    spans,--sort | spans,-s) values="total self count median p99 max" ;;
    diff,--sort | diff,-s) values="self inclusive calls" ;;
    export,--to | export,-t) values="pprof folded speedscope perfetto chrome otlp" ;;
    import,--from | import,-f) values="pprof perf folded" ;;
    *,--metric | *,-m)
        values="wall ticks calls"
        [[ $command != redact ]] || values=
        [[ $command != report ]] || values+=" all"
        ;;
    view,--port | view,-p) return ;;
    whatif,--speedup | whatif,-s | whatif,--context | whatif,-c | whatif,--threads | whatif,-t | whatif,--cores | \
        whatif,--queue | whatif,--sleep | whatif,--timer | whatif,--block | whatif,-b) return ;;
    view,--source | view,-s | report,--html) files=any options= ;;
    *,--output | *,-o | assert,--file | assert,-f | query,--file | query,-f | redact,--map) files=any options= ;;
    *,--ticks | *,--sample | *,--label | *,--*-limit | *,--context-budget | *,--fail-above* | \
        *,--share | *,--top | *,-n | *,--where | critical,--span | critical,-S | spans,--block | spans,-b | spans,--where | *,--threshold | *,-T | *,--callers | *,--callees | \
        *,--focus | report,-f | report,--gc | *,--drop | *,--keep | *,-k) return ;;
    esac

    if [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    else
        case $files in
        cairn) mapfile -t COMPREPLY < <(compgen -f -X '!*.cairn' -- "$current"; compgen -d -- "$current") ;;
        any) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        esac
        compopt -o filenames 2>/dev/null
    fi
}

complete -F _cairn cairn
