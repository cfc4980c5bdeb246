/* report_page.c: what --report writes: one page that needs nothing but itself, no script and no
 * network, for any screen.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "chart.h"
#include "html.h"

/* Colours hold a contrast of 4.5 on their background in both schemes. */
static const char style[] =
    ":root{color-scheme:light dark;--bg:#fbfbfa;--fg:#1b1f24;--soft:#5a6270;--line:#d9dce1;"
    "--card:#fff;--same:#e7eaee;--code:#c2410c;--scale:#6d28d9;--good:#15703a;--bad:#b3261e;"
    "--s:#fbd5d0;--e:#cfe3fb;--m:#d6efd2}"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e8eaed;--soft:#a3acb8;"
    "--line:#363c45;--card:#1c2026;--same:#2b3038;--code:#fb923c;--scale:#b794f6;--good:#57d38c;"
    "--bad:#ff8a80;--s:#6b2a26;--e:#1f4672;--m:#27532a}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:20px 16px "
    "48px;max-width:60rem;background:var(--bg);color:var(--fg);"
    "font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.05rem;font-weight:600;margin:0 0 12px;color:var(--soft)}"
    "h2{font-size:1.25rem;margin:36px 0 8px}h3{font-size:1rem;margin:0 0 4px}"
    "section>h3{margin-top:20px}p{margin:0 0 8px}small,.axis,.key,footer{color:var(--soft)}"
    "small,.axis,.key{font-size:.85rem;font-weight:400}"
    ".verdict{border:1px solid var(--line);border-left:6px solid var(--bad);border-radius:8px;"
    "background:var(--card);padding:16px}.verdict.good{border-left-color:var(--good)}"
    ".verdict strong{display:block;font-size:1.5rem;line-height:1.25;color:var(--bad)}"
    ".verdict.good strong{color:var(--good)}.verdict p{margin:6px 0 0}"
    ".name,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}"
    ".because{font-size:1.1rem;margin:0 0 10px}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{text-align:left;padding:5px 8px 5px 0;border-bottom:1px solid var(--line);"
    "vertical-align:top;font-weight:400}thead th{color:var(--soft);font-size:.85rem}"
    "td.bad{font-weight:600}"
    ".bar{display:block;height:6px;margin:3px 0 2px;border-radius:3px;background:var(--same);"
    "overflow:hidden}.bar i{display:block;height:100%;background:var(--code)}"
    "svg.map{display:block;width:100%;background:var(--same);border-radius:4px;margin:4px 0 8px}"
    ".c,.c4{fill:var(--code)}.c3,.c2,.c1{fill:var(--code);fill-opacity:.78}.c2{fill-opacity:.56}"
    ".c1{fill-opacity:.36}.k{fill:var(--scale)}.g{stroke:var(--bg);fill:none}"
    ".swatch{display:inline-block;width:.8em;height:.8em;margin:0 2px 0 8px;border-radius:2px}"
    ".swatch.same{background:var(--same);border:1px solid var(--soft);margin-left:0}"
    ".swatch.code{background:var(--code)}.swatch.scale{background:var(--scale)}"
    "article{border:1px solid var(--line);border-radius:8px;background:var(--card);"
    "padding:10px 12px;margin:0 0 10px}"
    ".line{display:flex;flex-wrap:wrap;gap:2px 12px;align-items:center;padding:3px 0}"
    ".what{width:6.2em;color:var(--soft);font-size:.85rem}"
    ".bits{display:inline-flex;flex-wrap:wrap;gap:3px;max-width:100%}"
    ".bits span{display:inline-flex;border-radius:3px;overflow:hidden}"
    ".bits b{font:600 12px/20px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;width:11px;"
    "text-align:center}.bits b.x{outline:2px solid var(--bad);outline-offset:-2px}"
    ".s{background:var(--s)}.e{background:var(--e)}.m{background:var(--m)}.p{background:var(--same)"
    "}"
    ".hex{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--soft)}"
    ".value{font-weight:600;font-variant-numeric:tabular-nums}"
    "details{margin:4px 0 12px}summary{cursor:pointer;color:var(--soft);font-size:.9rem}"
    "footer{margin-top:40px;padding-top:12px;border-top:1px solid var(--line);font-size:.85rem}"
    "@media(min-width:700px){body{padding:32px 24px 64px}.bits "
    "b{width:13px;font-size:13px}.what{width:8.4em}}";

static void put_head(mxg_html *html, const mxg_report *report) {
  mxg_html_put(html,
               "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
               "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
               "<meta http-equiv=Content-Security-Policy "
               "content=\"default-src 'none';style-src 'unsafe-inline'\">\n"
               "<meta name=generator content=mxgold>\n<title>");
  mxg_html_put(html, mxg_report_is_same(report) ? "Same: " : "Different: ");
  mxg_html_text(html, report->got ? report->got : "");
  mxg_html_put(html, "</title>\n<style>");
  mxg_html_put(html, style);
  mxg_html_put(html, "</style>\n</head>\n<body>\n");
}

static void put_name(mxg_html *html, const char *name) {
  mxg_html_put(html, "<span class=name>");
  mxg_html_text(html, name ? name : "");
  mxg_html_put(html, "</span>");
}

/* "1,204 codes and 3 scales differ" */
static void put_what_differs(mxg_html *html, const mxg_report *report) {
  int left = 0;
  for (int kind = 0; kind < MXG_DIFFERENCE_KINDS; kind++) left += report->counts[kind].differ != 0;
  if (left == 0) mxg_html_put(html, "It differs as a whole");
  for (int kind = 0; kind < MXG_DIFFERENCE_KINDS; kind++) {
    const mxg_count *count = &report->counts[kind];
    if (!count->differ) continue;
    mxg_html_print(html, "%s %s%s", mxg_grouped(count->differ),
                   mxg_difference_name((mxg_difference_kind)kind, count->differ != 1),
                   left > 2    ? ", "
                   : left == 2 ? " and "
                               : "");
    left--;
  }
  if (mxg_report_differing(report))
    mxg_html_put(html, mxg_report_differing(report) == 1 ? " differs" : " differ");
}

static void put_verdict(mxg_html *html, const mxg_report *report) {
  const bool same = mxg_report_is_same(report);
  mxg_html_print(html, "<header><h1>mxgold %s</h1><div class=\"verdict%s\"><strong>",
                 report->has_cases ? "verify" : "compare", same ? " good" : "");
  if (same)
    mxg_html_put(html, "&#10003; Same, byte for byte");
  else if (report->stream_faults)
    mxg_html_put(html, "&#10007; The stream is malformed");
  else
    put_what_differs(html, report);
  mxg_html_put(html, "</strong><p>");
  if (report->has_cases)
    mxg_html_print(html,
                   "%s of %s answers that can be read differ: ", mxg_grouped(report->cases_differ),
                   mxg_grouped(report->cases_answered));
  put_name(html, report->got);
  mxg_html_put(html, same ? " is " : " is not ");
  if (report->input) mxg_html_put(html, "what the recipe gives for ");
  put_name(html, report->input ? report->input : report->want);
  if (report->recipe) {
    mxg_html_put(html, "<br>Recipe ");
    put_name(html, report->recipe);
  }
  mxg_html_put(html, "</p></div></header>\n<main>\n");
}

/* ---- why ---- */

static void put_explanation(mxg_html *html, const mxg_diagnosis *d, size_t i) {
  const mxg_explanation *at = &d->list[i];
  mxg_html_print(html, "<tr><th scope=row><span class=name>");
  mxg_html_text(html, at->id);
  mxg_html_print(html, "</span><td>%s <small>of %s</small>", mxg_grouped(at->explains),
                 mxg_grouped(d->of));
  mxg_html_print(html, "<span class=bar aria-hidden=true><i style=\"width:%d%%\"></i></span>",
                 d->of ? (int)((double)at->explains / (double)d->of * 100) : 0);
  mxg_html_print(html, "<td>%s", mxg_grouped(at->broken));
}

static void put_diagnosis(mxg_html *html, const mxg_report *report) {
  enum { MOST_MODELS = 5 };
  const mxg_diagnosis *d = &report->diagnosis;
  if (!report->has_diagnosis || d->of == 0) return;
  mxg_html_put(html, "<section aria-labelledby=why><h2 id=why>Why</h2>");
  if (d->count == 0) {
    mxg_html_print(html,
                   "<p class=because>Unexplained: no known fault gives the %s that differ.</p>"
                   "</section>",
                   mxg_grouped(d->of));
    return;
  }
  mxg_html_print(html, "<p class=because>%s of %s are explained by <strong>",
                 mxg_grouped(d->list[0].explains), mxg_grouped(d->of));
  mxg_html_text(html, mxg_diagnosis_phrase(d->list[0].id));
  mxg_html_put(html,
               "</strong>.</p><table><thead><tr><th scope=col>model<th scope=col>explains"
               "<th scope=col>breaks equal ones</thead><tbody>");
  for (size_t i = 0; i < d->count && i < MOST_MODELS; i++) put_explanation(html, d, i);
  mxg_html_put(html, "</tbody></table>");
  if (d->in_all > d->looked_at)
    mxg_html_print(html, "<p class=key>By a sample: %s of %s looked at.</p>",
                   mxg_grouped(d->looked_at), mxg_grouped(d->in_all));
  mxg_html_put(html, "</section>\n");
}

/* ---- notes and totals ---- */

static void put_notes(mxg_html *html, const mxg_report *report) {
  enum { MOST_NOTES = 200 };
  if (!report->note_count) return;
  mxg_html_put(html, "<section aria-labelledby=whole><h2 id=whole>As a whole</h2><table><tbody>");
  for (size_t i = 0; i < report->note_count && i < MOST_NOTES; i++) {
    mxg_html_print(html, "<tr><th scope=row>%s<td>", report->notes[i].kind);
    mxg_html_text(html, report->notes[i].text);
  }
  mxg_html_put(html, "</tbody></table>");
  if (report->note_count > MOST_NOTES)
    mxg_html_print(html, "<p class=key>... and %s more.</p>",
                   mxg_grouped(report->note_count - MOST_NOTES));
  mxg_html_put(html, "</section>\n");
}

static void put_totals(mxg_html *html, const mxg_report *report) {
  mxg_html_put(html,
               "<section aria-labelledby=totals><h2 id=totals>Totals</h2><table><thead><tr>"
               "<th scope=col>what<th scope=col>compared<th scope=col>differ</thead><tbody>");
  for (int kind = 0; kind < MXG_DIFFERENCE_KINDS; kind++) {
    const mxg_count *count = &report->counts[kind];
    if (!count->compared && !count->differ) continue;
    mxg_html_print(html, "<tr><th scope=row>%s<td>%s<td%s>%s",
                   mxg_difference_name((mxg_difference_kind)kind, true),
                   mxg_grouped(count->compared), count->differ ? " class=bad" : "",
                   mxg_grouped(count->differ));
    if (count->nan_only)
      mxg_html_print(html, " <small>%s NaN in other bits%s</small>", mxg_grouped(count->nan_only),
                     report->bits ? "" : ", equal");
    if (count->skipped)
      mxg_html_print(html, " <small>%s of NaN inputs skipped</small>", mxg_grouped(count->skipped));
  }
  mxg_html_put(html, "</tbody></table></section>\n");
}

int mxg_report_page(const mxg_report *report, mxg_output *output) {
  mxg_html html = {output, MXG_EXIT_OK};
  put_head(&html, report);
  put_verdict(&html, report);
  put_diagnosis(&html, report);
  put_notes(&html, report);
  if (report->chart) mxg_html_where(&html, report);
  if (report->chart) mxg_html_exponents(&html, report);
  mxg_html_differences(&html, report);
  put_totals(&html, report);
  mxg_html_print(&html,
                 "</main>\n<footer>mxgold %s. Two NaN are %s; what the words mean: docs/TOOL.md."
                 "</footer>\n</body>\n</html>\n",
                 mxg_version(), report->bits ? "compared by their bits" : "equal");
  return html.status;
}
