#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/data/images/transform_steps.h>

#include <algorithm>
#include <cstring>

namespace aorta::data {
namespace {

// The alternative number `which` of Transform::Any.
template <size_t... kIndices>
Transform::Any one_of_kind(size_t which, std::index_sequence<kIndices...>) {
  Transform::Any any;
  (void)((which == kIndices && (any.template emplace<kIndices>(), true)) || ...);
  return any;
}

bool same_place(const Tensor& a, const Tensor& b) { return a.data() == b.data(); }

void copy_bytes(const Tensor& from, const Tensor& to) {
  if (from.nbytes() == 0) return;  // from nowhere
  std::memcpy(to.data(), from.data(), static_cast<size_t>(from.nbytes()));
}

Shape with_size(Shape shape, FrameSize size) {
  shape[shape.size() - 2] = size.height;
  shape[shape.size() - 1] = size.width;
  return shape;
}

// Steps that leave a tensor's shape and dtype run in place, the others from one memory to another,
// the last of them to `out`.
class Runner {
 public:
  Runner(const std::vector<Step>& steps, Generator& random) : steps_(steps), random_(random) {}

  void run(const Tensor& in, const Tensor& out, bool is_mask) {
    is_mask_ = is_mask;
    current_ = in;
    owned_ = false;
    size_t last_move = steps_.size();
    for (size_t i = 0; i < steps_.size(); ++i)
      if (moves(steps_[i], in.dtype())) last_move = i;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (is_mask && !is_geometry(step)) continue;
      if (!moves(step, current_.dtype())) {
        if (!owned_) become(last_move < steps_.size() && i < last_move ? like(current_) : out);
        in_place(step);
        continue;
      }
      const Tensor next = i == last_move ? out : after(step);
      std::visit([&](const auto& what) { move(what, next); }, step.what);
      current_ = next;
      owned_ = true;
    }
    if (!same_place(current_, out)) copy_bytes(current_, out);
  }

 private:
  template <class What>
  static bool is(const Step& step) {
    return std::holds_alternative<What>(step.what);
  }
  static bool is_geometry(const Step& step) {
    return is<Flip>(step) || is<Warp>(step) || is<Stretch>(step) || is<Move>(step);
  }
  bool moves(const Step& step, DType dtype) const {
    if (is<ToFloat>(step)) return !is_mask_ && dtype == DType::u8;
    return is<Warp>(step) || is<Stretch>(step) || is<Move>(step);
  }
  static Tensor like(const Tensor& tensor) {
    return empty(tensor.shape(), {.dtype = tensor.dtype()});
  }
  Tensor after(const Step& step) const {
    const DType dtype = is<ToFloat>(step) ? DType::f32 : current_.dtype();
    return empty(with_size(current_.shape(), step.size), {.dtype = dtype});
  }
  void become(const Tensor& place) {
    if (!same_place(current_, place)) copy_bytes(current_, place);
    current_ = place;
    owned_ = true;
  }

  void move(const Warp& warp, const Tensor& next) {
    const double fill = is_mask_ ? warp.mask_fill : warp.fill;
    check_fits(warp.op, fill, current_.dtype());
    image::warp(current_, next, warp.to_input,
                is_mask_ ? Interpolation::nearest : warp.interpolation, fill);
  }
  void move(const Stretch& stretch, const Tensor& next) {
    if (is_mask_)
      image::resize_nearest(current_, next, stretch.box);
    else
      image::resize_bilinear(current_, next, stretch.box, stretch.antialias);
  }
  void move(const Move& move, const Tensor& next) {
    image::Window window = move.window;
    if (is_mask_) window.fill = move.mask_fill;
    if (window.mode == PaddingMode::constant) check_fits(move.op, window.fill, current_.dtype());
    image::window(current_, next, window);
  }
  void move(const ToFloat&, const Tensor& next) { image::to_float(current_, next); }
  template <class What>
  void move(const What&, const Tensor&) {}

  void in_place(const Step& step) {
    if (const auto* flip = std::get_if<Flip>(&step.what)) {
      if (flip->horizontal) image::flip_horizontal(current_);
      if (flip->vertical) image::flip_vertical(current_);
    } else if (const auto* normal = std::get_if<Normalize>(&step.what)) {
      normalize(*normal);
    } else if (const auto* jitter = std::get_if<Jitter>(&step.what)) {
      for (const int i : jitter->order) change(i, jitter->factors[static_cast<size_t>(i)]);
    } else if (const auto* gamma = std::get_if<Gamma>(&step.what)) {
      if (gamma->gamma != 1) image::adjust_gamma(current_, gamma->gamma);
    } else if (const auto* noise = std::get_if<GaussianNoise>(&step.what)) {
      const Tensor n = randn({current_.numel()}, {}, &random_);
      image::add_noise(current_, n, noise->mean, noise->sigma, noise->clip);
    } else if (const auto* speckle = std::get_if<SpeckleNoise>(&step.what)) {
      const int64_t channels = current_.dim() > 2 ? std::max<int64_t>(current_.size(0), 1) : 1;
      const Tensor n = randn({current_.numel() / channels}, {}, &random_);
      image::add_speckle(current_, n, speckle->std, speckle->clip);
    }
  }

  void normalize(const Normalize& normal) const {
    const int64_t channels = current_.dim() > 2 ? current_.size(0) : 1;
    check(current_.dtype() == DType::f32, "normalize",
          "the image must be f32 (ToFloat goes before)", current_.dtype());
    check(normal.mean.size() == 1 || static_cast<int64_t>(normal.mean.size()) == channels,
          "normalize", "there must be a number a channel, or one", normal.mean.size(), " for ",
          channels, " channels");
    image::normalize(current_, normal.mean, normal.std);
  }

  void change(int which, double factor) const {
    if (factor == (which == 3 ? 0 : 1)) return;
    const int64_t channels = current_.dim() > 2 ? current_.size(0) : 1;
    check(which == 0 || channels == 1 || channels == 3, "color_jitter",
          "contrast, saturation and hue need 1 or 3 channels", channels);
    if (which == 0)
      image::adjust_brightness(current_, factor);
    else if (which == 1)
      image::adjust_contrast(current_, factor);
    else if (which == 2)
      image::adjust_saturation(current_, factor);
    else
      image::adjust_hue(current_, factor);
  }

  const std::vector<Step>& steps_;
  Generator& random_;
  bool is_mask_ = false;
  Tensor current_;
  bool owned_ = false;  // current_ may be written
};

struct MovePoint {
  FrameSize before, after;
  double &x, &y;
  void operator()(const Flip& flip) {
    if (flip.horizontal) x = static_cast<double>(before.width - 1) - x;
    if (flip.vertical) y = static_cast<double>(before.height - 1) - y;
  }
  void operator()(const Warp& warp) {
    const image::Matrix& m = warp.to_output;
    const double moved_x = m[0] * x + m[1] * y + m[2];
    y = m[3] * x + m[4] * y + m[5];
    x = moved_x;
  }
  void operator()(const Stretch& stretch) {
    const image::Box& box = stretch.box;
    const auto along = [](double at, int64_t start, int64_t from, int64_t to) {
      return (at + 0.5 - static_cast<double>(start)) * static_cast<double>(to) /
                 static_cast<double>(from) -
             0.5;
    };
    x = along(x, box.left, box.width, after.width);
    y = along(y, box.top, box.height, after.height);
  }
  void operator()(const Move& move) {
    x -= static_cast<double>(move.window.left);
    y -= static_cast<double>(move.window.top);
  }
  template <class What>
  void operator()(const What&) {}
};

template <class T>
void move_points(T* points, int64_t count, FrameSize size, const std::vector<Step>& steps) {
  for (int64_t i = 0; i < count; ++i) {
    auto x = static_cast<double>(points[2 * i]), y = static_cast<double>(points[2 * i + 1]);
    FrameSize before = size;
    for (const Step& step : steps) {
      std::visit(MovePoint{before, step.size, x, y}, step.what);
      before = step.size;
    }
    points[2 * i] = static_cast<T>(x);
    points[2 * i + 1] = static_cast<T>(y);
  }
}

// Throws unless the transforms can be used on these; returns the frames' size.
FrameSize checked_size(const Views& in) {
  const char* op = "transforms";
  FrameSize size(-1, -1);
  const auto see = [&](const Tensor& tensor, const char* rule, bool fits) {
    check(fits && tensor.dim() >= 2 && tensor.device().is_cpu() && tensor.is_contiguous(), op, rule,
          tensor.dtype(), " ", tensor.shape(), " on ", tensor.device());
    const FrameSize own(tensor.size(-2), tensor.size(-1));
    if (size == FrameSize(-1, -1)) size = own;
    check(size == own, op, "images and masks must have one height and width", size, " and ", own);
  };
  for (const Tensor& image : in.images)
    see(image, "an image must be u8 or f32, (H, W), (C, H, W) or (C, T, H, W), contiguous",
        image.dim() <= 4 && (image.dtype() == DType::u8 || image.dtype() == DType::f32));
  for (const Tensor& mask : in.masks) see(mask, "a mask must be (..., H, W), contiguous", true);
  for (const Tensor& points : in.points)
    check(points.dim() >= 1 && points.size(-1) == 2 && points.device().is_cpu() &&
              points.is_contiguous() &&
              (points.dtype() == DType::f32 || points.dtype() == DType::f64),
          op, "points must be f32 or f64 (..., 2), contiguous", points.dtype(), " ",
          points.shape());
  check(size.height >= 0, op, "there must be an image or a mask, which have the size", "none");
  return size;
}

void check_place(const Tensor& place, const Shape& shape, DType dtype) {
  check(place.shape() == shape && place.dtype() == dtype && place.is_contiguous(), "transforms",
        "a result's place must be contiguous, of its shape and dtype", place.dtype(), " ",
        place.shape(), " for ", dtype, " ", shape);
}

}  // namespace

void Transform::become(int64_t which) {
  if (which == static_cast<int64_t>(any.index())) return;
  constexpr size_t kKinds = std::variant_size_v<Any>;
  check(which >= 0 && which < static_cast<int64_t>(kKinds), "transform",
        "the kind must be one that there is", which);
  any = one_of_kind(static_cast<size_t>(which), std::make_index_sequence<kKinds>());
}

Transforms::Transforms(List<Transform> list) : list_(std::move(list)) {
  for (const Transform& transform : list_) check_transform(transform);
}

FrameSize Transforms::size_after(FrameSize size) const {
  for (const Transform& transform : list_) size = data::size_after(transform, size);
  return size;
}

DType Transforms::dtype_after(DType dtype) const {
  for (const Transform& transform : list_)
    if (dtype == DType::u8 && std::holds_alternative<ToFloat>(transform.any)) dtype = DType::f32;
  return dtype;
}

void Transforms::run(const Views& in, Generator& random, const void* asked,
                     Views (*place)(const void* asked, FrameSize size)) const {
  const FrameSize before = checked_size(in);
  const std::vector<Step> steps = plan(list_, before, random);
  const FrameSize after = steps.empty() ? before : steps.back().size;
  const Views out = place(asked, after);
  check(out.images.size() == in.images.size() && out.masks.size() == in.masks.size() &&
            out.points.size() == in.points.size(),
        "transforms", "each tensor must have a place", out.images.size(), ", ", out.masks.size(),
        " and ", out.points.size());
  Runner runner(steps, random);
  for (size_t i = 0; i < in.images.size(); ++i) {
    const Tensor& image = in.images[i];
    check_place(out.images[i], with_size(image.shape(), after), dtype_after(image.dtype()));
    runner.run(image, out.images[i], false);
  }
  for (size_t i = 0; i < in.masks.size(); ++i) {
    const Tensor& mask = in.masks[i];
    check_place(out.masks[i], with_size(mask.shape(), after), mask.dtype());
    runner.run(mask, out.masks[i], true);
  }
  for (size_t i = 0; i < in.points.size(); ++i) {
    const Tensor &from = in.points[i], &to = out.points[i];
    check_place(to, from.shape(), from.dtype());
    if (!same_place(from, to)) copy_bytes(from, to);
    if (to.dtype() == DType::f32)
      move_points(to.data<float>(), to.numel() / 2, before, steps);
    else
      move_points(to.data<double>(), to.numel() / 2, before, steps);
  }
}

Views Transforms::operator()(const Views& in, Generator& random) const {
  Views whole = in;
  check_defined("transforms", "images", whole.images);
  check_defined("transforms", "masks", whole.masks);
  check_defined("transforms", "points", whole.points);
  for (auto* list : {&whole.images, &whole.masks, &whole.points})
    for (Tensor& tensor : *list) tensor = tensor.detach().contiguous();
  Views out;
  run(whole, random, [&](FrameSize size) {
    for (const Tensor& image : whole.images)
      out.images.push_back(
          empty(with_size(image.shape(), size), {.dtype = dtype_after(image.dtype())}));
    for (const Tensor& mask : whole.masks)
      out.masks.push_back(empty(with_size(mask.shape(), size), {.dtype = mask.dtype()}));
    for (const Tensor& points : whole.points)
      out.points.push_back(empty(points.shape(), {.dtype = points.dtype()}));
    return out;
  });
  return out;
}

Tensor Transforms::operator()(const Tensor& image, Generator& random) const {
  return (*this)(Views{.images = {image}}, random).images[0];
}

}  // namespace aorta::data
