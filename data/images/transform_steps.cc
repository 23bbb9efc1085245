#include <aorta/core/io/bytes.h>
#include <aorta/data/images/transform_steps.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace aorta::data {
namespace {

FrameSize unknown() { return {-1, -1}; }

// --- What is in range.

constexpr int64_t kLongest = 1'000'000'000;  // a side's, in pixels

void check_size(const char* op, FrameSize size) {
  check(std::min(size.height, size.width) >= 1 && std::max(size.height, size.width) <= kLongest, op,
        "size must be 1 to 1000000000 each way", size);
}

void check_padding(const char* op, const PadSizes& p) {
  const auto [least, most] = std::minmax({p.left, p.top, p.right, p.bottom});
  check(least >= 0 && most <= kLongest, op, "padding must be 0 to 1000000000 on each side",
        io::shape_text(std::array{p.left, p.top, p.right, p.bottom}));
}

void check_frames(FrameSize size) {
  check(std::max(size.height, size.width) <= kLongest, "transforms",
        "frames must have at most 1000000000 rows and columns", size);
}

void check_range(const char* op, const char* rule, const Range& range, double low, double high) {
  check(range[0] >= low && range[0] <= range[1] && range[1] <= high, op, rule, range[0], " to ",
        range[1]);
}

void check_probability(const char* op, double p) {
  check(p >= 0 && p <= 1, op, "p must be between 0 and 1", p);
}

constexpr double kMost = 1e9;

struct Checks {
  void operator()(const CenterCrop& t) { check_size("center_crop", t.size); }
  void operator()(const RandomCrop& t) {
    check_size("random_crop", t.size);
    check_padding("random_crop", t.padding);
  }
  void operator()(const Pad& t) { check_padding("pad", t.padding); }
  void operator()(const RandomHorizontalFlip& t) {
    check_probability("random_horizontal_flip", t.p);
  }
  void operator()(const RandomVerticalFlip& t) { check_probability("random_vertical_flip", t.p); }
  void operator()(const Affine& t) {
    check(std::isfinite(t.angle) && std::isfinite(t.translate[0]) && std::isfinite(t.translate[1]),
          "affine", "angle and translate must be finite", t.angle, ", ", t.translate[0], ", ",
          t.translate[1]);
    check(t.scale > 0 && t.scale < kMost, "affine", "scale must be above 0 and below 1e9", t.scale);
    check(std::abs(t.shear[0]) < 90 && std::abs(t.shear[1]) < 90, "affine",
          "shear must be between -90 and 90 degrees", t.shear[0], ", ", t.shear[1]);
    check_center("affine", t.center);
  }
  void operator()(const RandomAffine& t) {
    const char* op = "random_affine";
    check_range(op, "degrees must be a range {low, high} from -1e9 to 1e9", t.degrees, -kMost,
                kMost);
    for (const double translate : t.translate)
      check(translate >= 0 && translate <= 1, op, "translation values should be between 0 and 1",
            translate);
    check_range(op, "scale must be a range {low, high} from 1e-9 to 1e9", t.scale, 1e-9, kMost);
    check_range(op, "shear must be a range {low, high} from -89.9 to 89.9 degrees", t.shear, -89.9,
                89.9);
    check_range(op, "shear_y must be a range {low, high} from -89.9 to 89.9 degrees", t.shear_y,
                -89.9, 89.9);
    check_center(op, t.center);
  }
  void operator()(const Resize& t) {
    if (t.shorter_edge == 0) check_size("resize", t.size);
    check(t.shorter_edge >= 0 && t.shorter_edge <= kLongest, "resize",
          "shorter_edge must be at most 1000000000, 0 for none", t.shorter_edge);
    check(t.shorter_edge == 0 || t.size == FrameSize(), "resize",
          "size and shorter_edge exclude each other", "both");
  }
  void operator()(const RandomResizedCrop& t) {
    const char* op = "random_resized_crop";
    check_size(op, t.size);
    check_range(op, "scale must be a range of shares {low, high} from 1e-9 to 1000", t.scale, 1e-9,
                1e3);
    check_range(op, "ratio must be a range {low, high} from 1e-6 to 1e6", t.ratio, 1e-6, 1e6);
  }
  void operator()(const ToFloat&) {}
  void operator()(const Normalize& t) {
    check(!t.mean.empty() && t.mean.size() == t.std.size(), "normalize",
          "mean and std must have as many numbers", t.mean.size(), " and ", t.std.size());
    for (const double std : t.std)
      check(std != 0 && std::isfinite(std), "normalize", "std must be finite and not 0", std);
  }
  void operator()(const ColorJitter& t) {
    const char* op = "color_jitter";
    check_range(op, "brightness must be a range {low, high} from 0 to 1e9", t.brightness, 0, kMost);
    check_range(op, "contrast must be a range {low, high} from 0 to 1e9", t.contrast, 0, kMost);
    check_range(op, "saturation must be a range {low, high} from 0 to 1e9", t.saturation, 0, kMost);
    check_range(op, "hue must be a range {low, high} from -0.5 to 0.5", t.hue, -0.5, 0.5);
  }
  void operator()(const RandomGamma& t) {
    check_range("random_gamma", "gamma must be a range {low, high} from 0 to 1e9", t.gamma, 0,
                kMost);
  }
  void operator()(const GaussianNoise& t) {
    check(t.sigma >= 0 && t.sigma < kMost, "gaussian_noise",
          "sigma must be at least 0 and below 1e9", t.sigma);
  }
  void operator()(const SpeckleNoise& t) {
    check(t.std >= 0 && t.std < kMost, "speckle_noise", "std must be at least 0 and below 1e9",
          t.std);
  }

  static void check_center(const char* op, const std::vector<double>& center) {
    check(center.empty() || (center.size() == 2 && std::isfinite(center[0] + center[1])), op,
          "center must be x and y", center.size(), " numbers");
  }
};

// --- Sizes.

FrameSize padded(const char* op, FrameSize size, const PadSizes& p, PaddingMode mode) {
  // A mirror gives as many pixels as there are, without its own unless symmetric.
  const int64_t spare = mode == PaddingMode::reflect ? 1 : 0;
  const bool fits = mode == PaddingMode::constant ||
                    (mode == PaddingMode::edge && size.height > 0 && size.width > 0) ||
                    (std::max(p.left, p.right) <= size.width - spare &&
                     std::max(p.top, p.bottom) <= size.height - spare);
  check(fits, op, "padding by reflection must be smaller than the image",
        io::shape_text(std::array{p.left, p.top, p.right, p.bottom}), " for ", size);
  return {size.height + p.top + p.bottom, size.width + p.left + p.right};
}

// RandomCrop's padding of frames of this size, with what pad_if_needed adds.
PadSizes padding_of(const RandomCrop& t, FrameSize size) {
  PadSizes p = t.padding;
  if (!t.pad_if_needed) return p;
  const int64_t rows = t.size.height - (size.height + p.top + p.bottom);
  const int64_t columns = t.size.width - (size.width + p.left + p.right);
  if (rows > 0) p.top += rows, p.bottom += rows;
  if (columns > 0) p.left += columns, p.right += columns;
  return p;
}

FrameSize shorter_edge_size(FrameSize size, int64_t edge) {
  const int64_t shorter = std::min(size.height, size.width);
  check(shorter > 0, "resize", "there must be pixels", size);
  const int64_t longer = edge * std::max(size.height, size.width) / shorter;
  return size.height < size.width ? FrameSize(edge, longer) : FrameSize(longer, edge);
}

struct Sizes {
  FrameSize size;
  FrameSize operator()(const CenterCrop& t) { return t.size; }
  FrameSize operator()(const RandomCrop& t) { return t.size; }
  FrameSize operator()(const Pad& t) {
    return size == unknown() ? size : padded("pad", size, t.padding, t.padding_mode);
  }
  FrameSize operator()(const Resize& t) {
    if (t.shorter_edge == 0) return t.size;
    return size == unknown() ? size : shorter_edge_size(size, t.shorter_edge);
  }
  FrameSize operator()(const RandomResizedCrop& t) { return t.size; }
  template <class T>
  FrameSize operator()(const T&) {
    return size;
  }
};

// --- Drawing.

double draw(Generator& random, const Range& range) {
  return range[0] == range[1] ? range[0] : range[0] + (range[1] - range[0]) * random.next_uniform();
}

// Rounds half to even, as Python does.
int64_t whole(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

// The affine map of torchvision's _get_inverse_affine_matrix, about `centre`:
// turn(angle) shear scale, R S Hy Hx.
Warp warp_of(const char* op, const Affine& t, FrameSize size) {
  constexpr double kDegree = std::numbers::pi / 180;
  const double angle = t.angle * kDegree, shear_y = t.shear[1] * kDegree;
  const double tangent = std::tan(t.shear[0] * kDegree);
  const double a = std::cos(angle - shear_y) / std::cos(shear_y);
  const double c = std::sin(angle - shear_y) / std::cos(shear_y);
  const double b = -(a * tangent + std::sin(angle)), d = std::cos(angle) - c * tangent;
  const double x = t.center.empty() ? static_cast<double>(size.width - 1) / 2 : t.center[0];
  const double y = t.center.empty() ? static_cast<double>(size.height - 1) / 2 : t.center[1];
  const double to_x = x + t.translate[0], to_y = y + t.translate[1], s = t.scale;
  Warp warp{.op = op,
            .to_output = {a * s, b * s, to_x - s * (a * x + b * y), c * s, d * s,
                          to_y - s * (c * x + d * y)},
            // The determinant of (a, b; c, d) is 1.
            .to_input = {d / s, -b / s, x - (d * to_x - b * to_y) / s, -c / s, a / s,
                         y - (a * to_y - c * to_x) / s},
            .interpolation = t.interpolation,
            .fill = t.fill,
            .mask_fill = t.mask_fill};
  return warp;
}

image::Box random_box(const RandomResizedCrop& t, FrameSize size, Generator& random) {
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  const Range logs{std::log(t.ratio[0]), std::log(t.ratio[1])};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = height * width * draw(random, t.scale);
    const double ratio = std::exp(draw(random, logs));
    const int64_t w = whole(std::sqrt(area * ratio)), h = whole(std::sqrt(area / ratio));
    if (w <= 0 || h <= 0 || w > size.width || h > size.height) continue;
    const int64_t top = random.next_below(size.height - h + 1);
    return {top, random.next_below(size.width - w + 1), h, w};
  }
  int64_t h = size.height, w = size.width;
  if (width / height < t.ratio[0])
    h = std::clamp<int64_t>(whole(width / t.ratio[0]), 1, size.height);
  else if (width / height > t.ratio[1])
    w = std::clamp<int64_t>(whole(height * t.ratio[1]), 1, size.width);
  return {(size.height - h) / 2, (size.width - w) / 2, h, w};
}

struct Draws {
  FrameSize size;  // before the transform
  Generator& random;
  std::vector<Step>& steps;

  template <class What>
  void add(What what, FrameSize after) {
    steps.push_back({std::move(what), after});
  }

  void operator()(const CenterCrop& t) {
    const auto start = [](int64_t from, int64_t to) {
      return to > from ? -((to - from) / 2) : whole(static_cast<double>(from - to) / 2);
    };
    const image::Window window{.top = start(size.height, t.size.height),
                               .left = start(size.width, t.size.width)};
    add(Move{"center_crop", window, 0}, t.size);
  }
  void operator()(const RandomCrop& t) {
    const PadSizes p = padding_of(t, size);
    const FrameSize all = padded("random_crop", size, p, t.padding_mode);
    check(all.height >= t.size.height && all.width >= t.size.width, "random_crop",
          "the size can't be larger than the padded image", t.size, " of ", all);
    image::Window window{.mode = t.padding_mode, .fill = t.fill};
    window.top = random.next_below(all.height - t.size.height + 1) - p.top;
    window.left = random.next_below(all.width - t.size.width + 1) - p.left;
    add(Move{"random_crop", window, t.mask_fill}, t.size);
  }
  void operator()(const Pad& t) {
    const image::Window window{
        .top = -t.padding.top, .left = -t.padding.left, .mode = t.padding_mode, .fill = t.fill};
    add(Move{"pad", window, t.mask_fill}, padded("pad", size, t.padding, t.padding_mode));
  }
  void operator()(const RandomHorizontalFlip& t) {
    if (random.next_uniform() < t.p) add(Flip{true, false}, size);
  }
  void operator()(const RandomVerticalFlip& t) {
    if (random.next_uniform() < t.p) add(Flip{false, true}, size);
  }
  void operator()(const Affine& t) { add(warp_of("affine", t, size), size); }
  void operator()(const RandomAffine& t) {
    Affine drawn{.center = t.center,
                 .interpolation = t.interpolation,
                 .fill = t.fill,
                 .mask_fill = t.mask_fill};
    drawn.angle = draw(random, t.degrees);
    const double x = t.translate[0] * static_cast<double>(size.width);
    const double y = t.translate[1] * static_cast<double>(size.height);
    drawn.translate[0] = std::nearbyint(draw(random, {-x, x}));
    drawn.translate[1] = std::nearbyint(draw(random, {-y, y}));
    drawn.scale = draw(random, t.scale);
    drawn.shear = {draw(random, t.shear), draw(random, t.shear_y)};
    add(warp_of("random_affine", drawn, size), size);
  }
  void operator()(const Resize& t) {
    check_size("resize", size);
    const FrameSize after = Sizes{size}(t);
    add(Stretch{{0, 0, size.height, size.width}, t.antialias}, after);
  }
  void operator()(const RandomResizedCrop& t) {
    check_size("random_resized_crop", size);
    add(Stretch{random_box(t, size, random), t.antialias}, t.size);
  }
  void operator()(const ColorJitter& t) {
    Jitter jitter{.factors = {}, .order = {0, 1, 2, 3}};
    for (int64_t i = 3; i > 0; --i)
      std::swap(jitter.order[static_cast<size_t>(i)],
                jitter.order[static_cast<size_t>(random.next_below(i + 1))]);
    jitter.factors = {draw(random, t.brightness), draw(random, t.contrast),
                      draw(random, t.saturation), draw(random, t.hue)};
    add(jitter, size);
  }
  void operator()(const RandomGamma& t) { add(Gamma{draw(random, t.gamma)}, size); }
  template <class T>
  void operator()(const T& t) {
    add(t, size);
  }
};

}  // namespace

std::string to_string(const FrameSize& size) {
  return std::to_string(size.height) + " x " + std::to_string(size.width);
}

void check_transform(const Transform& transform) { std::visit(Checks{}, transform.any); }

FrameSize size_after(const Transform& transform, FrameSize size) {
  check_frames(size);
  size = std::visit(Sizes{size}, transform.any);
  check_frames(size);
  return size;
}

std::vector<Step> plan(const std::vector<Transform>& list, FrameSize size, Generator& random) {
  std::vector<Step> steps;
  check_frames(size);
  for (const Transform& transform : list) {
    std::visit(Draws{size, random, steps}, transform.any);
    if (!steps.empty()) size = steps.back().size;
    check_frames(size);
  }
  return steps;
}

}  // namespace aorta::data
