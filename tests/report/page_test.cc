#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/images/animated_png.h>
#include <aorta/data/images/png.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include <aorta/report/markup.h>
#include <aorta/report/page.h>
#include <aorta/report/plot.h>
#include <aorta/tests/report/xml.h>

namespace aorta::report {
namespace {

// A page, read back as the XML that HTML may be written as.
struct Read {
  explicit Read(const Page& page) : html(page.html()) {
    const std::string type = "<!DOCTYPE html>\n";
    EXPECT_EQ(html.substr(0, type.size()), type);
    elements = parse_xml(html.substr(type.size(), html.size() - type.size() - 1));
  }
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> texts;
    for (const Element& element : elements)
      if (element.name == name) texts.push_back(element.text);
    return texts;
  }
  std::vector<std::string> attributes(const std::string& name, const std::string& key) const {
    std::vector<std::string> values;
    for (const Element& element : elements)
      if (const auto found = element.attributes.find(key);
          element.name == name && found != element.attributes.end())
        values.push_back(found->second);
    return values;
  }
  std::string html;
  std::vector<Element> elements;
};

using Texts = std::vector<std::string>;

// RFC 4648, section 4.
std::vector<uint8_t> from_base64(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t value = letters.find(c);
    EXPECT_NE(value, std::string::npos) << c;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<uint8_t>(bits >> (count -= 8)));
  }
  EXPECT_EQ(text.size() % 4, 0u);
  return bytes;
}

TEST(Page, HasItsPartsInTheirOrder) {
  Page page("A run", "unet_small");
  page.highlights({{"Dice", "0.912"}});
  page.section("First")
      .heading("Part")
      .paragraph("Some text.")
      .facts({{"seed", "0"}, {"lr", "1e-5"}});
  page.section("Second")
      .code("aorta-echo train\n  --seed 0")
      .links({{"the video", "videos/a b#1.avi"}});
  const Read read(page);
  EXPECT_EQ(read.texts("title"), Texts{"A run"});
  EXPECT_EQ(read.texts("h1"), Texts{"A run"});
  EXPECT_EQ(read.texts("h2"), (Texts{"First", "Second"}));
  EXPECT_EQ(read.texts("h3"), Texts{"Part"});
  EXPECT_EQ(read.texts("p"), (Texts{"unet_small", "Some text."}));
  EXPECT_EQ(read.texts("dt"), (Texts{"Dice", "seed", "lr"}));
  EXPECT_EQ(read.texts("dd"), (Texts{"0.912", "0", "1e-5"}));
  EXPECT_EQ(read.texts("pre"), Texts{"aorta-echo train\n  --seed 0"});
  EXPECT_EQ(read.attributes("a", "href"), Texts{"./videos/a%20b%231.avi"});
  EXPECT_EQ(read.attributes("section", "id"), (Texts{"section-1", "section-2"}));
}

TEST(Page, ListsFourSectionsOrMore) {
  Page page("Run");
  for (const char* name : {"a", "b", "c"}) page.section(name);
  EXPECT_TRUE(Read(page).texts("nav").empty());
  page.section("d <e>");
  EXPECT_EQ(Read(page).attributes("a", "href"),
            (Texts{"#section-1", "#section-2", "#section-3", "#section-4"}));
  EXPECT_EQ(Read(page).texts("a").back(), "d &lt;e&gt;");
}

TEST(Page, NeedsNothingElse) {
  Page page("Run");
  page.section("Curves").figure(Plot({.title = "Loss"}).svg());
  page.picture(zeros({3, 4, 4}, {.dtype = u8}));
  const Read read(page);
  for (const Element& element : read.elements) {
    EXPECT_NE(element.name, "script");
    EXPECT_NE(element.name, "link");
    for (const auto& [key, value] : element.attributes)
      if (key == "src" || key == "href") {
        EXPECT_TRUE(value.starts_with("data:image/png;base64,")) << value;
      }
  }
  // The one address is the name of a language.
  size_t at = read.html.find("://");
  EXPECT_EQ(read.html.substr(at - 4, 30).substr(0, 22), "http://www.w3.org/2000");
  EXPECT_EQ(read.html.find("://", at + 3), std::string::npos);
  EXPECT_EQ(read.html.find("@import"), std::string::npos);
}

TEST(Page, PicturesAreInside) {
  std::vector<uint8_t> values;
  for (int i = 0; i < 3 * 5 * 7; ++i) values.push_back(static_cast<uint8_t>(i * 37));
  const Tensor image = tensor<uint8_t>(values, {3, 5, 7});
  Page page("Run");
  page.picture(image, "a \"caption\"").pictures({{image.slice(0, 0, 1), "grey"}, {image}}, 100);
  const Read read(page);
  const Texts sources = read.attributes("img", "src");
  ASSERT_EQ(sources.size(), 3u);
  const std::string prefix = "data:image/png;base64,";
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(sources[i].substr(0, prefix.size()), prefix);
    const std::vector<uint8_t> png = from_base64(sources[i].substr(prefix.size()));
    const Tensor back = data::decode_png(std::as_bytes(std::span(png)));
    const Tensor expected = i == 1 ? image.slice(0, 0, 1) : image;
    EXPECT_EQ(back.shape(), expected.shape());
    EXPECT_EQ(back.to_vector<uint8_t>(), expected.to_vector<uint8_t>());
  }
  EXPECT_EQ(read.attributes("img", "width"), (Texts{"7", "7", "7"}));
  EXPECT_EQ(read.attributes("img", "height"), (Texts{"5", "5", "5"}));
  EXPECT_EQ(read.attributes("img", "alt"), (Texts{"a &quot;caption&quot;", "grey", ""}));
  EXPECT_EQ(read.texts("figcaption"), (Texts{"a &quot;caption&quot;", "grey"}));
}

TEST(Page, ColumnsOfNumbersAreAlignedRight) {
  const auto right = [](const std::vector<std::string>& cells) {
    Page page("Run");
    std::vector<Page::Row> rows;
    for (const std::string& cell : cells) rows.push_back({cell});
    page.table({"x"}, rows);
    return Read(page).attributes("th", "class") == Texts{"n"};
  };
  EXPECT_TRUE(right({"0.912", "1", "-3", "−3", "+4"}));
  EXPECT_TRUE(right({"1,234", "61 %", "61%", "4.2G", "12 ms", "1e-5", "2.5E+10"}));
  EXPECT_TRUE(right({"0.91 ± 0.02", "0.91 [0.88, 0.93]", "3/50", "[1; 2]", "nan"}));
  EXPECT_TRUE(right({"3", "", "-", "–"}));
  EXPECT_FALSE(right({"", "-"}));
  EXPECT_FALSE(right({}));
  EXPECT_FALSE(right({"0X1A2B", "0X3C4D"}));  // names of recordings
  EXPECT_FALSE(right({"1", "two"}));
  EXPECT_FALSE(right({"3 videos", "4 recordings"}));
  EXPECT_FALSE(right({"2024-03-01"}));
  EXPECT_FALSE(right({"TRAIN", "VAL"}));
  EXPECT_FALSE(right({"1.2.x"}));
}

TEST(Page, TablesHaveARowARow) {
  Page page("Run");
  page.table({"video", "Dice"}, {{"0X1A", "0.9"}, {"a<b>", "0.8"}}).table({"empty"}, {});
  const Read read(page);
  EXPECT_EQ(read.texts("th"), (Texts{"video", "Dice", "empty"}));
  EXPECT_EQ(read.texts("td"), (Texts{"0X1A", "0.9", "a&lt;b&gt;", "0.8"}));
  EXPECT_EQ(read.texts("tr").size(), 4u);
  EXPECT_EQ(error_of([&] {
              page.table({"a", "b"}, {{"1", "2"}, {"3"}});
            }),
            "page: a row must have a cell a column, got 1 cells and 2 columns");
}

TEST(Page, IdsOfFiguresDoNotMeet) {
  const std::string svg =
      "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"><defs><marker "
      "id=\"arrow\"/></defs><path d=\"M0,0\" marker-end=\"url(#arrow)\"/><use "
      "href=\"#arrow\"/></svg>\n";
  Page page("Run");
  page.figure(svg).figure(svg, "again");
  const Read read(page);
  const Texts ids = read.attributes("marker", "id"), uses = read.attributes("use", "href"),
              ends = read.attributes("path", "marker-end");
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_NE(ids[0], ids[1]);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(uses[i], "#" + ids[i]);
    EXPECT_EQ(ends[i], "url(#" + ids[i] + ")");
  }
  EXPECT_EQ(read.html.find("<?xml"), std::string::npos);
}

TEST(Page, EveryColourOfAPlotTurnsDark) {
  Plot plot({.title = "t", .x = {"x"}, .y = {"y", Scale::log}});
  const std::vector<double> x{0, 1}, y{1, 2};
  for (int i = 0; i < 8; ++i) plot.path("s" + std::to_string(i), x, y);
  const Read read(Page("Run").figure(plot.svg()));
  std::set<std::string> colours;
  bool inside = false;
  for (const Element& element : read.elements) {
    inside = inside || element.name == "svg";
    for (const char* key : {"fill", "stroke"})
      if (const auto found = element.attributes.find(key);
          inside && found != element.attributes.end() && found->second != "none")
        colours.insert("[" + std::string(key) + "=\"" + found->second + "\"]{");
  }
  EXPECT_GE(colours.size(), 15u);
  for (const std::string& colour : colours)
    EXPECT_NE(read.html.find(".plot " + colour), std::string::npos) << colour;
}

TEST(Page, TextOfAnyBytesIsText) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& text : Texts{all, "</title><script>alert(1)</script>", "\" onload=\"x",
                                       "]]>", "<!--", "&amp;", "\xf0\x9f\xab\x80 Herz – é", ""}) {
    Page page(text, text);
    page.section(text).heading(text).paragraph(text).code(text).links({{text, text}});
    page.facts({{text, text}}).highlights({{text, text}}).table({text}, {{text}, {text}});
    page.picture(zeros({1, 2, 2}, {.dtype = u8}), text);
    page.pictures({{zeros({1, 2, 2}, {.dtype = u8}), text}});
    Plot plot({.title = text, .x = {text}, .y = {text}});
    const std::vector<double> one{1};
    plot.line(text, one, one);
    const Read read(page.figure(plot.svg(), text));
    EXPECT_EQ(read.texts("script").size(), 0u);
    EXPECT_EQ(read.texts("td"), (Texts{escape(text), escape(text)}));
  }
}

TEST(Escape, KeepsLettersAndReplacesWhatIsNone) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(escape("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c'");
  EXPECT_EQ(escape("é – 日本 \xf0\x9f\xab\x80"), "é – 日本 \xf0\x9f\xab\x80");
  EXPECT_EQ(escape(std::string("a\0b\x1b\n\x7f", 6)), "a b   ");
  // The maximal subparts of table 3-8 of the Unicode standard, a replacement a byte.
  EXPECT_EQ(escape("\xc3"), replaced);
  EXPECT_EQ(escape("\xc3<"), replaced + "&lt;");
  EXPECT_EQ(escape("\xc0\xaf"), replaced + replaced);                 // overlong
  EXPECT_EQ(escape("\xe0\x80\xaf"), replaced + replaced + replaced);  // overlong
  EXPECT_EQ(escape("\xed\xa0\x80"), replaced + replaced + replaced);  // a surrogate
  EXPECT_EQ(escape("\xf4\x90\x80\x80x").size(), 4 * 3 + 1u);          // beyond U+10FFFF
  EXPECT_EQ(escape("\xf0\x80\x80\xaf").size(), 4 * 3u);               // overlong
  EXPECT_EQ(escape("\xef\xbf\xbe").size(), 3 * 3u);                   // U+FFFE
  EXPECT_EQ(escape("\xef\xbf\xbd"), replaced);
  EXPECT_EQ(escape("\xf4\x8f\xbf\xbd"), "\xf4\x8f\xbf\xbd");
}

TEST(Page, NamesWhatIsWrong) {
  Page page("Run");
  EXPECT_EQ(error_of([&] { page.figure("<html>"); }), "page: figure must be SVG, got \"<html>\"");
  EXPECT_EQ(error_of([&] { page.figure("</svg><svg"); }),
            "page: figure must be SVG, got \"</svg><svg\"");
  EXPECT_EQ(error_of([&] {
              page.picture(zeros({3, 4, 4}));
            }),
            "page: picture must be u8 (1|3, H, W), got f32 [3,4,4]");
  EXPECT_EQ(error_of([&] {
              page.pictures({{Tensor(), ""}});
            }),
            "page: picture must be defined, got an undefined tensor");
  EXPECT_EQ(error_of([&] { page.pictures({}, 1); }),
            "page: pictures must be 16 to 4096 pixels wide, got 1");
  // What failed left nothing behind.
  EXPECT_EQ(page.html(), Page("Run").html());
}

TEST(Page, IsSavedWholeOrNotAtAll) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("aorta_page_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  Page page("Run");
  page.paragraph("text");
  page.save(folder / "report.html");
  std::ifstream in(folder / "report.html");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), page.html());
  EXPECT_NE(error_of([&] { page.save(folder / "none" / "report.html"); }), "no error");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

// Chunks as the PNG specification has them, and a first frame that any reader shows.
TEST(Page, FilmsAreAnimatedPictures) {
  Tensor frames = zeros({3, 3, 4, 6}, {.dtype = u8});
  for (int64_t i = 0; i < 3; ++i) frames[i].fill_(40 * (i + 1));
  const Tensor file = data::encode_animated_png(frames, 25);
  const std::string bytes(reinterpret_cast<const char*>(file.data<uint8_t>()),
                          static_cast<size_t>(file.numel()));
  std::vector<std::string> names;
  std::vector<uint32_t> numbers;  // of fcTL and fdAT
  for (size_t at = 8; at < bytes.size();) {
    const auto u32 = [&](size_t place) {
      uint32_t value = 0;
      for (size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<uint8_t>(bytes[place + k]);
      return value;
    };
    const std::string name = bytes.substr(at + 4, 4);
    if (names.empty() || names.back() != name) names.push_back(name);
    EXPECT_TRUE(name != "acTL" || u32(at + 8) == 3u);
    if (name == "fcTL" || name == "fdAT") numbers.push_back(u32(at + 8));
    // 40 of 1000 parts of a second.
    EXPECT_TRUE(name != "fcTL" || u32(at + 28) == (40u << 16 | 1000u));
    at += 12 + u32(at);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "fcTL",
                                             "fdAT", "IEND"}));
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i);
  EXPECT_EQ(data::decode_png(std::as_bytes(std::span(bytes))).to_vector<int>(),
            frames[0].to_vector<int>());
  Page page("a");
  page.films({{.frames = frames, .fps = 25, .caption = "beat"}});
  EXPECT_NE(page.html().find("<img width=\"6\" height=\"4\" alt=\"beat\" src=\"data:image/png"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { page.films({{.frames = frames[0], .fps = 25}}); }),
            "page: film must be u8 (T, 1|3, H, W), got u8 [3,4,6]");
}

}  // namespace
}  // namespace aorta::report
