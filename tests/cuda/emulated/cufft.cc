// cuFFT: transforms of lines by their definition, in f64, and the rules for plans.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/library_work.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <cufftXt.h>

#include <cmath>
#include <cstring>
#include <deque>

using namespace aorta::emulated;

namespace {

constexpr const char* kPage = "docs.nvidia.com/cuda/cufft, cuFFT API Reference";
constexpr size_t kWorkspace = 4096;

struct Numbers {
  cudaDataType type;
  long long step, between;
  bool is_complex() const { return type == CUDA_C_32F || type == CUDA_C_64F; }
};

struct Plan {
  int device = 0;
  bool made = false, destroyed = false, automatic = true;
  long long n = 0, batch = 0;
  Numbers in = {}, out = {};
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;

  long long length(const Numbers& numbers) const {
    return in.is_complex() == out.is_complex() || !numbers.is_complex() ? n : n / 2 + 1;
  }
  size_t bytes(const Numbers& numbers) const {
    const long long last = (length(numbers) - 1) * numbers.step + (batch - 1) * numbers.between;
    return static_cast<size_t>(last + 1) * number_bytes(numbers.type);
  }
};

// A plan's handle is its place, and never given out twice.
std::deque<Plan>& plans() {
  static auto* all = new std::deque<Plan>(1);
  return *all;
}

cufftResult refuse(const char* name, const std::string& rule, const std::string& got,
                   cufftResult result = CUFFT_INVALID_VALUE) {
  report(name, rule, got, kPage);
  return result;
}

template <class Body>
cufftResult cufft_call(const char* name, const Body& body) {
  if (closed() != cudaSuccess) return CUFFT_SETUP_FAILED;
  const MachineLock lock;
  if (begin_call(name) != cudaSuccess) return CUFFT_INTERNAL_ERROR;
  return body();
}

template <class Body>
cufftResult plan_call(const char* name, cufftHandle handle, bool made, const Body& body) {
  return cufft_call(name, [&] {
    const bool known = handle > 0 && static_cast<size_t>(handle) < plans().size();
    if (!known || plans()[static_cast<size_t>(handle)].destroyed ||
        (made && !plans()[static_cast<size_t>(handle)].made)) {
      return refuse(name, "the plan is one that was made, and not destroyed",
                    std::to_string(handle), CUFFT_INVALID_PLAN);
    }
    return body(plans()[static_cast<size_t>(handle)]);
  });
}

void transform(const Plan& plan, void* in, void* out, int direction) {
  if (plan.workspace) std::memset(plan.workspace, 0xa5, kWorkspace);
  const long long n = plan.n;
  const bool halved = plan.in.is_complex() && !plan.out.is_complex();
  std::vector<std::complex<double>> turns, line, results;
  for (long long k = 0; k < n; ++k)
    turns.push_back(
        std::polar(1.0, direction * 2 * M_PI * static_cast<double>(k) / static_cast<double>(n)));
  for (long long b = 0; b < plan.batch; ++b) {
    line.assign(static_cast<size_t>(n), 0);
    for (long long j = 0; j < plan.length(plan.in); ++j) {
      const auto value = load_number(in, plan.in.type, b * plan.in.between + j * plan.in.step);
      line[static_cast<size_t>(j)] = value;
      if (halved && j > 0) line[static_cast<size_t>(n - j)] = std::conj(value);
    }
    results.assign(static_cast<size_t>(plan.length(plan.out)), 0);
    for (long long k = 0; k < plan.length(plan.out); ++k) {
      for (long long j = 0; j < n; ++j)
        results[static_cast<size_t>(k)] +=
            line[static_cast<size_t>(j)] * turns[static_cast<size_t>(j * k % n)];
    }
    for (long long k = 0; k < plan.length(plan.out); ++k)
      store_number(out, plan.out.type, b * plan.out.between + k * plan.out.step,
                   results[static_cast<size_t>(k)]);
  }
  // A spectrum is no more what it was.
  if (halved) std::memset(in, 0xa5, plan.bytes(plan.in));
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* plan) {
  return cufft_call("cufftCreate", [&] {
    *plan = static_cast<int>(plans().size());
    plans().push_back({.device = current_device()});
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftDestroy(cufftHandle handle) {
  return plan_call("cufftDestroy", handle, false, [](Plan& plan) {
    plan.destroyed = true;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic) {
  return plan_call("cufftSetAutoAllocation", handle, false, [&](Plan& plan) {
    plan.automatic = automatic != 0;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long* n, long long* in_sizes,
                                long long in_step, long long in_between, cudaDataType in_type,
                                long long* out_sizes, long long out_step, long long out_between,
                                cudaDataType out_type, long long batch, size_t* workspace,
                                cudaDataType compute_type) {
  const char* const name = "cufftXtMakePlanMany";
  return plan_call(name, handle, false, [&](Plan& plan) {
    const Numbers in{in_type, in_step, in_between}, out{out_type, out_step, out_between};
    const bool wide = compute_type == CUDA_C_64F;
    const size_t item = wide ? 8 : 4;
    const auto suits = [&](const Numbers& numbers) {
      return number_bytes(numbers.type) == (numbers.is_complex() ? 2 * item : item);
    };
    if (rank != 1 || !in_sizes || !out_sizes || *n < 1 || batch < 1 || plan.made ||
        (!in.is_complex() && !out.is_complex()) || !suits(in) || !suits(out)) {
      return refuse(name, "a plan is made once, of lines of numbers that have its precision",
                    std::to_string(rank) + " dimensions, " + std::to_string(*n) + " numbers, " +
                        std::to_string(in_type) + " to " + std::to_string(out_type),
                    CUFFT_INVALID_SIZE);
    }
    plan.made = true;
    plan.n = *n;
    plan.batch = batch;
    plan.in = in;
    plan.out = out;
    *workspace = kWorkspace;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return plan_call("cufftSetStream", handle, true, [&](Plan& plan) {
    plan.stream = stream;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* workspace) {
  return plan_call("cufftSetWorkArea", handle, true, [&](Plan& plan) {
    plan.workspace = workspace;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftXtExec(cufftHandle handle, void* in, void* out, int direction) {
  const char* const name = "cufftXtExec";
  return plan_call(name, handle, true, [&](const Plan& plan) {
    const bool halved = plan.in.is_complex() != plan.out.is_complex();
    if (halved && (direction == CUFFT_FORWARD) != plan.out.is_complex())
      return refuse(name, "a direction that the plan's types have", std::to_string(direction));
    const Numbers& spectrum = plan.in.is_complex() ? plan.in : plan.out;
    for (const void* data : {static_cast<const void*>(in), static_cast<const void*>(out)}) {
      if (reinterpret_cast<uintptr_t>(data) % number_bytes(spectrum.type) != 0)
        return refuse(name, "numbers are aligned as complex ones",
                      "..." + std::to_string(reinterpret_cast<uintptr_t>(data) % 256));
    }
    if (in == out) return refuse(name, "this double transforms out of place", "one place");
    std::vector<Span> spans = {{in, plan.bytes(plan.in), Access::read},
                               {out, plan.bytes(plan.out), Access::write}};
    if (plan.workspace || !plan.automatic)
      spans.push_back({plan.workspace, kWorkspace, Access::write});
    if (plan.in.is_complex() && halved) spans.push_back({in, plan.bytes(plan.in), Access::write});
    const std::string rule =
        queue_work(name, kPage, plan.stream, plan.device, std::move(spans),
                   [plan, in, out, direction] { transform(plan, in, out, direction); });
    return rule.empty() ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
  });
}
}
