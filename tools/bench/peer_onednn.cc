// The one file outside core/cpu/onednn.* that speaks to oneDNN: it is a peer here.
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tools/bench/sides.h>
#include <fmt/format.h>
#include <dnnl.hpp>

#include <memory>

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
                const double start = now();
                for (int64_t i = 0; i < repetitions; ++i) matmul->run();
                return now() - start;
              },
          .values =
              [=] {
                const Threads limit(threads);
                matmul->run();
                return sample(matmul->out);
              }};
}

}  // namespace

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
