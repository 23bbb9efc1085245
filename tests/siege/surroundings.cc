#include <aorta/data/combine.h>
#include <aorta/data/dataset.h>
#include <aorta/data/images/transforms.h>
#include <aorta/nn/parameter_vector.h>
#include <aorta/optim/averaging.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/composed_schedules.h>
#include <aorta/optim/grad_scaler.h>
#include <aorta/optim/schedules.h>
#include <aorta/optim/sgd.h>
#include <aorta/report/bar_chart.h>
#include <aorta/report/canvas.h>
#include <aorta/report/plot.h>

#include <aorta/tests/siege/targets.h>

#include <utility>

// What stands around a training: schedules of functions and of other schedules, gradients that are
// clipped, averages, datasets of datasets, transforms of images, plots.
namespace aorta::siege {
namespace {

using T = Tensor;

/// The rate after each of some steps of the schedule that `make` makes.
template <class Make>
T rates(const Make& make) {
  const T p = ones({2}).requires_grad_();
  optim::SGD optimizer({p}, {.lr = 0.1, .momentum = 0.5});
  const auto schedule = make(optimizer);
  std::vector<double> found;
  for (int i = 0; i < 5; ++i) {
    p.set_grad(ones({2}));
    optimizer.step();
    schedule->step();
    found.push_back(p[0].item<double>());
  }
  return tensor(found);
}

data::DatasetPointer dataset_of(const T& x, const std::string& name = "x") {
  return data::make_dataset<data::TensorDataset>(NamedTensors{{name, x}});
}

T read(const data::Dataset& dataset, int64_t index, const std::string& name = "x") {
  Generator random;
  return dataset.sample(index, random)[name].clone();
}

/// A picture that every transform may be given: u8 (3, 6, 5), or floating.
T picture(bool floating) {
  const T bytes = remainder(mul(arange(90), 7), 256).to(u8).view({3, 6, 5});
  return floating ? div(bytes.to(f32), 255) : bytes;
}

template <class Transform>
T transformed(const Transform& transform, bool floating, const T& other, bool hostile) {
  Generator random;
  return data::Transforms({transform})(hostile ? other : picture(floating), random);
}

using Sizes = std::array<double, 2>;

data::Range range_of(const Sizes& ends) { return {ends[0], ends[1]}; }

data::FrameSize frame_size(int64_t height, int64_t width) { return {height, width}; }
data::PaddingMode padding_mode(int64_t which) {
  return static_cast<data::PaddingMode>(static_cast<uint64_t>(which) % 4);
}

T size_of(const std::string& text) { return full({}, static_cast<int64_t>(text.size())); }

using Numbers = std::vector<double>;

}  // namespace

void add_more_training(std::vector<Target>& targets) {
  using namespace optim;
  targets.insert(
      targets.end(),
      {
          of(
              "LambdaLR",
              +[](double factor, int64_t count) {
                return rates([&](SGD& o) {
                  const LambdaLR::Function f = [factor](int64_t epoch) {
                    return factor * static_cast<double>(epoch);
                  };
                  return std::make_shared<LambdaLR>(
                      o, std::vector<LambdaLR::Function>(static_cast<uint64_t>(count) % 3, f));
                });
              }),
          of(
              "MultiplicativeLR",
              +[](double factor) {
                return rates([&](SGD& o) {
                  return std::make_shared<MultiplicativeLR>(o,
                                                            [factor](int64_t) { return factor; });
                });
              }),
          of(
              "CyclicLR",
              +[](const Numbers& base, const Numbers& most, int64_t up, std::optional<int64_t> down,
                  int64_t mode, double gamma, bool function, bool momentum, double base_momentum,
                  double max_momentum) {
                return rates([&](SGD& o) {
                  CyclicLR::Options options{
                      .base_lr = base,
                      .max_lr = most,
                      .step_size_up = up,
                      .step_size_down = down,
                      .mode = static_cast<CyclicMode>(static_cast<uint64_t>(mode) % 3),
                      .gamma = gamma,
                      .cycle_momentum = momentum,
                      .base_momentum = base_momentum,
                      .max_momentum = max_momentum};
                  if (function) options.scale_fn = [gamma](int64_t) { return gamma; };
                  return std::make_shared<CyclicLR>(o, options);
                });
              }),
          of(
              "SequentialLR",
              +[](const std::vector<int64_t>& milestones, int64_t count, bool empty) {
                return rates([&](SGD& o) {
                  Schedules all;
                  for (uint64_t i = 0; i < static_cast<uint64_t>(count) % 4; ++i)
                    all.push_back(empty ? nullptr : std::make_shared<ConstantLR>(o));
                  return std::make_shared<SequentialLR>(o, all, milestones);
                });
              }),
          of(
              "ChainedScheduler",
              +[](int64_t count, double gamma, bool empty) {
                return rates([&](SGD& o) {
                  Schedules all;
                  for (uint64_t i = 0; i < static_cast<uint64_t>(count) % 4; ++i)
                    all.push_back(
                        empty ? nullptr
                              : std::make_shared<ExponentialLR>(o, ExponentialLR::Options{gamma}));
                  return std::make_shared<ChainedScheduler>(all);
                });
              }),
          of<T, const List<T>&, double, bool>("get_total_norm", get_total_norm),
          of(
              "parameters_to_vector",
              +[](const T& x, const T& y, const T& values) {
                const T to = nn::parameters_to_vector({x, y}).detach().clone();
                nn::vector_to_parameters(values, {to});
                return to;
              }),
          of(
              "clip_grad_norm_",
              +[](const T& p, const T& gradient, double most, double type, bool error) {
                const T leaf = p.detach().clone();
                leaf.requires_grad_().set_grad(gradient);
                return clip_grad_norm_({leaf}, most, type, error);
              }),
          of(
              "clip_grads_with_norm_",
              +[](const T& p, const T& gradient, double most, const T& norm) {
                const T leaf = p.detach().clone();
                leaf.requires_grad_().set_grad(gradient);
                clip_grads_with_norm_({leaf}, most, norm);
                return leaf.grad();
              }),
          of(
              "clip_grad_value_",
              +[](const T& p, const T& gradient, double most) {
                const T leaf = p.detach().clone();
                leaf.requires_grad_().set_grad(gradient);
                clip_grad_value_({leaf}, most);
                return leaf.grad();
              }),
          of(
              "GradScaler",
              +[](const T& p, const T& gradient, const GradScalerOptions& o, bool unscales,
                  double scale) {
                const T leaf = p.detach().clone();
                leaf.requires_grad_().set_grad(gradient);
                SGD optimizer({leaf}, {.lr = 0.1});
                GradScaler scaler(o);
                scaler.scale(mul(leaf, 2));
                if (unscales) scaler.unscale_(optimizer);
                scaler.step(optimizer);
                scaler.update();
                scaler.restore(scaler.state());
                scaler.update(scale);
                return leaf;
              }),
          of(
              "AveragedModel",
              +[](const Tensors& first, const Tensors& second, const AverageOptions& o) {
                AveragedModel average(first, o);
                average.update_parameters(second);
                average.update_parameters(first);
                average.copy_to(second);
                return average.parameters();
              }),
      });
}

void add_datasets(std::vector<Target>& targets) {
  using namespace data;
  targets.insert(
      targets.end(),
      {
          of(
              "Subset", +[](const std::vector<int64_t>& places, int64_t index,
                            const T& x) { return read(Subset(dataset_of(x), places), index); }),
          of(
              "slice",
              +[](std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                  int64_t index,
                  const T& x) { return read(*slice(dataset_of(x), start, stop, step), index); }),
          of(
              "ConcatDataset",
              +[](int64_t index, int64_t count, const T& x, const T& y) {
                const std::vector<DatasetPointer> all{dataset_of(x), dataset_of(y), nullptr};
                return read(ConcatDataset(std::vector<DatasetPointer>(
                                all.begin(), all.begin() + static_cast<int64_t>(
                                                               static_cast<uint64_t>(count) % 4))),
                            index);
              }),
          of(
              "StackDataset",
              +[](int64_t index, int64_t count, const std::string& name, const T& x, const T& y) {
                const std::vector<std::pair<std::string, DatasetPointer>> all{
                    {"a", dataset_of(x)}, {name, dataset_of(y, name)}, {"c", nullptr}};
                const auto last = static_cast<int64_t>(static_cast<uint64_t>(count) % 4);
                return read(StackDataset(std::vector<std::pair<std::string, DatasetPointer>>(
                                all.begin(), all.begin() + last)),
                            index, "a.x");
              }),
          of(
              "random_split of lengths",
              +[](const std::vector<int64_t>& lengths, const T& x) {
                Generator random;
                Tensors parts;
                for (const auto& part : random_split(dataset_of(x), lengths, random))
                  parts.push_back(tensor(part->indices()));
                return parts;
              }),
          of(
              "random_split of fractions",
              +[](const Numbers& fractions, const T& x) {
                Generator random;
                Tensors parts;
                for (const auto& part : random_split(dataset_of(x), fractions, random))
                  parts.push_back(tensor(part->indices()));
                return parts;
              }),
          of(
              "CenterCrop",
              +[](int64_t h, int64_t w, bool floating, const T& x, bool hostile) {
                return transformed(CenterCrop{frame_size(h, w)}, floating, x, hostile);
              }),
          of(
              "RandomCrop",
              +[](int64_t h, int64_t w, int64_t left, int64_t top, bool need, double fill,
                  int64_t mode, bool floating) {
                return transformed(RandomCrop{.size = frame_size(h, w),
                                              .padding = {left, top},
                                              .pad_if_needed = need,
                                              .fill = fill,
                                              .padding_mode = padding_mode(mode)},
                                   floating, {}, false);
              }),
          of(
              "Pad",
              +[](int64_t left, int64_t top, int64_t right, int64_t bottom, double fill,
                  int64_t mode, bool floating) {
                return transformed(Pad{.padding = {left, top, right, bottom},
                                       .fill = fill,
                                       .padding_mode = padding_mode(mode)},
                                   floating, {}, false);
              }),
          of(
              "RandomHorizontalFlip",
              +[](double p, bool floating, const T& x, bool hostile) {
                return transformed(RandomHorizontalFlip{p}, floating, x, hostile);
              }),
          of(
              "RandomVerticalFlip",
              +[](double p, bool floating, const T& x, bool hostile) {
                return transformed(RandomVerticalFlip{p}, floating, x, hostile);
              }),
          of(
              "Affine",
              +[](double angle, const Sizes& translate, double scale, const Sizes& shear,
                  const Numbers& center, bool nearest, double fill, bool floating) {
                return transformed(Affine{.angle = angle,
                                          .translate = translate,
                                          .scale = scale,
                                          .shear = shear,
                                          .center = center,
                                          .interpolation = nearest ? Interpolation::nearest
                                                                   : Interpolation::bilinear,
                                          .fill = fill},
                                   floating, {}, false);
              }),
          of(
              "RandomAffine",
              +[](const Sizes& degrees, const Sizes& translate, const Sizes& scale,
                  const Sizes& shear, const Numbers& center, double fill, bool floating) {
                return transformed(RandomAffine{.degrees = range_of(degrees),
                                                .translate = translate,
                                                .scale = range_of(scale),
                                                .shear = range_of(shear),
                                                .center = center,
                                                .fill = fill},
                                   floating, {}, false);
              }),
          of(
              "Resize",
              +[](int64_t h, int64_t w, int64_t edge, bool antialias, bool floating, const T& x,
                  bool hostile) {
                return transformed(
                    Resize{.shorter_edge = edge, .size = frame_size(h, w), .antialias = antialias},
                    floating, x, hostile);
              }),
          of(
              "RandomResizedCrop",
              +[](int64_t h, int64_t w, const Sizes& scale, const Sizes& ratio, bool floating) {
                return transformed(RandomResizedCrop{.size = frame_size(h, w),
                                                     .scale = range_of(scale),
                                                     .ratio = range_of(ratio)},
                                   floating, {}, false);
              }),
          of(
              "ToFloat", +[](const T& x) { return transformed(ToFloat(), false, x, true); }),
          of(
              "Normalize",
              +[](const Numbers& mean, const Numbers& std, bool floating, const T& x,
                  bool hostile) {
                return transformed(Normalize{.mean = mean, .std = std}, floating, x, hostile);
              }),
          of(
              "ColorJitter",
              +[](const Sizes& brightness, const Sizes& contrast, const Sizes& saturation,
                  const Sizes& hue, bool floating) {
                return transformed(ColorJitter{range_of(brightness), range_of(contrast),
                                               range_of(saturation), range_of(hue)},
                                   floating, {}, false);
              }),
          of(
              "RandomGamma",
              +[](const Sizes& gamma, bool floating, const T& x, bool hostile) {
                return transformed(RandomGamma{range_of(gamma)}, floating, x, hostile);
              }),
          of(
              "GaussianNoise",
              +[](double mean, double sigma, bool clip, bool floating) {
                return transformed(GaussianNoise{mean, sigma, clip}, floating, {}, false);
              }),
          of(
              "SpeckleNoise",
              +[](double std, bool clip, bool floating, const T& x, bool hostile) {
                return transformed(SpeckleNoise{std, clip}, floating, x, hostile);
              }),
      });
}

void add_report(std::vector<Target>& targets) {
  using namespace report;
  targets.insert(
      targets.end(),
      {
          of(
              "Plot",
              +[](int64_t kind, const std::string& name, const Numbers& x, const Numbers& y,
                  const Numbers& z, std::optional<double> low, std::optional<double> high, bool log,
                  int width, int height) {
                Plot plot({.title = name,
                           .x = {.scale = log ? Scale::log : Scale::linear, .low = low},
                           .y = {.high = high},
                           .width = width,
                           .height = height});
                switch (static_cast<uint64_t>(kind) % 8) {
                  case 0:
                    return size_of(plot.line(name, x, y).svg());
                  case 1:
                    return size_of(plot.scatter(name, x, y).diagonal(name).svg());
                  case 2:
                    return size_of(plot.path(name, x, y).svg());
                  case 3:
                    return size_of(plot.band(name, x, y, z).svg());
                  case 4:
                    return size_of(plot.bars(name, x, y).svg());
                  case 5:
                    return size_of(plot.histogram(name, x, static_cast<int>(z.size())).svg());
                  case 6:
                    return size_of(plot.histogram(name, x, width).horizontal(name, 1).svg());
                  default:
                    return size_of(plot.line(name, x, x)
                                       .contours([](double a, double b) { return a * b; }, y)
                                       .vertical(name, z.empty() ? 0 : z[0])
                                       .svg());
                }
              }),
          of(
              "bar_chart",
              +[](const std::string& title, const Numbers& values, int width) {
                std::vector<Bar> bars;
                for (const double value : values) bars.push_back({title, value});
                return size_of(bar_chart(title, bars, width));
              }),
          of(
              "Canvas",
              +[](int width, int height, int64_t kind, const Sizes& from, const Sizes& to,
                  double size, bool filled, const std::string& text) {
                Canvas canvas(width, height, {});
                switch (static_cast<uint64_t>(kind) % 5) {
                  case 0:
                    canvas.line(from[0], from[1], to[0], to[1], {1, 2, 3}, size);
                    break;
                  case 1:
                    canvas.rectangle(from[0], from[1], to[0], to[1], {1, 2, 3}, filled);
                    break;
                  case 2:
                    canvas.circle(from[0], from[1], size, {1, 2, 3}, filled);
                    break;
                  case 3:
                    canvas.text(text, from[0], from[1], size, {1, 2, 3});
                    break;
                  default: {
                    const std::pair<double, double> points[] = {{from[0], from[1]}, {to[0], to[1]}};
                    canvas.polyline(points, {1, 2, 3}, size);
                  }
                }
                return canvas.image();
              }),
          of(
              "Canvas::picture",
              +[](int x, int y, int width, int height, const T& image) {
                Canvas canvas(20, 10, {});
                canvas.picture(image, x, y, width, height);
                return canvas.image();
              }),
      });
}

}  // namespace aorta::siege
