/* report_bits.c: the first differences as bit diagrams: the source, what is expected, what was got.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "html.h"

/* How the bits of a number divide: sign, exponent, mantissa. */
typedef struct fields {
  const char *name;
  int sign, exponent, mantissa;
} fields;

static fields fields_of_dtype(mxg_dtype dtype) {
  const fields f32 = {"f32", 1, 8, 23}, f16 = {"f16", 1, 5, 10}, bf16 = {"bf16", 1, 8, 7};
  return dtype == MXG_DTYPE_F16 ? f16 : dtype == MXG_DTYPE_BF16 ? bf16 : f32;
}

static fields fields_of_element(const mxg_recipe *recipe) {
  static const char *const names[] = {"",         "E4M3FN", "E4M3FNUZ", "E5M2",
                                      "E5M2FNUZ", "E2M1",   "E2M3",     "E3M2"};
  const mxg_traits traits = mxg_element_traits(recipe->element);
  const fields element = {names[recipe->element], 1, traits.exponent_bits, traits.mantissa_bits};
  return element;
}

static fields fields_of_scale(const mxg_recipe *recipe) {
  const fields e8m0 = {"E8M0", 0, 8, 0};
  return recipe->scale == MXG_SCALE_E8M0 ? e8m0 : fields_of_dtype(MXG_DTYPE_F32);
}

/* Without fields the bits are just bits. */
static fields plain(int digits) {
  const fields bits = {"bits", 0, 0, 4 * digits};
  return bits;
}

static void put_field(mxg_html *html, const char *class_name, uint32_t bits, uint32_t changed,
                      int from, int count) {
  if (count == 0) return;
  mxg_html_print(html, "<span class=%s>", class_name);
  for (int i = from + count - 1; i >= from; i--)
    mxg_html_print(html, changed >> i & 1 ? "<b class=x>%d</b>" : "<b>%d</b>",
                   (int)(bits >> i & 1));
  mxg_html_put(html, "</span>");
}

/* "E2M1 5: sign 0, exponent 2 (of 2 bits), mantissa 1" for those who hear the page. */
static void put_label(mxg_html *html, const fields *f, uint32_t bits, int digits) {
  const uint32_t mantissa = bits & ((1u << f->mantissa) - 1);
  const uint32_t exponent = bits >> f->mantissa & ((1u << f->exponent) - 1);
  mxg_html_print(html, "%s %0*" PRIX32, f->name, digits, bits);
  if (f->sign) mxg_html_print(html, ": sign %" PRIu32, bits >> (f->mantissa + f->exponent) & 1);
  if (f->exponent)
    mxg_html_print(html, "%s exponent field %" PRIu32, f->sign ? "," : ":", exponent);
  if (f->exponent && f->mantissa) mxg_html_print(html, ", mantissa field %" PRIu32, mantissa);
}

static void put_value(mxg_html *html, const mxg_cell *cell) {
  if (cell->has_value) mxg_html_print(html, "<span class=value>%.9g</span>", (double)cell->value);
}

/* One line: name, bits, hexadecimal, value. `changed`: bits to point out. */
static void put_bits(mxg_html *html, const char *name, const fields *f, const mxg_cell *cell,
                     const mxg_cell *value, uint32_t changed) {
  if (cell->digits == 0) return;
  mxg_html_print(html,
                 "<div class=line><span class=what>%s</span><span class=bits role=img "
                 "aria-label=\"",
                 name);
  put_label(html, f, cell->bits, cell->digits);
  mxg_html_put(html, "\">");
  put_field(html, "s", cell->bits, changed, f->mantissa + f->exponent, f->sign);
  put_field(html, "e", cell->bits, changed, f->mantissa, f->exponent);
  put_field(html, f->exponent ? "m" : "p", cell->bits, changed, 0, f->mantissa);
  mxg_html_print(html, "</span><span class=hex>%s %0*" PRIX32 "</span>", f->name, cell->digits,
                 cell->bits);
  put_value(html, value);
  mxg_html_put(html, "</div>");
}

static void put_pair(mxg_html *html, const char *what, const fields *f, const mxg_cell *want,
                     const mxg_cell *got, const mxg_cell *want_value, const mxg_cell *got_value) {
  char name[48];
  const uint32_t changed = want->bits ^ got->bits;
  snprintf(name, sizeof name, "expected%s%s", what[0] ? " " : "", what);
  put_bits(html, name, f, want, want_value->has_value ? want_value : want, changed);
  snprintf(name, sizeof name, "got%s%s", what[0] ? " " : "", what);
  put_bits(html, name, f, got, got_value->has_value ? got_value : got, changed);
}

static void put_title(mxg_html *html, const mxg_difference *at) {
  static const char *const names[MXG_DIFFERENCE_KINDS] = {
      "Code", "Scale", "Unused scale", "Unused bits", "Pad", "Weight", "Value", "Byte"};
  mxg_html_print(html, "<h3>%s at row %s, column %s", names[at->kind], mxg_grouped(at->row),
                 mxg_grouped(at->col));
  if (at->has_block) mxg_html_print(html, " <small>block %s</small>", mxg_grouped(at->block));
  mxg_html_put(html, "</h3>");
  if (at->has_origin)
    mxg_html_print(html, "<p class=axis>case %s, %s, answer at %s</p>", mxg_grouped(at->origin.id),
                   at->origin.section, at->origin.place);
  if (at->tensor) {
    mxg_html_put(html, "<p class=axis>tensor ");
    mxg_html_text(html, at->tensor);
    mxg_html_put(html, "</p>");
  }
}

static fields value_fields(const mxg_report *report, const mxg_difference *at) {
  if (at->kind == MXG_DIFFERENCE_WEIGHT) return fields_of_dtype(MXG_DTYPE_F32);
  if (at->kind == MXG_DIFFERENCE_VALUE && at->dtype) return fields_of_dtype(at->dtype);
  if (at->kind == MXG_DIFFERENCE_CODE && report->has_format)
    return fields_of_element(&report->format);
  return plain(at->got.digits);
}

static void put_difference(mxg_html *html, const mxg_report *report, const mxg_difference *at) {
  mxg_html_put(html, "<article>");
  put_title(html, at);
  if (at->input.digits) {
    /* of a scale the greatest magnitude of its block, an f32 */
    const bool is_amax = at->kind == MXG_DIFFERENCE_SCALE || at->input.digits == 8;
    const fields f = is_amax     ? fields_of_dtype(MXG_DTYPE_F32)
                     : at->dtype ? fields_of_dtype(at->dtype)
                                 : plain(at->input.digits);
    put_bits(html, at->kind == MXG_DIFFERENCE_SCALE ? "largest input" : "input", &f, &at->input,
             &at->input, 0);
  }
  if (at->got.digits) {
    const fields f = value_fields(report, at);
    put_pair(html, "", &f, &at->want, &at->got, &at->want_value, &at->got_value);
  }
  const bool scales_differ = at->got_scale.digits && at->got_scale.bits != at->want_scale.bits;
  if (scales_differ && report->has_format) {
    const fields f = fields_of_scale(&report->format);
    put_pair(html, "scale", &f, &at->want_scale, &at->got_scale, &at->want_scale, &at->got_scale);
  } else if (at->got_scale.digits && report->has_format) {
    const fields f = fields_of_scale(&report->format);
    put_bits(html, "scale, the same", &f, &at->got_scale, &at->got_scale, 0);
  }
  mxg_html_put(html, "</article>");
}

void mxg_html_differences(mxg_html *html, const mxg_report *report) {
  enum { MOST_CARDS = 100 };
  const size_t count =
      report->difference_count < MOST_CARDS ? report->difference_count : MOST_CARDS;
  const uint64_t all = mxg_report_differing(report);
  if (count == 0) return;
  mxg_html_print(html,
                 "<section aria-labelledby=first><h2 id=first>The first differences</h2>"
                 "<p>%s of %s, in the order of rows and columns. Bits: <span class=bits>"
                 "<span class=s><b>s</b></span><span class=e><b>e</b></span>"
                 "<span class=m><b>m</b></span></span> sign, exponent, mantissa; a framed bit is "
                 "not the expected one.</p>",
                 mxg_grouped(count), mxg_grouped(all));
  for (size_t i = 0; i < count; i++) put_difference(html, report, &report->differences[i]);
  mxg_html_put(html, "</section>");
}
