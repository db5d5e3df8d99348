/* SPDX-License-Identifier: MIT
 *
 * The note "left_out" lists the options of cairn cc: "functions named like REGEX; all but files
 * named like REGEX". Merged captures have several lists with " | " between them.
 */
#include "profile/left_out.h"

#include <regex.h>
#include <string.h>

#include "base/memory.h"
#include "profile/figures.h"

enum { RULES_MAX = 64 };

typedef enum rule_kind { ONLY, SKIP, ONLY_FILE, SKIP_FILE, SMALL, KINDS } rule_kind;

static const char *const beginnings[KINDS] = {
    [ONLY] = "all but functions named like ",
    [SKIP] = "functions named like ",
    [ONLY_FILE] = "all but files named like ",
    [SKIP_FILE] = "files named like ",
    [SMALL] = "functions that call nothing and have fewer than ",
};

typedef struct rule {
    rule_kind kind;
    regex_t pattern; /* unused by SMALL */
} rule;

struct crn_left_out {
    bool sampled; /* the profile has no calls: its stacks were sampled */
    unsigned count;
    rule rules[RULES_MAX];
};

/* Returns the kind of rule that begins at `text`; KINDS if it begins no rule. */
static rule_kind kind_at(const char *text)
{
    rule_kind kind = ONLY;
    while (kind < KINDS && strncmp(text, beginnings[kind], strlen(beginnings[kind])) != 0)
        kind++;
    return kind;
}

/* Returns the end of a rule: the next separator that a rule follows. Patterns may contain other
 * separators. */
static const char *end_of(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((strncmp(at, "; ", 2) == 0 && kind_at(at + 2) != KINDS) ||
            (strncmp(at, " | ", 3) == 0 && kind_at(at + 3) != KINDS))
            return at;
    return text + strlen(text);
}

static void add_rule(crn_left_out *left_out, rule_kind kind, const char *text, const char *end)
{
    rule *rule = &left_out->rules[left_out->count];
    *rule = (struct rule){.kind = kind};
    if (kind == SMALL) {
        left_out->count++;
        return;
    }
    size_t length = (size_t)(end - text);
    char *pattern = crn_calloc(length + 1, 1);
    memcpy(pattern, text, length);
    left_out->count += regcomp(&rule->pattern, pattern, REG_EXTENDED | REG_NOSUB) == 0;
    crn_free(pattern);
}

crn_left_out *crn_left_out_of(const crn_profile *profile)
{
    crn_left_out *left_out = crn_calloc(1, sizeof *left_out);
    left_out->sampled = crn_calls_missing(profile);
    const char *at = crn_profile_note(profile, "left_out", "");
    while (*at && left_out->count < RULES_MAX) {
        rule_kind kind = kind_at(at);
        const char *end = end_of(at);
        if (kind != KINDS)
            add_rule(left_out, kind, at + strlen(beginnings[kind]), end);
        at = !*end ? end : end + (*end == ';' ? 2 : 3);
    }
    return left_out;
}

void crn_left_out_free(crn_left_out *left_out)
{
    for (unsigned i = 0; i < left_out->count; i++)
        if (left_out->rules[i].kind != SMALL)
            regfree(&left_out->rules[i].pattern);
    crn_free(left_out);
}

crn_absence crn_left_out_why(const crn_left_out *left_out, const crn_block_info *block,
                             bool calls_nothing)
{
    bool wanted[2] = {true, true}; /* function, file: no --only is given, or one names it */
    for (unsigned i = 0; i < left_out->count; i++) {
        const rule *rule = &left_out->rules[i];
        if (rule->kind == SMALL && calls_nothing)
            return CRN_ABSENCE_NOT_PROFILED;
        if (rule->kind == ONLY || rule->kind == ONLY_FILE)
            wanted[rule->kind == ONLY_FILE] = false;
    }
    for (unsigned i = 0; i < left_out->count; i++) {
        const rule *rule = &left_out->rules[i];
        bool file = rule->kind == ONLY_FILE || rule->kind == SKIP_FILE;
        if (rule->kind == SMALL ||
            regexec(&rule->pattern, file ? block->file : block->name, 0, NULL, 0) != 0)
            continue;
        if (rule->kind == SKIP || rule->kind == SKIP_FILE)
            return CRN_ABSENCE_NOT_PROFILED;
        wanted[file] = true;
    }
    if (!wanted[0] || !wanted[1])
        return CRN_ABSENCE_NOT_PROFILED;
    return left_out->sampled ? CRN_ABSENCE_NOT_SAMPLED : CRN_ABSENCE_GONE;
}
