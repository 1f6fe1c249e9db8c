/* Shared by the test programs. */

#ifndef CHECK_H
#define CHECK_H

#include <crossdock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static xd_error_t *error;

/* Ends the program if a condition is false. */
#define CHECK(is)                                                                                                      \
  do {                                                                                                                 \
    if (!(is)) {                                                                                                       \
      fprintf(stderr, "%s:%d: %s\n  %s\n", __FILE__, __LINE__, #is, xd_error_message(error));                          \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* The last call failed with this kind and these words. */
#define CHECK_ERROR(expected, words)                                                                                   \
  do {                                                                                                                 \
    CHECK(xd_error_kind(error) == (expected));                                                                         \
    CHECK(strstr(xd_error_message(error), (words)) != NULL);                                                           \
    xd_error_free(error);                                                                                              \
    error = NULL;                                                                                                      \
  } while (0)

/* The condition is false, and the reason has these words. */
#define CHECK_REFUSED(is, words)                                                                                       \
  do {                                                                                                                 \
    CHECK(!(is));                                                                                                      \
    if (strstr(xd_last_refusal(), (words)) == NULL) {                                                                  \
      fprintf(stderr, "%s:%d: no \"%s\" in: %s\n", __FILE__, __LINE__, (words), xd_last_refusal());                    \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Compares a text and frees it. */
static inline int is_text(char *text, const char *expected)
{
  int same = text != NULL && strcmp(text, expected) == 0;
  if (!same)
    fprintf(stderr, "text: %s\n", text == NULL ? "NULL" : text);
  xd_string_free(text);
  return same;
}

#endif
