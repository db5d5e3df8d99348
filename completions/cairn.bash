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
            "run report diff assert merge redact export import help --help --version" -- "$current")
        return
    fi

    # --option=value comes as three words, as "=" breaks words.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    case $command in
    run) options="--exact --ticks --sample --wall --label --context-budget --path-limit
        --file-limit --output --quiet" files=any ;;
    report) options="--flat --tree --callers --callees --focus --drop --top --threshold --metric
        --sort --json --no-summary" files=cairn ;;
    diff) options="--contexts --fail-above --fail-above-block --share --json --metric --top --sort" \
        files=cairn ;;
    assert) options="--file --verbose --unknown-is-zero" files=cairn ;;
    merge) options="--output --redact" files=cairn ;;
    redact) options="--keep --map --output" files=cairn ;;
    export) options="--to --output --metric --no-times --redact" files=cairn ;;
    import) options="--from --output --metric" files=any ;;
    help) values="run report diff assert merge redact export import" ;;
    esac
    options+=" --help --usage --version"

    case $command,$previous in
    run,--wall) values="sampled exact off" ;;
    report,--sort | report,-s) values="self inclusive calls name" ;;
    diff,--sort | diff,-s) values="self inclusive calls" ;;
    export,--to | export,-t) values="pprof folded speedscope" ;;
    import,--from | import,-f) values="pprof perf folded" ;;
    *,--metric | *,-m)
        values="wall ticks calls"
        [[ $command != redact ]] || values=
        [[ $command != report ]] || values+=" all"
        ;;
    *,--output | *,-o | assert,--file | assert,-f | redact,--map) files=any options= ;;
    *,--ticks | *,--sample | *,--label | *,--*-limit | *,--context-budget | *,--fail-above* | \
        *,--share | *,--top | *,-n | *,--threshold | *,-T | *,--callers | *,--callees | \
        *,--focus | report,-f | *,--drop | *,--keep | *,-k) return ;;
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
