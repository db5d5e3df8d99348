#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes shell completions and manual pages from the table of commands (cairn --commands).

  commands.py bash|zsh|fish TABLE [TEMPLATE]     prints the completion of that shell
  commands.py man TABLE VERSION FOLDER PAGE...   writes the pages into the folder

A template has @NAME@ where lines from the table go. A page begins with its first section behind
SYNOPSIS; options follow the text of its section OPTIONS, commands that of COMMANDS.
"""
import json
import os
import re
import sys

FILES = {"FILE": "file", "OUT": "file", "FOLDER": "folder"}
COMMON = [{"name": "help", "letter": "?", "help": "Say what the command takes"},
          {"name": "usage", "help": "Say so in a few lines"},
          {"name": "version", "letter": "V", "help": "Print the version"}]


def options_of(command):
    """The options of a command, without headings."""
    own = [option for option in command["options"] if "name" in option]
    return own if command["passes_on"] else own + COMMON


def brief(option):
    """The first clause of the help that has a few words."""
    text = re.match(r"(\S+ ){2}.*?(?=; |: |\. | \(|$)|.*", option["help"])[0]
    return text[0].lower() + text[1:] if text[1].islower() or text[1] == " " else text


def takes_captures(command):
    return re.search(r"CAPTURE|BEFORE", command["arguments"]) is not None


def fill(template, parts):
    with open(template, encoding="utf-8") as file:
        text = file.read()
    for name, lines in parts.items():
        text = re.sub(r"^.*@%s@.*\n" % name, lambda _: "".join(line + "\n" for line in lines),
                      text, flags=re.M)
    return text


# ---- shells ----

def bash(commands, template):
    options, values = [], []
    for command in commands:
        name = command["name"]
        words = " ".join("--" + option["name"] for option in options_of(command))
        files = "cairn" if takes_captures(command) else "any"
        options.append('    %s) options="%s" files=%s ;;' % (name, words, files))
        for option in options_of(command):
            if not option.get("argument"):
                continue
            forms = ["%s,--%s" % (name, option["name"])]
            if "letter" in option:
                forms.append("%s,-%s" % (name, option["letter"]))
            if option["optional"]:
                action = '[[ -z $joined ]] || values="%s"' % " ".join(option["words"])
            elif option["words"]:
                action = 'values="%s"' % " ".join(option["words"])
            elif option["argument"] in FILES:
                action = "files=%s options=" % FILES[option["argument"]]
            else:
                action = "return"
            values.append("    %s) %s ;;" % (" | ".join(forms), action))
    names = " ".join(command["name"] for command in commands)
    return fill(template, {"COMMANDS": ['    local commands="%s"' % names], "OPTIONS": options,
                           "VALUES": values})


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_option(option):
    long = "--" + option["name"]
    action = ""
    if option.get("argument"):
        long += "=-" if option["optional"] else "="
        words = " ".join(word.replace(":", "\\:") for word in option["words"])
        files = {"file": "_files", "folder": "_files -/"}.get(FILES.get(option["argument"]), "")
        action = "%s:%s:%s" % (":" if option["optional"] else "",
                               re.sub(r"[\[\]:]", "", option["argument"]).lower(),
                               "(%s)" % words if words else files)
    about = re.sub(r"([\[\]:])", r"\\\1", brief(option))
    names = long
    if "letter" in option:
        letter = "-" + option["letter"].replace("?", "\\?")
        both = "'(-%s --%s)'" % (option["letter"], option["name"])
        names = ("'*'" if option.get("repeated") else both) + "{%s,%s}" % (letter, long)
    elif option.get("repeated"):
        names = "'*'" + long
    return "%s%s" % (names, quoted("[%s]%s" % (about, action)))


def zsh(commands, template):
    lines = []
    for command in commands:
        files = '*:capture:_files -g "*.cairn"' if takes_captures(command) else "*:file:_files"
        lines.append("        %s)" % command["name"])
        lines.append("            _arguments -S \\")
        lines += ["                %s \\" % zsh_option(option) for option in options_of(command)]
        lines += ["                '%s'" % files, "            ;;"]
    names = ["        %s" % quoted("%s:%s" % (command["name"], command["purpose"]))
             for command in commands]
    return fill(template, {"COMMANDS": names, "OPTIONS": lines})


def fish(commands):
    lines = ["# SPDX-License-Identifier: MIT", "complete -c cairn -n __fish_use_subcommand -f"]
    for command in commands:
        lines.append("complete -c cairn -n __fish_use_subcommand -a %s -d %s" %
                     (command["name"], quoted(command["purpose"])))
        for option in options_of(command):
            words = ["complete -c cairn -n '__fish_seen_subcommand_from %s'" % command["name"],
                     "-l", option["name"], "-d", quoted(brief(option))]
            if "letter" in option:
                words += ["-s", quoted(option["letter"])]
            if option.get("argument") and not option["optional"]:
                words.append("-r" if option["argument"] in FILES else "-x")
            if option.get("words"):
                words += ["-a", quoted(" ".join(option["words"]))]
            lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


# ---- manual pages ----

def roff(text, argument=""):
    """Text with options and commands in bold and the argument in italics."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![\w-])(--?[a-zA-Z][\w-]*(?![\w-])|cairn[ -][a-z+]+(?=\(1\)))",
                  r"\\fB\1\\fR", text)
    for name in re.findall(r"[A-Z]+", argument):
        text = re.sub(r"(?<![\w-])%s(?![\w-])" % name, r"\\fI%s\\fR" % name, text)
    text = re.sub(r"[^ -~]", lambda letter: "\\[u%04X]" % ord(letter[0]), text.replace("-", "\\-"))
    return "\\&" + text if text[:1] in ".'" else text


def man_option(option):
    names = ["\\fB\\-%s\\fR" % option["letter"]] if "letter" in option else []
    argument = option.get("argument")
    value = "=\\fI%s\\fR" % argument if argument else ""
    if option.get("optional"):
        value = "[%s]" % value
    names.append("\\fB\\-\\-%s\\fR%s" % (option["name"].replace("-", "\\-"), value))
    help_text = option["help"] + ("" if option["help"].endswith(".") else ".")
    lines = [".TP", ", ".join(names), roff(help_text, argument or "")]
    if "more" in option:
        lines.append(roff(option["more"], argument or ""))
    return lines


def man_options(command):
    lines = []
    for option in command["options"] + ([] if command["passes_on"] else COMMON):
        if "name" in option:
            lines += man_option(option)
        else:
            lines.append(".SS " + option["help"].rstrip(":"))
    return lines


def man_commands(commands):
    lines = []
    for command in commands:
        page = command["name"].rstrip("+") if command["name"] != "c++" else "cc"
        purpose = command["purpose"][0].upper() + command["purpose"][1:]
        lines += [".TP", ".B " + command["name"], "%s:" % purpose, ".BR cairn\\-%s (1)." % page]
    return lines


def man_head(command, version, others):
    name = "cairn\\-" + command["name"]
    head = ['.\\" SPDX-License-Identifier: MIT',
            '.TH %s 1 "" "Cairn %s" "Cairn"' % (name.upper(), version), ".SH NAME",
            "%s \\- %s" % (", ".join(["cairn\\-" + other["name"] for other in others]),
                           command["purpose"]), ".SH SYNOPSIS"]
    for other in others:
        head += [".B cairn " + other["name"], ".RI [ OPTION ...]",
                 ".I " + other["arguments"].replace("-", "\\-"), ".br"]
    return head[:-1]


def section_filled(body, section, lines):
    """The page with lines behind the text of a section."""
    result, inside = [], False
    for line in body + [".SH"]:
        if inside and line.startswith(".SH"):
            result += lines
        inside = line == ".SH " + section or (inside and not line.startswith(".SH"))
        result.append(line)
    return result[:-1]


def man(commands, version, folder, pages):
    for path in pages:
        with open(path, encoding="utf-8") as file:
            body = file.read().rstrip("\n").split("\n")
        name = os.path.basename(path)[:-len(".1")]
        verb = name[len("cairn-"):]
        if verb:
            others = [command for command in commands if command["name"] in (
                [verb] if verb not in ("cc", "clang") else
                ["cc", "c++"] if verb == "cc" else ["clang", "clang++"])]
            page = man_head(others[0], version, others)
            page += section_filled(body[1:], "OPTIONS", man_options(others[0]))
        else:
            page = section_filled(body, "COMMANDS", man_commands(commands))
            page = [line.replace("@VERSION@", version) for line in page]
        with open(os.path.join(folder, name + ".1"), "w", encoding="utf-8") as file:
            file.write("\n".join(page) + "\n")


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        commands = json.load(file)
    if sys.argv[1] == "man":
        man(commands, sys.argv[3], sys.argv[4], sys.argv[5:])
    else:
        make = {"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[1]]
        sys.stdout.write(make(commands, *sys.argv[3:]))


if __name__ == "__main__":
    main()
