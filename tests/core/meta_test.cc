// Tensors on meta: shapes and dtypes of every op are the catalogue's (Planned); here is what has no
// row.
#include <aorta/core/allocator.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dlpack.h>
#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta {
namespace {

TEST(Meta, HasNoMemory) {
  const int64_t before = cpu::allocator_stats().bytes_in_use;
  const Tensor a = zeros({1 << 20, 1 << 20}, {.device = "meta"});  // 4 TiB
  const Tensor b = matmul(a, a) + 1;
  EXPECT_EQ(b.shape(), Shape({1 << 20, 1 << 20}));
  EXPECT_EQ(b.device(), Device("meta"));
  EXPECT_TRUE(b.is_meta());
  EXPECT_LT(cpu::allocator_stats().bytes_in_use - before, 100'000);
}

TEST(Meta, CountsItsBytes) {
  DeviceBackend& meta = backend(DeviceType::meta);
  const int64_t before = meta.memory_stats(0).bytes_in_use;
  meta.reset_peak_memory(0);
  {
    const Tensor a = empty({1000}, {.device = "meta"});
    const Tensor view = a.slice(0, 0, 10);
    EXPECT_EQ(meta.memory_stats(0).bytes_in_use - before, 4032);  // to 64 bytes
  }
  EXPECT_EQ(meta.memory_stats(0).bytes_in_use, before);
  EXPECT_EQ(meta.memory_stats(0).peak_bytes - before, 4032);
}

TEST(Meta, SharesAsOthersDo) {
  const Tensor a = empty({4, 4}, {.device = "meta"});
  const uint32_t version = a.version();
  a.select(0, 1).fill_(2);
  EXPECT_EQ(a.version(), version + 1);
  EXPECT_TRUE(a.view({16}).storage().get() == a.storage().get());
  EXPECT_FALSE(a.clone().storage().get() == a.storage().get());
}

TEST(Meta, HasNoValues) {
  const Tensor a = ones({2, 3}, {.device = "meta"}), one = ones({}, {.device = "meta"});
  EXPECT_EQ(error_of([&] { one.item<float>(); }), "item: the tensor must have values, got meta");
  EXPECT_EQ(error_of([&] { a.cpu(); }), "cpu: the tensor must have values, got meta to cpu");
  EXPECT_EQ(error_of([&] { a.to_vector<float>(); }),
            "to_vector: the tensor must have values, got meta to cpu");
  EXPECT_EQ(error_of([&] {
              zeros({2, 3}).copy_(a);
            }),
            "copy_: the source must have values, got meta into cpu");
  EXPECT_EQ(error_of([&] { nonzero(a); }),
            "nonzero: what depends on values needs a tensor that has values, got meta");
  EXPECT_EQ(error_of([&] { to_dlpack(a); }), "to_dlpack: the tensor must have values, got meta");
  EXPECT_EQ(error_of([&] {
              a + zeros({2, 3});
            }),
            "add: tensors must be on one device, got meta and cpu");
  EXPECT_EQ(error_of([&] {
              save({{"a", a}}, ::testing::TempDir() + "/meta.safetensors");
            }).find("no error"),
            std::string::npos);
  EXPECT_EQ(to_string(a), "tensor(..., size=(2, 3), device=meta)");
}

TEST(Meta, TakesCopiesAndNumbersFromElsewhere) {
  const Tensor a = ones({2, 3}).to("meta");
  EXPECT_EQ(a.shape(), Shape({2, 3}));
  a.copy_(zeros({3}));
  EXPECT_EQ((a * full({}, 2.0)).device(), Device("meta"));
  EXPECT_EQ(arange(int64_t{1} << 40, {.device = "meta"}).numel(), int64_t{1} << 40);
}

TEST(Meta, LeavesRandomNumbersToOthers) {
  const GeneratorState before = default_generator().state();
  randn({1000}, {.device = "meta"});
  multinomial(ones({5}, {.device = "meta"}), 3, true);
  EXPECT_EQ(default_generator().state().position, before.position);
}

}  // namespace
}  // namespace aorta
