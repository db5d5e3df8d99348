/* SPDX-License-Identifier: MIT
 *
 * tokens.h - splits SQL into tokens, as SQLite does.
 */
#ifndef CRN_QUERY_TOKENS_H
#define CRN_QUERY_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum crn_token_kind {
    CRN_TOKEN_END,
    CRN_TOKEN_BLANK, /* or a comment */
    CRN_TOKEN_WORD,  /* or a number */
    CRN_TOKEN_DOUBLE_QUOTED,
    CRN_TOKEN_OTHER_QUOTED,
    CRN_TOKEN_COMPARISON,
    CRN_TOKEN_OPERATOR, /* continues the expression on its left; also the "." of a qualified name */
    CRN_TOKEN_OPEN,
    CRN_TOKEN_CLOSE,
    CRN_TOKEN_COMMA,
    CRN_TOKEN_SEMICOLON,
    CRN_TOKEN_OTHER
} crn_token_kind;

typedef struct crn_token {
    crn_token_kind kind;
    const char *at;
    size_t size;
} crn_token;

/* Returns the token at a position. An unterminated quoted word extends to the end, as
 * CRN_TOKEN_OTHER. */
crn_token crn_token_at(const char *at);

/* Returns the next token that is neither blank nor a comment. */
crn_token crn_token_after(crn_token before);

/* Returns true if the token is `word`, in any case. */
bool crn_token_is(crn_token token, const char *word);

#endif
