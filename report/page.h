#pragma once

#include <aorta/core/list.h>
#include <aorta/core/tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace aorta::report {

/// One page of HTML that needs nothing else: no network, no script, pictures inside. It follows the
/// reader's choice of a light or a dark ground, prints, and fits a phone. Texts are plain text, of
/// any bytes: what they mean to HTML is escaped.
///
///     report::Page page("Segmentation of the left ventricle", "unet_small, 50 epochs");
///     page.highlights({{"Dice", "0.912"}, {"EF error", "4.1 %"}});
///     page.section("Training").figure(plot.svg(), "The loss of each epoch.");
///     page.table({"video", "Dice"}, {{"0X1A2B", "0.931"}, {"0X3C4D", "0.874"}});
///     page.save("report.html");
///
/// Errors: `page: a row must have a cell a column, ...`, `page: picture must be u8 (1|3, H, W),
/// ...`, `page: figure must be SVG, ...`, and those of the file system.
class Page {
 public:
  using Row = List<std::string>;
  using Pair = std::pair<std::string, std::string>;
  struct Picture {
    Tensor image;  // u8 (1 or 3, H, W)
    std::string caption = {};
  };

  struct Film {
    Tensor frames;   // u8 (T, 1 or 3, H, W)
    double fps = 0;  // frames a second
    std::string caption = {};
  };

  explicit Page(const Text& title, const Text& subtitle = {});

  /// A heading; four or more are listed at the top of the page.
  Page& section(const Text& title);
  Page& heading(const Text& title);  // within a section
  Page& paragraph(const Text& text);
  /// Commands, or a file: in letters of one width, its lines kept.
  Page& code(const Text& text);
  /// What a reader wants first, in large letters: names and values.
  Page& highlights(const List<Pair>& pairs);
  /// Names and what they are, one a line.
  Page& facts(const List<Pair>& pairs);
  /// Columns of numbers (with or without units) are aligned right.
  Page& table(const Row& columns, const List<Row>& rows);
  /// SVG text. Its ids are made its own, so that two figures can't meet. Plots turn dark with the
  /// page; other figures keep a white ground.
  Page& figure(const Text& svg, const Text& caption = {});
  /// As wide as it is, or as the page.
  Page& picture(const Tensor& image, const Text& caption = {});
  /// A grid of them, each of `width` CSS pixels at least.
  Page& pictures(const List<Picture>& pictures, int width = 224);
  /// A grid of films, which play again and again (as animated PNG).
  Page& films(const List<Film>& films, int width = 224);
  /// Links to files beside the page: what is shown and the path from the page's folder.
  Page& links(const List<Pair>& links);

  std::string html() const;
  /// Writes html() to a file, whole or not at all.
  void save(const Text& path) const;

 private:
  std::string title_, subtitle_;
  std::vector<std::string> sections_;
  int figures_ = 0;
  std::string body_;
};

}  // namespace aorta::report
