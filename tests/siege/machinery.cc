#include <aorta/autograd/anomaly.h>
#include <aorta/autograd/backward.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/dot.h>
#include <aorta/autograd/function.h>
#include <aorta/autograd/functional.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/gradcheck.h>
#include <aorta/autograd/saved.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dlpack.h>
#include <aorta/core/eigen.h>
#include <aorta/core/finfo.h>
#include <aorta/core/io/load_save.h>
#include <aorta/core/io/npy.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/io/safetensors.h>
#include <aorta/core/io/state.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/linalg_norms.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/stft.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/thread_limit.h>
#include <aorta/distributions/distributions.h>

#include <aorta/tests/siege/targets.h>

#include <unistd.h>

#include <atomic>
#include <filesystem>

// What is below ops and around them: shapes, numbers, threads, files, checkpoints, hooks, checks of
// gradients, constraints and transforms.
namespace aorta::siege {
namespace {

using T = Tensor;

T numbers_of(const Dims& dims) { return tensor(std::vector<int64_t>(dims.begin(), dims.end())); }
T size_of(const std::string& text) { return full({}, static_cast<int64_t>(text.size())); }

/// A file that goes with the scope.
class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::temp_directory_path() /
              ("aorta_siege." + std::to_string(getpid()))) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string path(const char* suffix) {
    path_ += suffix;
    return path_.string();
  }

 private:
  std::filesystem::path path_;
};

/// Gives back whatever gradients it is told to.
struct Given : autograd::Function<Given> {
  static constexpr const char* name = "given";
  static Tensors forward(autograd::FunctionContext& context, const T& x, const T& gradient,
                         int64_t count) {
    context.save_for_backward({x, gradient});
    context.data["count"] = count;
    return {x * 2, x + 1};
  }
  static Tensors backward(autograd::FunctionContext& context, const Tensors& gradients) {
    const auto count = static_cast<uint64_t>(context.get<int64_t>("count")) % 4;
    Tensors all(count, context.saved_tensors().at(1));
    if (!all.empty()) all[0] = gradients[0];
    return all;
  }
};

void add_shapes_and_threads(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of(
              "contiguous_strides",
              +[](const Dims& shape) { return numbers_of(contiguous_strides(shape)); }),
          of(
              "channels_last_strides",
              +[](const Dims& shape) { return numbers_of(channels_last_strides(shape)); }),
          of(
              "dense_strides",
              +[](const Dims& shape, const Dims& strides) {
                return numbers_of(dense_strides(shape, strides));
              }),
          of(
              "checked_extent",
              +[](const Dims& shape, const Dims& strides, int64_t size) {
                return full({}, checked_extent("checked_extent", shape, strides, size));
              }),
          of(
              "wrap_dim",
              +[](int64_t dim, int64_t ndim) {
                return full({}, wrap_dim("wrap_dim", dim, static_cast<int>(ndim % 13)));
              }),
          of(
              "wrap_dims",
              +[](const Dims& dims, int64_t ndim) {
                return numbers_of(wrap_dims("wrap_dims", dims, static_cast<int>(ndim % 13)));
              }),
          of(
              "broadcast_shapes",
              +[](const Dims& a, const Dims& b) {
                return numbers_of(broadcast_shapes("broadcast_shapes", a, b));
              }),
          of(
              "check_fits",
              +[](const Scalar& number, DType dtype, DType other) {
                check_fits("check_fits", number, promote(dtype, other));
                check_floating("check_floating", dtype);
                check(is_complex(complex_dtype(dtype)), "complex_dtype", "it must be complex",
                      dtype);
                check(can_cast(dtype, other) || is_half(dtype) || is_integral(dtype), "can_cast",
                      "one must hold", item_size(dtype));
                return full({}, fits(number, other));
              }),
          of(
              "finfo",
              +[](DType dtype) {
                const FloatInfo numbers = finfo(dtype);
                return full({}, numbers.max * numbers.eps);
              }),
          of(
              "iinfo",
              +[](DType dtype) {
                const IntInfo numbers = iinfo(dtype);
                return full({}, numbers.max);
              }),
          of(
              "is_channels_last", +[](const T& x) { return full({}, is_channels_last(x)); }),
          of(
              "parallel_for",
              +[](int64_t begin, int64_t count, int64_t grain, int64_t threads) {
                const ThreadLimit limit(static_cast<int>(threads));
                std::atomic<int64_t> done = 0;
                const int64_t first = begin % 1000000;
                parallel_for(first, first + count % 1000, grain,
                             [&](int64_t from, int64_t to) { done += to - from; });
                return full({}, done.load());
              }),
          of(
              "set_num_threads",
              +[](int64_t count) {
                const int before = get_num_threads();
                set_num_threads(static_cast<int>(count));
                const int got = get_num_threads();
                set_num_threads(before);
                return full({}, got);
              }),
          of(
              "eigvalsh", +[](const T& a, bool up) { return linalg::eigvalsh(a, up ? "U" : "L"); }),
          of(
              "eigvalsh of another triangle",
              +[](const T& a, const std::string& text) {
                return linalg::eigvalsh(a, text.c_str());
              }),
          of(
              "fft of a length",
              +[](const T& x, std::optional<int64_t> n, int64_t dim, const std::string& norm) {
                return fft::fft(x, n, dim, norm.c_str());
              }),
          of(
              "rfft of a length",
              +[](const T& x, std::optional<int64_t> n, int64_t dim) {
                return fft::irfft(fft::rfft(x, n, dim), n, dim);
              }),
          of(
              "fftn of lengths",
              +[](const T& x, const Dims& s, const Dims& dim, bool inverse) {
                return inverse ? fft::irfftn(x, s, dim) : fft::fftn(x, s, dim);
              }),
          of(
              "stft with options",
              +[](const T& x, const T& window, int64_t n_fft, std::optional<int64_t> hop,
                  std::optional<int64_t> length, bool center, bool normalized) {
                return stft(x, n_fft,
                            {.hop_length = hop,
                             .win_length = length,
                             .window = window,
                             .center = center,
                             .normalized = normalized});
              }),
          of(
              "istft with options",
              +[](const T& x, const T& window, int64_t n_fft, std::optional<int64_t> hop,
                  bool center, std::optional<int64_t> length) {
                return istft(
                    x, n_fft,
                    {.hop_length = hop, .window = window, .center = center, .length = length});
              }),
          of(
              "view_as_complex of any layout",
              +[](const T& x) { return x.is_complex() ? view_as_real(x) : view_as_complex(x); }),
          of(
              "vector_norm",
              +[](const T& x, double ord, const ReduceDims& dims, bool keepdim) {
                return linalg::vector_norm(x, ord, dims, keepdim);
              }),
          of(
              "eigen_matrix",
              +[](const T& x, const T& y) {
                auto matrix = eigen_matrix<float>(x);
                auto vector = eigen_vector<float>(y);
                return Tensors{from_eigen(matrix).clone(), from_eigen(vector).clone()};
              }),
          of(
              "DeviceGuard",
              +[](Device device) {
                const DeviceGuard guard(device);
                synchronize(device);
                return full({}, current_device(device.type).index + device_count(device.type));
              }),
      });
}

void add_files(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of(
              "to_dlpack",
              +[](const T& x, bool none) { return from_dlpack(none ? nullptr : to_dlpack(x)); }),
          of(
              "save",
              +[](const T& x, const T& y, const std::string& name, int64_t format) {
                static constexpr const char* kFormats[] = {".npy", ".npz", ".safetensors", ".zz"};
                TemporaryFile file;
                const std::string path = file.path(kFormats[static_cast<uint64_t>(format) % 4]);
                save(NamedTensors{{"x", x}, {name, y}}, path);
                return load(path).at(0).second;
              }),
          of(
              "npy::save",
              +[](const T& x) {
                TemporaryFile file;
                const std::string path = file.path(".npy");
                npy::save(x, path);
                return npy::load(path);
              }),
          of(
              "npz::save",
              +[](const T& x, const T& y, const std::string& name, bool compress) {
                TemporaryFile file;
                const std::string path = file.path(".npz");
                npz::save({{"x", x}, {name, y}}, path, compress);
                return npz::load(path).at(0).second;
              }),
          of(
              "safetensors::save",
              +[](const T& x, const T& y, const std::string& name) {
                TemporaryFile file;
                const std::string path = file.path(".safetensors");
                safetensors::save({{"x", x}, {name, y}}, path, {{name, name}});
                return safetensors::load(path).at(0).second;
              }),
          of(
              "State",
              +[](const T& x, double number, const std::string& name, const std::string& other) {
                State state;
                state.set(name, x);
                state.set("number", number);
                state.add(other, state);
                TemporaryFile file;
                const std::string path = file.path(".state");
                state.save(path);
                const State loaded = State::load(path);
                loaded.check_names(state.names());
                return Tensors{loaded.tensor(name), full({}, loaded.get<double>(other))};
              }),
      });
}

void add_autograd(std::vector<Target>& targets) {
  using namespace autograd;
  targets.insert(targets.end(),
                 {
                     of(
                         "checkpoint",
                         +[](const T& x, const T& y, bool empty) {
                           std::function<T(const T&)> function;
                           if (!empty) function = [y](const T& given) { return given * y; };
                           return checkpoint(function, x);
                         }),
                     of(
                         "checkpoint of several",
                         +[](const Tensors& all, bool empty) {
                           std::function<Tensors()> function;
                           if (!empty) function = [all] { return all; };
                           return checkpoint(function);
                         }),
                     of(
                         "gradcheck",
                         +[](const Tensors& inputs, double step, double atol, double rtol,
                             bool full_jacobian, bool vacuous) {
                           const GradcheckOptions options{.step = step,
                                                          .atol = atol,
                                                          .rtol = rtol,
                                                          .full_jacobian = full_jacobian,
                                                          .allow_vacuous = vacuous};
                           const auto f = [](const Tensors& x) {
                             return x.empty() ? Tensors() : Tensors{x[0] * x.back()};
                           };
                           const bool first = static_cast<bool>(gradcheck(f, inputs, options));
                           return full({}, first && gradgradcheck(f, inputs, options));
                         }),
                     of(
                         "jacobian",
                         +[](const T& x, const T& y, bool create_graph) {
                           const functional::FunctionalOptions options{create_graph};
                           const auto f = [y](const T& given) { return given * given * y; };
                           return Tensors{functional::jacobian(f, x, options),
                                          functional::hessian(f, x, options)};
                         }),
                     of(
                         "products with vectors",
                         +[](const Tensors& inputs, const Tensors& v, const T& one, bool empty) {
                           const auto f = [](const Tensors& x) {
                             return x.empty() ? Tensors() : Tensors{x[0] * x.back()};
                           };
                           const auto g = [](const T& x) { return square(x).sum(); };
                           functional::OneTensorFunction none;
                           Tensors all = functional::vjp(f, inputs, v).second;
                           for (const T& t : functional::jvp(f, inputs, v).second) all.push_back(t);
                           all.push_back(functional::vhp(empty ? none : g, one, one).second);
                           all.push_back(functional::hvp(g, one, one).second);
                           return all;
                         }),
                     of(
                         "DetectAnomaly",
                         +[](const T& x, const T& gradient) {
                           const DetectAnomaly detect;
                           const T leaf = x.detach().clone().requires_grad_();
                           const T y = log(leaf);
                           y.backward(gradient);
                           return leaf.grad();
                         }),
                     of(
                         "SavedTensorsHooks",
                         +[](const T& x, const T& other, int64_t which) {
                           const T leaf = x.detach().clone().requires_grad_();
                           std::function<std::any(const T&)> pack;
                           std::function<T(const std::any&)> unpack;
                           if (which % 3 != 0)
                             pack = [](const T& saved) { return std::any(saved); };
                           if (which % 5 != 0) unpack = [other](const std::any&) { return other; };
                           const SavedTensorsHooks hooks(pack, unpack);
                           square(leaf).sum().backward();
                           return leaf.grad();
                         }),
                     of(
                         "Tensor::register_hook",
                         +[](const T& x, const T& other, bool empty) {
                           const T leaf = x.detach().clone().requires_grad_();
                           std::function<T(const T&)> hook;
                           if (!empty) hook = [other](const T&) { return other; };
                           HookHandle handle = leaf.register_hook(hook);
                           (leaf * 2).sum().backward();
                           handle.remove();
                           handle.remove();
                           return leaf.grad();
                         }),
                     of(
                         "to_dot",
                         +[](const T& x, const std::string& name, const T& named) {
                           // A copy has another graph.
                           return size_of(to_dot(x, {{name, named}}).substr(0, 7));
                         }),
                     of(
                         "Autocast",
                         +[](const T& x, const T& y, DType dtype) {
                           const Autocast scope(dtype);
                           return matmul(autocast_to_half(x), autocast_to_f32(y));
                         }),
                     of(
                         "Profiler",
                         +[](const T& x, const T& y) {
                           Profiler profiler;
                           const ProfilerRange range("product", {&x, &y});
                           matmul(x, y);
                           return full({}, profiler.table().empty());
                         }),
                 });
}

void add_gradients(std::vector<Target>& targets) {
  using namespace autograd;
  targets.insert(targets.end(), {
                                    of(
                                        "Function",
                                        +[](const T& x, const T& gradient, int64_t count) {
                                          const T leaf = x.detach().clone().requires_grad_();
                                          Given::apply(leaf, gradient, count)[0].sum().backward();
                                          return leaf.grad();
                                        }),
                                    of(
                                        "OrderedBackward",
                                        +[](const T& x, const T& gradient) {
                                          const T leaf = x.detach().clone().requires_grad_();
                                          OrderedBackward passes;
                                          passes.backward(0, leaf * 2, gradient);
                                          return Tensors{leaf.grad(), full({}, passes.finished())};
                                        }),
                                    of(
                                        "grad of options",
                                        +[](const Tensors& outputs, const Tensors& inputs,
                                            const Tensors& gradients, bool create, bool unused) {
                                          const GradOptions options{.create_graph = create,
                                                                    .allow_unused = unused};
                                          return grad(outputs, inputs, gradients, options);
                                        }),
                                    of(
                                        "SaveOnCpu",
                                        +[](const T& x, bool pin) {
                                          const T leaf = x.detach().clone().requires_grad_();
                                          const SaveOnCpu hooks(pin);
                                          const EnableGradGuard recording;
                                          square(leaf).sum().backward();
                                          return leaf.grad();
                                        }),
                                });
}

void add_constraints(std::vector<Target>& targets) {
  using namespace distributions;
  targets.insert(
      targets.end(),
      {
          of(
              "constraints",
              +[](const T& x, const T& low, const T& high, int64_t a, int64_t b, int64_t which,
                  int64_t ndims) {
                const Constraint all[] = {constraints::real(),
                                          constraints::positive(),
                                          constraints::nonnegative(),
                                          constraints::unit_interval(),
                                          constraints::interval(low, high),
                                          constraints::boolean(),
                                          constraints::nonnegative_integer(),
                                          constraints::integer_interval(a, b),
                                          constraints::real_vector(),
                                          constraints::simplex(),
                                          constraints::one_hot(),
                                          constraints::lower_cholesky(),
                                          constraints::corr_cholesky(),
                                          constraints::symmetric(),
                                          constraints::positive_definite()};
                const Constraint& one = all[static_cast<uint64_t>(which) % std::size(all)];

                require("constraints", "x", x, one);
                return constraints::independent(one, static_cast<int>(ndims)).check(x);
              }),
          of(
              "ComposeTransform",
              +[](const T& x, const T& y, const T& loc, double scale, int64_t which, bool inverse) {
                const AnyTransform all[] = {AffineTransform(loc, scale), ExpTransform(),
                                            SigmoidTransform(),          TanhTransform(),
                                            SoftplusTransform(),         PowerTransform(scale),
                                            StickBreakingTransform(),    LowerCholeskyTransform(),
                                            PositiveDefiniteTransform(), CorrCholeskyTransform()};
                const AnyTransform& one = all[static_cast<uint64_t>(which) % std::size(all)];
                const IndependentTransform joined(one, static_cast<int>(which % 3));
                const ComposeTransform both(Transforms{joined, SigmoidTransform()});
                return inverse ? both.inverse()(y) : both(x) + both.log_abs_det_jacobian(x, y);
              }),
          of(
              "CatTransform",
              +[](const T& x, const T& y, int64_t dim, const Dims& in, const Dims& out,
                  int64_t length) {
                const int64_t at = dim % 2 == 0 ? -1 : dim;
                const int64_t first = length % 2 == 0 && x.dim() > 0 ? x.size(-1) - 1 : length;
                const CatTransform parts({ExpTransform(), TanhTransform()}, at, {first, 1});
                const StackTransform stacked({ReshapeTransform(in, out), TanhTransform()}, dim);
                const CumulativeDistributionTransform cdf(Normal(y, 1));
                const ComposeTransform all(dim % 4 == 1 ? Transforms{stacked, cdf}
                                                        : Transforms{parts, cdf});
                return all.inv(all(x)) + all.log_abs_det_jacobian(x, y);
              }),
          random_of(
              "LogitRelaxedBernoulli",
              +[](double temperature, const T& p, const T& value) {
                const LogitRelaxedBernoulli d(temperature, {.probs = p});
                return d.log_prob(value) + d.rsample();
              }),
          random_of(
              "MultivariateNormal of several",
              +[](const T& loc, const T& a, const T& b, const T& value) {
                const CovarianceOptions options{.precision_matrix = a, .scale_tril = b};
                return MultivariateNormal(loc, options).log_prob(value);
              }),
      });
}

}  // namespace

void add_machinery(std::vector<Target>& targets) {
  add_shapes_and_threads(targets);
  add_files(targets);
  add_autograd(targets);
  add_gradients(targets);
  add_constraints(targets);
}

}  // namespace aorta::siege
