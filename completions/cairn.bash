# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of the command line of cairn, for bash. The build fills in the table of commands.

_cairn()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]-} options="" values="" files="" joined=""
    # @COMMANDS@
    COMPREPLY=()

    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands help --help --version" -- "$current")
        return
    fi

    # --option=value comes as three words, as "=" breaks words.
    if [[ $current == = ]]; then
        current='' joined=1
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]} joined=1
    fi

    case $command in
    # @OPTIONS@
    help) values=$commands ;;
    esac

    case $command,$previous in
    # @VALUES@
    esac

    if [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    else
        case $files in
        cairn) mapfile -t COMPREPLY < <(compgen -f -X '!*.cairn' -- "$current"; compgen -d -- "$current") ;;
        folder) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        esac
        compopt -o filenames 2>/dev/null
    fi
}

complete -F _cairn cairn
