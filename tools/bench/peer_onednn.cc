// The one file outside core/cpu/onednn.* that speaks to oneDNN: it is a peer here.
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tools/bench/sides.h>
#include <fmt/format.h>
#include <dnnl.hpp>

#include <memory>
#include <tuple>
#include <unordered_map>

namespace aorta::bench {
namespace {

using dnnl::memory;

// Runs on a pool of `threads` and gives the pool back.
class Threads {
 public:
  explicit Threads(int threads) : before_(get_num_threads()) { set_num_threads(threads); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

struct MatmulSizes {
  int64_t m, k, n;
};

// A matmul primitive on row-major operands; `packed` lets oneDNN choose the order of the second.
struct Matmul {
  Matmul(const MatmulSizes& sizes, const Tensor& a_tensor, const Tensor& b_tensor, bool packed)
      : engine(dnnl::engine::kind::cpu, 0),
        stream(engine),
        a(a_tensor),
        b(b_tensor),
        out(empty({sizes.m, sizes.n}, {.dtype = a_tensor.dtype()})) {
    const auto type = a.dtype() == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
    const auto desc = [&](int64_t rows, int64_t columns, memory::format_tag tag) {
      return memory::desc({rows, columns}, type, tag);
    };
    const auto plain = memory::format_tag::ab;
    const auto b_desc = desc(sizes.k, sizes.n, packed ? memory::format_tag::any : plain);
    const dnnl::matmul::primitive_desc chosen(
        {desc(sizes.m, sizes.k, plain), b_desc, desc(sizes.m, sizes.n, plain)}, engine);
    matmul = dnnl::matmul(chosen);
    memory b_plain(desc(sizes.k, sizes.n, plain), engine, b.data());
    memory b_used = b_plain;
    if (chosen.weights_desc() != b_plain.get_desc()) {
      b_used = memory(chosen.weights_desc(), engine);
      dnnl::reorder(b_plain, b_used).execute(stream, b_plain, b_used);
      stream.wait();
    }
    arguments = {{DNNL_ARG_SRC, memory(chosen.src_desc(), engine, a.data())},
                 {DNNL_ARG_WEIGHTS, b_used},
                 {DNNL_ARG_DST, memory(chosen.dst_desc(), engine, out.data())}};
  }

  void run() {
    matmul.execute(stream, arguments);
    stream.wait();
  }

  dnnl::engine engine;
  dnnl::stream stream;
  Tensor a, b, out;
  dnnl::matmul matmul;
  std::unordered_map<int, memory> arguments;
};

Side matmul_side(const std::string& name, const std::shared_ptr<Matmul>& matmul, int threads) {
  return {.name = name,
          .run =
              [=](int64_t repetitions) {
                const Threads limit(threads);
                const double start = seconds_now();
                for (int64_t i = 0; i < repetitions; ++i) matmul->run();
                return seconds_now() - start;
              },
          .values =
              [=] {
                const Threads limit(threads);
                matmul->run();
                return sample(matmul->out);
              }};
}

// One shape's three primitives, their memory and plain copies of what they compute.
class Convolution {
 public:
  Convolution(const ConvolutionShape& shape, int64_t batch, DType dtype,
              const ConvolutionParts& wanted, bool blocked)
      : parts_(wanted),
        operands_(shape, batch, dtype),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_) {
    using dnnl::algorithm, dnnl::prop_kind;
    using tag = memory::format_tag;
    parts_.input &= !shape.of_image;
    const auto type = dtype == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
    const memory::dims x_size{batch, shape.in, shape.size, shape.size};
    const memory::dims y_size{batch, shape.out, shape.output, shape.output};
    const int64_t into = shape.in / shape.groups, k = shape.kernel;
    memory::dims w_size{shape.out, into, k, k}, w_strides{k * k * into, 1, k * into, into};
    if (shape.groups > 1) {
      const int64_t out = shape.out / shape.groups;
      w_size = {shape.groups, out, into, k, k};
      w_strides.insert(w_strides.begin(), out * k * k * into);
    }
    const memory::dims stride{shape.stride, shape.stride}, pad{shape.padding, shape.padding};
    const memory::dims dilation{shape.dilation - 1, shape.dilation - 1};
    const tag maps = blocked ? tag::any : tag::nhwc;
    const memory::desc x(x_size, type, maps), y(y_size, type, maps), w(w_size, type, tag::any);
    const dnnl::convolution_forward::primitive_desc forward(
        {prop_kind::forward_training, algorithm::convolution_direct, x, w, y, stride, dilation, pad,
         pad},
        engine_);
    const memory plain_x({x_size, type, tag::nhwc}, engine_, operands_.x.data());
    const memory plain_y({y_size, type, tag::nhwc}, engine_, operands_.y.data());
    const memory::desc w_plain(w_size, type, w_strides);
    const memory plain_w(w_plain, engine_, operands_.w.data());
    if (parts_.forward) {
      add(dnnl::convolution_forward(forward), DNNL_ARG_DST, forward.dst_desc(),
          {y_size, type, tag::nhwc}, operands_.y,
          {{DNNL_ARG_SRC, laid_out(plain_x, forward.src_desc())},
           {DNNL_ARG_WEIGHTS, laid_out(plain_w, forward.weights_desc())}});
    }
    if (parts_.input) {
      const dnnl::convolution_backward_data::primitive_desc chosen(
          {algorithm::convolution_direct, x, w, y, stride, dilation, pad, pad}, engine_, forward);
      add(dnnl::convolution_backward_data(chosen), DNNL_ARG_DIFF_SRC, chosen.diff_src_desc(),
          {x_size, type, tag::nhwc}, operands_.x,
          {{DNNL_ARG_DIFF_DST, laid_out(plain_y, chosen.diff_dst_desc())},
           {DNNL_ARG_WEIGHTS, laid_out(plain_w, chosen.weights_desc())}});
    }
    if (parts_.weight) {
      const dnnl::convolution_backward_weights::primitive_desc chosen(
          {algorithm::convolution_direct, x, w, y, stride, dilation, pad, pad}, engine_, forward);
      add(dnnl::convolution_backward_weights(chosen), DNNL_ARG_DIFF_WEIGHTS,
          chosen.diff_weights_desc(), w_plain, operands_.w,
          {{DNNL_ARG_DIFF_DST, laid_out(plain_y, chosen.diff_dst_desc())},
           {DNNL_ARG_SRC, laid_out(plain_x, chosen.src_desc())}});
    }
  }

  void run() {
    for (Step& step : steps_) step.primitive.execute(stream_, step.arguments);
    stream_.wait();
  }
  // Adds what the last run computed.
  void add_values(std::vector<double>& values) {
    for (Step& step : steps_) {
      const Tensor plain = empty_like(step.like);
      memory target(step.plain, engine_, plain.data());
      memory& result = step.arguments.at(step.result);
      dnnl::reorder(result, target).execute(stream_, result, target);
      stream_.wait();
      for (const double x : sample(plain)) values.push_back(x);
    }
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
    int result;
    memory::desc plain;
    Tensor like;
  };

  memory laid_out(const memory& plain, const memory::desc& wanted) {
    memory result(wanted, engine_);
    memory source = plain;
    dnnl::reorder(source, result).execute(stream_, source, result);
    stream_.wait();
    return result;
  }
  void add(const dnnl::primitive& primitive, int result, const memory::desc& desc,
           const memory::desc& plain, const Tensor& like,
           std::unordered_map<int, memory> arguments) {
    arguments[result] = memory(desc, engine_);
    steps_.push_back({primitive, std::move(arguments), result, plain, like});
  }

  ConvolutionParts parts_;
  ConvolutionOperands operands_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Step> steps_;
};

}  // namespace

Side onednn_convolution_side(const std::vector<ConvolutionShape>& shapes, int64_t batch,
                             DType dtype, const ConvolutionParts& parts, bool blocked) {
  const std::string name = blocked ? "oneDNN blocked" : "oneDNN channels_last";
  using Part = std::pair<Convolution, int64_t>;
  auto all = std::make_shared<std::vector<std::unique_ptr<Part>>>();
  try {
    for (const ConvolutionShape& shape : shapes) {
      all->push_back(std::make_unique<Part>(
          std::piecewise_construct, std::forward_as_tuple(shape, batch, dtype, parts, blocked),
          std::forward_as_tuple(shape.count)));
    }
  } catch (const dnnl::error& error) {
    return {.name = name, .missing = error.what()};
  }
  const auto run = [all] {
    for (const std::unique_ptr<Part>& part : *all) {
      for (int64_t i = 0; i < part->second; ++i) part->first.run();
    }
  };
  return {.name = name,
          .run =
              [run](int64_t repetitions) {
                const double start = seconds_now();
                for (int64_t i = 0; i < repetitions; ++i) run();
                return seconds_now() - start;
              },
          .values =
              [run, all] {
                run();
                std::vector<double> values;
                for (const std::unique_ptr<Part>& part : *all) part->first.add_values(values);
                return values;
              }};
}

Side onednn_sgemm_side(int64_t n) {
  const Tensor a = make({n, n}, -1, 1, 1), b = make({n, n}, -1, 1, 2), c = empty({n, n});
  const auto gemm = [=] {
    const auto status = dnnl_sgemm('N', 'N', n, n, n, 1, a.data<float>(), n, b.data<float>(), n, 0,
                                   c.data<float>(), n);
    check(status == dnnl_success, "dnnl_sgemm", "success", static_cast<int64_t>(status));
    return c;
  };
  Side side = aorta_side(gemm);
  side.name = "oneDNN sgemm";
  return side;
}

Side onednn_bf16_side(int64_t n) {
  const Tensor a = make({n, n}, -1, 1, 1, DType::bf16), b = make({n, n}, -1, 1, 2, DType::bf16);
  try {
    return matmul_side("oneDNN matmul", std::make_shared<Matmul>(MatmulSizes{n, n, n}, a, b, false),
                       get_num_threads());
  } catch (const dnnl::error& error) {
    return {.name = "oneDNN matmul", .missing = error.what()};
  }
}

Side onednn_packed_side(int64_t m, int64_t k, int64_t n) {
  const Threads limit(1);
  const Tensor a = make({m, k}, -1, 1, 1), b = make({k, n}, -1, 1, 2);
  return matmul_side("oneDNN packed", std::make_shared<Matmul>(MatmulSizes{m, k, n}, a, b, true),
                     1);
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace aorta::bench
