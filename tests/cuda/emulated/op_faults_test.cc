// Each call that an op makes fails in turn, for every op of the catalogue and its gradient: the
// error's line begins with the op's name. No list says which calls an op makes, or what it is
// called.
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/tensor.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/gradient_checks.h>
#include <aorta/tests/op_kernels.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

extern "C" const char* aorta_register_cuda();

namespace aorta::catalog {
namespace {

std::string op_of(const std::string& error) { return error.substr(0, error.find(": ")); }

class OpFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override { emulated::Streams::get().set_mode(emulated::Mode::lazy); }
  void TearDown() override {
    emulated::inject_nothing();
    synchronize("cuda:0");
  }
  int failed_ = 0;

  /// `work` with each of its calls failing, at the first and the last time.
  void fail_calls(const std::function<void()>& work, const std::set<std::string>& names) {
    work();  // what is kept from then on is there
    emulated::take_calls();
    work();
    const DeviceBackend* gpu = &backend(DeviceType::cuda);
    const int64_t in_use = const_cast<DeviceBackend*>(gpu)->memory_stats(0).bytes_in_use;
    for (const auto& [call, count] : emulated::take_calls()) {
      for (const int nth : std::set<int>{1, count}) {
        SCOPED_TRACE(call + " " + std::to_string(nth) + " of " + std::to_string(count));
        emulated::inject(call, nth, cudaErrorStreamCaptureUnsupported);
        const std::string text = error_of(work);
        emulated::inject_nothing();
        EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "left for the next launch";
        cudaGetLastError();
        backend(DeviceType::cuda).set_current_device(0);
        EXPECT_EQ(backend(DeviceType::cuda).memory_stats(0).bytes_in_use, in_use);
        if (text == kNoError) continue;  // an answer, and no error: whether an event is done
        ++failed_;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_TRUE(names.contains(op_of(text))) << text;
      }
    }
    EXPECT_EQ(error_of(work), kNoError) << "the next step";
  }
};

Tensors on_device(const Sample& sample) {
  Tensors inputs;
  for (const Tensor& input : sample.inputs) inputs.push_back(input.to("cuda:0"));
  return inputs;
}

}  // namespace

namespace {

/// The row's own name, and those of what its calls run.
std::set<std::string> names_of(const Row& row, const Sample& sample) {
  // A row of several functions has a call for each, and calls do some things with their inputs
  // themselves.
  std::set<std::string> names{row.op, sample.call->name, "clone", "contiguous", "to"};
  names.insert(row.also.begin(), row.also.end());
  names.insert(row.functions.begin(), row.functions.end());
  // As the function that is called names itself where an operand is missing.
  const Tensors missing(sample.inputs.size());
  names.insert(op_of(error_of([&] { sample.call->run(missing); })));
  return names;
}

/// The call and its gradient, of inputs that are leaves; false where it has none.
bool run_with_gradient(const Call& call, const Tensors& inputs) {
  Tensors leaves;
  for (const Tensor& input : inputs) {
    const bool floating = input.defined() && is_floating(input.dtype());
    leaves.push_back(floating ? input.detach().requires_grad_() : input);
  }
  bool any = false;
  for (const Tensor& output : call.run(leaves)) {
    if (!output.defined() || !output.requires_grad()) continue;
    output.backward(output.detach(), true);
    any = true;
  }
  return any;
}

/// body(sample, inputs on the device, names that its errors may begin with) of each op's first
/// call.
template <class Body>
void each_op(const Body& body) {
  for (const Row& row : rows()) {
    if (row.calls.empty() || !missing_kernel(row, DeviceType::cuda).empty()) continue;
    if (samples(row).empty()) continue;
    SCOPED_TRACE(row.op);
    const Sample& sample = samples(row).front();
    body(sample, on_device(sample), names_of(row, sample));
  }
}

}  // namespace

TEST_F(OpFaults, EachErrorBeginsWithItsOp) {
  int ops = 0;
  each_op([&](const Sample& sample, const Tensors& inputs, const std::set<std::string>& names) {
    const int before = failed_;
    fail_calls([&] { sample.call->run(inputs); }, names);
    ops += failed_ > before;
  });
  EXPECT_GT(ops, 150);
  RecordProperty("ops", ops);
  RecordProperty("failed", failed_);
}

// A stream that has no memory yet asks the machine for each piece, and the machine has no more.
TEST_F(OpFaults, MemoryThatLacksIsNamedByTheOpThatWantsIt) {
  DeviceBackend& gpu = backend(DeviceType::cuda);
  int ops = 0;
  each_op([&](const Sample& sample, const Tensors& inputs, const std::set<std::string>& names) {
    sample.call->run(inputs);
    synchronize("cuda:0");
    gpu.empty_cache();
    const Stream stream = gpu.create_stream(0);
    gpu.set_current_stream(stream);
    emulated::inject("cudaMalloc", 0, cudaErrorMemoryAllocation);
    const std::string text = error_of([&] { sample.call->run(inputs); });
    emulated::inject_nothing();
    gpu.set_current_stream({Device("cuda:0"), nullptr});
    gpu.destroy_stream(stream);
    if (text == kNoError) return;  // it writes in place, or gives a view
    ++ops;
    EXPECT_TRUE(names.contains(op_of(text))) << text;
    EXPECT_NE(text.find(": cuda:0 has no more memory, got "), std::string::npos) << text;
    EXPECT_NE(text.find(" in use, "), std::string::npos) << text;
  });
  EXPECT_GT(ops, 150);
}

// Within a gradient it is the name of an op: nobody says which ones run there, some write in place,
// and some look at a value, for which the host copies.
TEST_F(OpFaults, EachErrorOfAGradientBeginsWithAnOp) {
  std::set<std::string> known{"copy", "item"};
  const auto know = [&](std::string name) {  // in both forms
    if (name.ends_with('_')) name.pop_back();
    known.insert({name, name + "_"});
  };
  for (const kernel::OpRow* op = kernel::first_op(); op; op = op->next()) know(op->name());
  for (const Row& row : rows()) {
    know(row.op);
    for (const std::string& function : row.functions) know(function);
  }
  int ops = 0;
  for (const Row& row : rows()) {
    if (row.calls.empty() || !missing_kernel(row, DeviceType::cuda).empty()) continue;
    if (samples(row).empty() || row.derivative != Derivative::exists) continue;
    SCOPED_TRACE(row.op);
    const Sample& sample = samples(row).front();
    const Tensors inputs = on_device(sample);
    bool has = false;
    const std::string problem = error_of([&] { has = run_with_gradient(*sample.call, inputs); });
    if (!has || problem != kNoError) continue;  // no gradient here, or one without a kernel
    std::set<std::string> names = names_of(row, sample);
    names.insert(known.begin(), known.end());
    fail_calls([&] { run_with_gradient(*sample.call, inputs); }, names);
    ++ops;
  }
  EXPECT_GT(ops, 100);
}

}  // namespace aorta::catalog
