/* test_faults.c: the kinds of faults that shipped elsewhere: every one in faults.txt has a test,
 * every preset is in the table that several of them share.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "check_main.h"
#include "known_blocks.h"

START_TEST(test_every_preset_is_known) {
  size_t presets = 0;
  for (const mxg_preset *p = NULL; (p = mxg_preset_at(presets)) != NULL; presets++) {
    bool found = false;
    for (size_t k = 0; k < KNOWNS; k++) found = found || strcmp(knowns[k].preset, p->name) == 0;
    if (!found) ck_abort_msg("preset %s is not in the table of this test", p->name);
  }
  ck_assert_uint_eq(presets, KNOWNS);
}
END_TEST

/* ---- the list of kinds ---- */

static bool sources_contain(const char *text) {
  DIR *directory = opendir(MXGOLD_SOURCE_DIR "/tests");
  if (directory == NULL) ck_abort_msg("cannot read the directory of the tests");
  bool found = false;
  for (const struct dirent *entry = NULL; !found && (entry = readdir(directory)) != NULL;) {
    char path[1024], line[1024];
    if (strstr(entry->d_name, ".c") == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", MXGOLD_SOURCE_DIR "/tests", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    while (!found && fgets(line, sizeof line, file) != NULL) found = strstr(line, text) == line;
    fclose(file);
  }
  closedir(directory);
  return found;
}

START_TEST(test_every_fault_has_a_test) {
  FILE *file = fopen(MXGOLD_SOURCE_DIR "/tests/faults.txt", "r");
  if (file == NULL) ck_abort_msg("cannot read tests/faults.txt");
  char line[256], flag[64], test[64], start[96];
  size_t flags = 0, missing = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (line[0] == '#' || line[0] == '\n') continue;
    ck_assert_msg(sscanf(line, "%63s %63s", flag, test) == 2, "not a flag and a test: %s", line);
    snprintf(start, sizeof start, "START_TEST(%s)", test);
    flags++;
    if (sources_contain(start)) continue;
    missing++;
    printf("%s: no source has %s\n", flag, start);
  }
  fclose(file);
  fflush(stdout);
  ck_assert_uint_eq(flags, 29);
  ck_assert_msg(missing == 0, "%zu faults without a test, printed above", missing);
}
END_TEST

CHECK_MAIN("faults", test_every_preset_is_known, test_every_fault_has_a_test)
