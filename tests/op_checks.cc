#include <aorta/core/allocator.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/random.h>
#include <aorta/tests/op_checks.h>
#include <aorta/tests/op_kernels.h>
#include <aorta/tests/operand_names.h>
#include <aorta/tests/tolerance.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

namespace aorta::catalog {
namespace {

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};
constexpr int kRefused = 255;

// What PyTorch gives for the sample's first output with inputs of `dtype`, or kRefused.
int expected_dtype(const Sample& sample, size_t output, DType dtype) {
  return sample.dtypes.at<uint8_t>({static_cast<int64_t>(output), static_cast<int64_t>(dtype)});
}

}  // namespace

std::vector<DType> dtypes_of(const Sample& sample) {
  std::vector<DType> result;
  for (DType dtype : kDTypes) {
    if (expected_dtype(sample, 0, dtype) == kRefused) continue;
    bool exact = true;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      exact &= !sample.varied[i] || is_exact(sample.inputs[i], dtype);
    }
    if (exact) result.push_back(dtype);
  }
  return result;
}

Tensors inputs_of(const Sample& sample, DType dtype, Device device) {
  Tensors inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    inputs.push_back(
        sample.inputs[i].to(ToOptions{.dtype = sample.varied[i] ? dtype : sample.inputs[i].dtype(),
                                      .device = device,
                                      .copy = true}));
  }
  return inputs;
}

std::string difference(const Row& row, const Sample& sample, const Tensors& results, DType dtype) {
  if (results.size() != sample.outputs.size())
    return std::to_string(results.size()) + " results, wanted " +
           std::to_string(sample.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string place = "output " + std::to_string(i) + ": ";
    if (!results[i].defined()) return place + "undefined";
    const int wanted = expected_dtype(sample, i, dtype);
    if (wanted < kDTypeCount && wanted != static_cast<int>(results[i].dtype()))
      return place + "dtype " + name(results[i].dtype()) + ", PyTorch's " + std::to_string(wanted);
    const std::string text =
        compare(results[i], sample.outputs[i], sample.scales[i], row.tolerance);
    if (!text.empty()) return place + text;
  }
  return "";
}

namespace {

void expect_result(const Row& row, const Sample& sample, const Tensors& results, DType dtype,
                   Device device) {
  ASSERT_EQ(difference(row, sample, results, dtype), "");
  for (const Tensor& result : results)
    EXPECT_TRUE(result.device() == device || sample.inputs.empty()) << to_string(result.device());
}

// Bytes of a tensor's elements in row-major order.
std::vector<char> bytes_of(const Tensor& tensor) {
  const Tensor host = tensor.cpu().contiguous();
  const char* data = static_cast<const char*>(host.data());
  return std::vector<char>(data, data + host.nbytes());
}

void expect_same_bytes(const Tensors& results, const Tensors& wanted) {
  ASSERT_EQ(results.size(), wanted.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].dtype(), wanted[i].dtype());
    EXPECT_EQ(results[i].shape(), wanted[i].shape());
    EXPECT_TRUE(bytes_of(results[i]) == bytes_of(wanted[i]))
        << "output " << i << "\n"
        << to_string(results[i]) << "\nwanted\n"
        << to_string(wanted[i]);
  }
}

Tensor full_of_poison(int64_t numel, DType dtype, Device device) {
  const Tensor bytes = full({numel * item_size(dtype)}, 255, {.dtype = u8, .device = device});
  return Tensor(bytes.storage(), dtype, {numel}, {1});
}

enum class Layout { transposed, stepped, sliced, offset, channels_last };
constexpr Layout kLayouts[] = {Layout::transposed, Layout::stepped, Layout::sliced, Layout::offset,
                               Layout::channels_last};

// Lays the values of x out otherwise, gaps full of poison; returns x itself where that can't be.
Tensor in_layout(const Tensor& x, Layout layout) {
  if (x.dim() == 0) layout = Layout::offset;
  switch (layout) {
    case Layout::transposed: {
      Dims order;
      for (int i = x.dim(); i-- > 0;) order.push_back(i);
      return x.permute(order).contiguous().permute(order);
    }
    case Layout::stepped: {
      Strides strides = contiguous_strides(x.shape());
      int64_t reach = 3;
      for (int i = 0; i < x.dim(); ++i) {
        strides[i] *= 3;
        reach += std::max<int64_t>(x.shape()[i] - 1, 0) * strides[i];
      }
      const Tensor buffer = full_of_poison(reach, x.dtype(), x.device());
      const Tensor result = as_strided(buffer, x.shape(), strides, 1);
      result.copy_(x);
      return result;
    }
    case Layout::sliced: {  // of one dimension alone; where there is one element a stride says
                            // nothing
      const int inner = std::max(x.dim() - 2, 0);
      Shape whole = x.shape();
      whole[inner] += 2;
      Strides strides = contiguous_strides(whole);
      for (int i = 0; i < x.dim(); ++i)
        if (x.shape()[i] == 1) strides[i] = 7;
      const Tensor buffer = full_of_poison(whole.numel() + 1, x.dtype(), x.device());
      const Tensor result = as_strided(buffer, x.shape(), strides, 1);
      result.copy_(x);
      return result;
    }
    case Layout::offset: {
      const Tensor buffer = full_of_poison(x.numel() + 5, x.dtype(), x.device());
      const Tensor result = as_strided(buffer, x.shape(), contiguous_strides(x.shape()), 3);
      result.copy_(x);
      return result;
    }
    case Layout::channels_last:
      return x.dim() == 4 ? x.contiguous(MemoryFormat::channels_last) : x;
  }
  return x;
}

// Inputs whose first dimension repeats one slice, expanded and, for comparison, contiguous.
Tensor expanded(const Tensor& x) {
  if (x.dim() == 0 || x.shape()[0] < 2) return x;
  return x.narrow(0, 0, 1).expand(x.shape());
}

template <class F>
void for_each_case(const Row& row, const F& body) {
  ASSERT_TRUE(row.calls.empty() || !samples(row).empty()) << "no sample in the fixture";
  for (const Sample& sample : samples(row)) {
    for (DType dtype : dtypes_of(sample)) {
      SCOPED_TRACE(row.op + "/" + sample.name + " " + name(dtype));
      try {
        body(sample, dtype);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace

void poison(int64_t bytes, Device device) {
  if (bytes == 0) return;
  constexpr int count = 8;  // several, since an op may take some for its own use
  if (device.is_cuda()) {
    Tensors blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(full_of_poison(bytes, u8, device));
    return;
  }
  void* blocks[count];
  for (void*& block : blocks) {
    block = cpu::allocate(bytes);
    std::memset(block, 255, static_cast<size_t>(bytes));
  }
  for (void* block : blocks) cpu::deallocate(block, bytes);
}

void check_forward(const Row& row, Device device) {
  int count = 0;
  for_each_case(row, [&](const Sample& sample, DType dtype) {
    const Tensors results = sample.call->run(inputs_of(sample, dtype, device));
    expect_result(row, sample, results, dtype, device);
    ++count;
  });
  EXPECT_TRUE(count > 0 || row.calls.empty()) << "nothing ran";
}

void check_layouts(const Row& row, Device device) {
  for_each_case(row, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = inputs_of(sample, dtype, device);
    for (Layout layout : kLayouts) {
      Tensors others;
      for (const Tensor& x : inputs) others.push_back(in_layout(x, layout));
      SCOPED_TRACE("layout " + std::to_string(static_cast<int>(layout)));
      expect_result(row, sample, sample.call->run(others), dtype, device);
    }
  });
}

void check_expanded(const Row& row, Device device) {
  for_each_case(row, [&](const Sample& sample, DType dtype) {
    Tensors repeated, dense;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const Tensor x = inputs_of(sample, dtype, device)[i];
      repeated.push_back(sample.varied[i] ? expanded(x) : x);
      dense.push_back(repeated.back().clone(MemoryFormat::contiguous));
    }
    const Tensors results = sample.call->run(repeated), wanted = sample.call->run(dense);
    ASSERT_EQ(results.size(), wanted.size());
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].dtype(), wanted[i].dtype());
      EXPECT_EQ(compare(results[i], wanted[i], sample.scales[i], row.tolerance), "");
    }
  });
}

void check_in_place(const Row& row, Device device) {
  int count = 0;
  for_each_case(row, [&](const Sample& sample, DType dtype) {
    if (!sample.call->in_place) return;
    const Tensors results = sample.call->run(inputs_of(sample, dtype, device));
    const Tensors inputs = inputs_of(sample, dtype, device);
    const Tensor& self = inputs[0];
    if (results[0].shape() != self.shape() || !can_cast(results[0].dtype(), self.dtype())) {
      const uint32_t version = self.version();
      EXPECT_THROW(sample.call->in_place(inputs), Error);
      EXPECT_EQ(self.version(), version);
      return;
    }
    ++count;
    for (Layout layout : {Layout::channels_last, Layout::transposed, Layout::stepped}) {
      Tensors others;
      for (const Tensor& x : inputs) others.push_back(in_layout(x, layout));
      if (others[0].shares_storage(self)) others[0] = self.clone();
      const uint32_t version = others[0].version();
      const Tensor written = sample.call->in_place(others);
      EXPECT_TRUE(written.is_same(others[0]));
      EXPECT_EQ(others[0].version(), version + 1);
      EXPECT_EQ(compare(others[0], results[0].to(self.dtype()), {}, {}), "");
    }
  });
  EXPECT_GT(count, 0) << "nothing ran";
}

void check_inputs_kept(const Row& row, Device device) {
  for_each_case(row, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = inputs_of(sample, dtype, device);
    Tensors before;
    std::vector<uint32_t> versions;
    for (const Tensor& x : inputs) {
      before.push_back(x.clone());
      versions.push_back(x.version());
    }
    sample.call->run(inputs);
    expect_same_bytes(inputs, before);
    for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(inputs[i].version(), versions[i]);
  });
}

void check_written(const Row& row, Device device) {
  for_each_case(row, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = inputs_of(sample, dtype, device);
    std::vector<int64_t> sizes;
    for (const Tensor& result : sample.call->run(inputs))
      sizes.push_back(result.storage()->size_bytes());
    for (int64_t size : sizes) poison(size, device);
    expect_result(row, sample, sample.call->run(inputs), dtype, device);
  });
}

void check_planned(const Row& row) {
  const auto expect_planned = [](const Tensor& actual, const Tensor& expected) {
    if (expected.defined() != actual.defined()) FAIL() << "one of two results is there";
    if (!expected.defined()) return;
    EXPECT_EQ(actual.device(), Device("meta"));
    EXPECT_EQ(actual.dtype(), expected.dtype());
    EXPECT_EQ(actual.shape(), expected.shape());
    EXPECT_EQ(actual.strides(), expected.strides());
  };
  int refused = 0;
  for_each_case(row, [&](const Sample& sample, DType dtype) {
    const Tensors inputs = inputs_of(sample, dtype, "cpu");
    if (inputs.empty()) return;
    const auto on_meta = [&] {
      Tensors moved;
      for (const Tensor& input : inputs)
        moved.push_back(input.defined() ? input.to("meta") : input);
      return moved;
    };
    const GeneratorState before = default_generator().state();
    Tensors actual;
    try {
      actual = sample.call->run(on_meta());
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("values"), std::string::npos) << error.what();
      EXPECT_TRUE(row.needs_values) << error.what();
      ++refused;
      return;
    }
    EXPECT_EQ(default_generator().state().position, before.position) << "random numbers are used";
    const Tensors expected = sample.call->run(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) expect_planned(actual[i], expected[i]);
  });
  EXPECT_EQ(refused > 0, row.needs_values);
}

namespace {

// Many copies of the inputs with the most dimensions along a new first dimension; the others
// broadcast.
Tensors enlarged(const Tensors& inputs) {
  int ndim = 0;
  for (const Tensor& x : inputs) ndim = std::max(ndim, x.dim());
  Tensors result;
  for (const Tensor& x : inputs) {
    Shape shape = x.shape();
    if (x.dim() == ndim) shape.insert(0, 1 + 200000 / std::max<int64_t>(x.numel(), 1));
    result.push_back(x.expand(shape).contiguous());
  }
  return result;
}

}  // namespace

void check_threads(const Row& row, Device device) {
  const int before = get_num_threads();
  for (const Call& call : row.calls) {
    const auto& all = samples(row);
    const auto sample =
        std::find_if(all.begin(), all.end(), [&](const Sample& s) { return s.call == &call; });
    ASSERT_TRUE(sample != all.end()) << "no sample of " << call.name;
    SCOPED_TRACE(row.op + "/" + sample->name);
    const DType dtype = dtypes_of(*sample).at(0);
    Tensors inputs;
    if (row.large) {
      if (&call != row.calls.data()) break;
      for (const Tensor& x : row.large()) inputs.push_back(x.to(device));
    } else {
      inputs = enlarged(inputs_of(*sample, dtype, device));
    }
    Tensors first;
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const Tensors results = call.run(inputs);
      if (threads == 1) first = results;
      expect_same_bytes(results, first);
    }
    set_num_threads(before);
  }
}

void check_undefined(const Row& row) {
  static const Declared declared =
      declared_in({"core/ops", "core/empty.h", "core/tensor.h", "core/tensor_methods.h"});
  const auto expect_named = [&](const auto& run, const Sample& sample, bool in_place) {
    const auto missed = missed_by(inputs_of(sample, dtypes_of(sample).front(), "cpu"),
                                  [&](const Tensors& x) { run(x); });
    std::set<std::string> functions;
    for (const auto& input : missed) {
      // A call of what writes in place begins with a copy.
      const bool copies = input && input->function == "clone" && sample.call->in_place;
      if (input && !copies) functions.insert(input->function);
    }
    if (functions.empty() && !in_place && (sample.call->in_place || missed.empty())) return;
    ASSERT_EQ(functions.size(), 1u) << sample.name << ":" << to_string(missed);
    // A row may be a form of its op, as add_scaled.
    const std::string function = *functions.begin();
    const bool writes = function.back() == '_';
    const std::string stem = function.substr(0, function.size() - (writes ? 1 : 0));
    std::vector<std::string> own = row.functions;
    own.insert(own.end(), {row.op, "contiguous"});  // calls of views begin with it
    EXPECT_TRUE(std::any_of(own.begin(), own.end(),
                            [&](const std::string& name) { return name.starts_with(stem); }) &&
                (writes || !in_place))
        << sample.name << " names " << function;
    std::vector<OperandNames> overloads = declared.function(function);
    // "A bound that isn't defined is left out", either one.
    for (OperandNames& names : overloads) {
      for (OperandName& name : names) name.optional |= name.name == "min" && stem == "clamp";
    }
    EXPECT_TRUE(std::any_of(overloads.begin(), overloads.end(),
                            [&](const OperandNames& names) { return are_operands(missed, names); }))
        << sample.name << ":" << to_string(missed);
  };
  std::set<const Call*> seen;
  for (const Sample& sample : samples(row)) {
    if (!seen.insert(sample.call).second) continue;
    expect_named(sample.call->run, sample, false);
    if (sample.call->in_place) expect_named(sample.call->in_place, sample, true);
  }
}

void check_missing_kernel(const Row& row, Device device) {
  std::set<std::string> missing;
  for (const Sample& sample : samples(row)) {
    const Tensors inputs = inputs_of(sample, dtypes_of(sample).front(), device);
    try {
      sample.call->run(inputs);
    } catch (const kernel::MissingKernel& error) {
      EXPECT_EQ(error.what(), std::string(error.op()) +
                                  ": there must be a kernel for the device, got " +
                                  to_string(Device(device.type)));
      missing.insert(error.op());
    }
  }
  EXPECT_FALSE(missing.empty()) << row.op << " runs, though " << missing_kernel(row, device.type)
                                << " has no kernel";
  for (const std::string& op : missing) {
    const kernel::OpRow* const found = find_op(op);
    EXPECT_TRUE(found && !found->has_kernel(device.type)) << row.op << " misses " << op;
  }
}

void check_errors(const Row& row) {
  for (const BadCall& bad : row.bad) {
    try {
      bad.run();
      ADD_FAILURE() << "must throw: " << bad.error;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), bad.error);
    }
  }
}

}  // namespace aorta::catalog
