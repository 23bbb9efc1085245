#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file.h>
#include <aorta/data/images/animated_png.h>
#include <aorta/data/images/png.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include <aorta/report/markup.h>
#include <aorta/report/page.h>

namespace aorta::report {
namespace {

constexpr const char* kStyle = R"css(
:root{--ground:#f6f8fa;--card:#ffffff;--text:#1f2328;--quiet:#59636e;--line:#d9dee4;--accent:#0067a3}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--text);
 font:16px/1.55 Inter,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1040px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 12px;overflow-wrap:anywhere}
h3{font-size:1.02rem;margin:24px 0 8px;overflow-wrap:anywhere}
.subtitle{color:var(--quiet);margin:0 0 16px;overflow-wrap:anywhere}
p{margin:0 0 12px;max-width:46em;overflow-wrap:anywhere}
a{color:var(--accent)}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 20px;font-size:.92rem}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:20px 22px;margin:20px 0}
.highlights{display:flex;flex-wrap:wrap;gap:12px;margin:0 0 16px}
.highlights div{flex:1 1 130px;background:var(--card);border:1px solid var(--line);border-radius:10px;
 padding:12px 16px;min-width:0}
.highlights dt{color:var(--quiet);font-size:.85rem;overflow-wrap:anywhere}
.highlights dd{margin:0;font-size:1.5rem;font-weight:600;line-height:1.3;overflow-wrap:anywhere;
 font-variant-numeric:tabular-nums}
.facts{display:grid;grid-template-columns:fit-content(16em) 1fr;gap:0 20px;margin:0 0 16px}
.facts dt{color:var(--quiet);padding:4px 0;overflow-wrap:anywhere}
.facts dd{margin:0;padding:4px 0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto;margin:0 0 16px}
table{border-collapse:collapse;font-size:.94rem;font-variant-numeric:tabular-nums}
th,td{padding:5px 14px 5px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{color:var(--quiet);font-weight:600;white-space:nowrap}
th.n,td.n{text-align:right;white-space:nowrap;padding:5px 14px}
th.n:first-child,td.n:first-child{padding-left:0}
pre{background:var(--ground);border:1px solid var(--line);border-radius:8px;padding:12px 14px;margin:0 0 16px;
 overflow-x:auto;font:.86rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
figure{margin:0 0 18px;overflow-x:auto}
figure svg,figure img{display:block;max-width:100%;height:auto;border-radius:6px}
figure svg{background:#ffffff}
figure .plot{background:var(--card)}
figcaption{color:var(--quiet);font-size:.88rem;margin-top:6px;overflow-wrap:anywhere}
.grid{display:grid;gap:16px;margin:0 0 16px}
.grid figure{margin:0}
.grid img{width:100%}
.files{margin:0 0 16px;padding-left:1.2em;overflow-wrap:anywhere}
@media(max-width:560px){figure .plot{min-width:520px}main{padding:20px 12px 40px}section{padding:16px 14px}h1{font-size:1.5rem}
 .facts{grid-template-columns:1fr}.facts dt{padding:6px 0 0}.facts dd{padding:0}
 .highlights div{flex-basis:110px;padding:10px 12px}.highlights dd{font-size:1.2rem}}
@media print{body{background:#ffffff;font-size:10.5pt}main{max-width:none;padding:0}nav{display:none}
 section{border:0;padding:0;margin:18pt 0 0}h2,h3{break-after:avoid}figure,tr,.highlights{break-inside:avoid}
 .wide{overflow:visible}pre{white-space:pre-wrap}}
)css";

// Everything that looks different on a dark ground.
std::string dark_style() {
  std::string style =
      "@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--ground:#0d1117;"
      "--card:#15191f;--text:#e6edf3;--quiet:#9aa4af;--line:#2d343d;--accent:#6cb6ff}\n";
  const auto turn = [&](const Tone& tone) {
    for (const char* what : {"fill", "stroke"})
      style += fmt::format(".plot [{0}=\"{1}\"]{{{0}:{2}}}", what, tone.light, tone.dark);
    style += "\n";
  };
  for (const Tone& tone : {kGround, kText, kQuiet, kGridLine, kMinorLine, kAxisLine}) turn(tone);
  for (const Tone& tone : kPalette) turn(tone);
  return style + "}\n";
}

std::string base64(std::span<const uint8_t> bytes) {
  constexpr const char* kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kLetters[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// A number with a sign, an exponent, and at most two letters or % behind it.
bool is_number_word(std::string_view word) {
  const auto digit = [&](size_t i) { return i < word.size() && word[i] >= '0' && word[i] <= '9'; };
  size_t at = word.find_first_not_of("+-<>~=");
  if (at == std::string_view::npos) return false;
  const std::string_view name = word.substr(at);
  if (name == "nan" || name == "inf" || name == "NaN") return true;
  const size_t start = at;
  while (digit(at) || (at < word.size() && (word[at] == '.' || word[at] == ',') && digit(at + 1)))
    ++at;
  if (at == start) return false;
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    const size_t sign = at + 1 < word.size() && (word[at + 1] == '-' || word[at + 1] == '+');
    if (digit(at + 1 + sign))
      at = std::min(word.find_first_not_of("0123456789", at + 1 + sign), word.size());
  }
  const std::string_view unit = word.substr(at);
  return unit.size() <= 2 && unit.find_first_of("0123456789_-.") == std::string_view::npos;
}

// "0.912", "−3", "1,234 px", "61 %", "0.91 ± 0.02", "[0.88, 0.93]", "nan"; a name such as "0X12"
// isn't.
bool is_number(std::string_view cell) {
  std::string text(cell);
  for (const std::string_view sign : {"−", "±", "–", "·", "×"})
    for (size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at))
      text.replace(at, sign.size(), " ");
  bool any = false;
  const std::string_view blanks = " []();/";
  for (size_t at = 0; at < text.size();) {
    const size_t start = text.find_first_not_of(blanks, at);
    if (start == std::string::npos) break;
    at = std::min(text.find_first_of(blanks, start), text.size());
    std::string_view word = std::string_view(text).substr(start, at - start);
    if (word.size() > 1 && word.back() == ',') word.remove_suffix(1);
    if (is_number_word(word))
      any = true;
    else if (!any || word.size() > 4 || word.find_first_of("0123456789") != std::string_view::npos)
      return false;  // no unit
  }
  return any;
}

// Nothing measured: it says nothing about its column.
bool is_blank(const std::string& cell) { return cell.empty() || cell == "-" || cell == "–"; }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// From <svg on, every id and each mention of one with `prefix` in front.
std::string own_svg(std::string_view svg, const std::string& prefix) {
  const size_t start = svg.find("<svg");
  const size_t end = svg.rfind("</svg>");
  check(start != std::string_view::npos && end != std::string_view::npos && start < end, "page",
        "figure must be SVG", io::quote(svg));
  std::string text(svg.substr(start, end + 6 - start));
  for (const std::string mention : {" id=\"", "\nid=\"", "href=\"#", "url(#", "aria-labelledby=\""})
    replace_all(text, mention, mention + prefix);
  return text;
}

std::string caption_text(std::string_view caption) {
  return caption.empty() ? "" : "<figcaption>" + escape(caption) + "</figcaption>";
}

// PNG bytes as an image of so many pixels.
std::string png_element(const Tensor& png, int64_t height, int64_t width,
                        std::string_view caption) {
  return fmt::format(
      "<img width=\"{}\" height=\"{}\" alt=\"{}\" src=\"data:image/png;base64,{}\"/>", width,
      height, escape(caption), base64({png.data<uint8_t>(), static_cast<size_t>(png.numel())}));
}

std::string image_element(const Tensor& image, std::string_view caption) {
  check_defined("page", {{"picture", image}});
  check(image.dtype() == u8 && image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3) &&
            image.numel() > 0,
        "page", "picture must be u8 (1|3, H, W)", image.dtype(), " ", image.shape());
  return png_element(data::encode_png(image), image.size(1), image.size(2), caption);
}

std::string film_element(const Page::Film& film) {
  const Tensor& frames = film.frames;
  check_defined("page", {{"film", frames}});
  check(frames.dtype() == u8 && frames.dim() == 4 && (frames.size(1) == 1 || frames.size(1) == 3) &&
            frames.numel() > 0,
        "page", "film must be u8 (T, 1|3, H, W)", frames.dtype(), " ", frames.shape());
  return png_element(data::encode_animated_png(frames, film.fps), frames.size(2), frames.size(3),
                     film.caption);
}

std::string grid_of(const std::vector<std::string>& figures, int width) {
  check(width >= 16 && width <= 4096, "page", "pictures must be 16 to 4096 pixels wide", width);
  std::string grid = fmt::format(
      "<div class=\"grid\" "
      "style=\"grid-template-columns:repeat(auto-fill,minmax(min(47%,{}px),1fr))\">"
      "\n",
      width);
  for (const std::string& figure : figures) grid += "<figure>" + figure + "</figure>\n";
  return grid + "</div>\n";
}

// A path as a relative URL (RFC 3986): "a b:c" is "./a%20b%3Ac".
std::string url_of(std::string_view path) {
  std::string url = path.starts_with('/') ? "" : "./";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte)) ||
        std::string_view("-_.~/").find(c) != std::string_view::npos)
      url += c;
    else
      url += fmt::format("%{:02X}", byte);
  }
  return url;
}

}  // namespace

Page::Page(const Text& title, const Text& subtitle) : title_(title), subtitle_(subtitle) {}

Page& Page::section(const Text& title) {
  if (!sections_.empty()) body_ += "</section>\n";
  sections_.push_back(title);
  body_ += fmt::format("<section id=\"section-{}\">\n<h2>{}</h2>\n", sections_.size(),
                       escape(sections_.back()));
  return *this;
}

Page& Page::heading(const Text& title) {
  body_ += "<h3>" + escape(title) + "</h3>\n";
  return *this;
}

Page& Page::paragraph(const Text& text) {
  body_ += "<p>" + escape(text) + "</p>\n";
  return *this;
}

Page& Page::code(const Text& text) {
  body_ += "<pre>";
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    body_ += (at > 0 ? "\n" : "") + escape(text.substr(at, end - at));
    at = end + 1;
  }
  body_ += "</pre>\n";
  return *this;
}

Page& Page::highlights(const List<Pair>& pairs) {
  body_ += "<dl class=\"highlights\">";
  for (const auto& [name, value] : pairs)
    body_ += "<div><dt>" + escape(name) + "</dt><dd>" + escape(value) + "</dd></div>";
  body_ += "</dl>\n";
  return *this;
}

Page& Page::facts(const List<Pair>& pairs) {
  body_ += "<dl class=\"facts\">\n";
  for (const auto& [name, value] : pairs)
    body_ += "<dt>" + escape(name) + "</dt><dd>" + escape(value) + "</dd>\n";
  body_ += "</dl>\n";
  return *this;
}

Page& Page::table(const Row& columns, const List<Row>& rows) {
  std::vector<bool> numbers(columns.size());
  for (const Row& row : rows)
    check(row.size() == columns.size(), "page", "a row must have a cell a column", row.size(),
          " cells and ", columns.size(), " columns");
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto fits = [&](const Row& row) { return is_blank(row[i]) || is_number(row[i]); };
    const auto says = [&](const Row& row) { return !is_blank(row[i]); };
    numbers[i] =
        std::all_of(rows.begin(), rows.end(), fits) && std::any_of(rows.begin(), rows.end(), says);
  }
  const auto cells = [&](const Row& texts, const char* tag) {
    body_ += "<tr>";
    for (size_t i = 0; i < texts.size(); ++i)
      body_ +=
          fmt::format("<{0}{1}>{2}</{0}>", tag, numbers[i] ? " class=\"n\"" : "", escape(texts[i]));
    body_ += "</tr>\n";
  };
  body_ += "<div class=\"wide\"><table>\n<thead>";
  cells(columns, "th");
  body_ += "</thead>\n<tbody>\n";
  for (const Row& row : rows) cells(row, "td");
  body_ += "</tbody>\n</table></div>\n";
  return *this;
}

Page& Page::figure(const Text& svg, const Text& caption) {
  const std::string text = own_svg(svg, fmt::format("figure-{}-", figures_ + 1));
  ++figures_;
  body_ += "<figure>" + text + caption_text(caption) + "</figure>\n";
  return *this;
}

Page& Page::picture(const Tensor& image, const Text& caption) {
  body_ += "<figure>" + image_element(image, caption) + caption_text(caption) + "</figure>\n";
  return *this;
}

Page& Page::pictures(const List<Picture>& pictures, int width) {
  std::vector<std::string> figures;
  for (const Picture& each : pictures)
    figures.push_back(image_element(each.image, each.caption) + caption_text(each.caption));
  body_ += grid_of(figures, width);
  return *this;
}

Page& Page::films(const List<Film>& films, int width) {
  std::vector<std::string> figures;
  for (const Film& each : films) figures.push_back(film_element(each) + caption_text(each.caption));
  body_ += grid_of(figures, width);
  return *this;
}

Page& Page::links(const List<Pair>& links) {
  body_ += "<ul class=\"files\">\n";
  for (const auto& [shown, path] : links)
    body_ += "<li><a href=\"" + url_of(path) + "\">" + escape(shown) + "</a></li>\n";
  body_ += "</ul>\n";
  return *this;
}

std::string Page::html() const {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<meta "
      "name=\"color-scheme\" content=\"light dark\"/>\n<title>" +
      escape(title_) + "</title>\n<style>" + kStyle + dark_style() +
      "</style>\n</head>\n<body>\n<main>\n<h1>" + escape(title_) + "</h1>\n";
  if (!subtitle_.empty()) html += "<p class=\"subtitle\">" + escape(subtitle_) + "</p>\n";
  if (sections_.size() >= 4) {
    html += "<nav>";
    for (size_t i = 0; i < sections_.size(); ++i)
      html += fmt::format("<a href=\"#section-{}\">{}</a>", i + 1, escape(sections_[i]));
    html += "</nav>\n";
  }
  return html + body_ + (sections_.empty() ? "" : "</section>\n") + "</main>\n</body>\n</html>\n";
}

void Page::save(const Text& path) const {
  io::AtomicFile file(path);
  file.write(html());
  file.commit();
}

}  // namespace aorta::report
