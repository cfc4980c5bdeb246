/* check_main.h: main() of a test program.
 *
 *   CHECK_MAIN("blocks", test_a, test_b)
 *
 * runs the START_TEST functions named, each in its own process (CK_FORK=no: in this one). Words on
 * the command line name the tests to run; none means all of them. With MXGOLD_TEST_FAIL_FAST set the
 * first that fails is the last.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_CHECK_MAIN_H
#define TESTS_SUPPORT_CHECK_MAIN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check_add(Suite *suite, const TTest *test) {
  TCase *test_case = tcase_create(test->name);
  tcase_set_timeout(test_case, 1800); /* ctest has the limit that matters */
  tcase_add_test(test_case, test);
  suite_add_tcase(suite, test_case);
}

/* Tests that failed. */
static inline int check_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed;
}

static inline int check_main(const char *name, const TTest *const *tests, size_t count, int argc,
                             char **argv) {
  const int fail_fast = getenv("MXGOLD_TEST_FAIL_FAST") != NULL;
  Suite *suite = suite_create(name);
  size_t added = 0;
  for (size_t i = 0; i < count; i++) {
    int wanted = argc < 2;
    for (int a = 1; a < argc; a++) wanted |= strcmp(argv[a], tests[i]->name) == 0;
    if (!wanted) continue;
    check_add(suite, tests[i]);
    added++;
    if (fail_fast) {
      if (check_run(suite) != 0) return EXIT_FAILURE;
      suite = suite_create(name);
    }
  }
  if (added == 0) fprintf(stderr, "%s: no test of that name\n", name);
  return check_run(suite) == 0 && added > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define CHECK_MAIN(name, ...)                                                   \
  int main(int argc, char **argv) {                                             \
    const TTest *const tests[] = {__VA_ARGS__};                                 \
    return check_main(name, tests, sizeof tests / sizeof tests[0], argc, argv); \
  }

#endif
