#include <aorta/core/device.h>
#include <aorta/core/module_path.h>
#include <aorta/core/number.h>
#include <aorta/core/shape.h>
#include <aorta/tests/error_text.h>
#include <complex>

#include <gtest/gtest.h>

#include <thread>

namespace aorta {
namespace {

TEST(Check, TextOfEveryKindOfPart) {
  EXPECT_EQ(error_of([] { fail("op", "the rule"); }), "op: the rule");
  EXPECT_EQ(error_of([] {
              check(false, "op", "the rule", Shape{2, 3}, " and ", f16);
            }),
            "op: the rule, got [2,3] and f16");
  EXPECT_EQ(error_of([] { fail("op", "r", 1, " ", -2L, " ", 3u, " ", true, " ", 0.5, " ", 2.5f); }),
            "op: r, got 1 -2 3 true 0.5 2.5");
  EXPECT_EQ(error_of([] {
              fail("op", "r", std::string("text"), Device("cpu:1"), Scalar(1.5), Scalar(false));
            }),
            "op: r, got textcpu:11.5false");
  EXPECT_EQ(error_of([] { fail("op", "r", INT64_MIN, " ", UINT64_MAX); }),
            "op: r, got -9223372036854775808 18446744073709551615");
  EXPECT_EQ(error_of([] { check(true, "op", "r"); }), "no error");
}

TEST(Check, AnErrorIsALineWhateverAFilesNameHolds) {
  EXPECT_EQ(error_of([] { fail("a\tb\n\xff.npy", "it must be there", "\x1b[2J"); }),
            "a\\x09b\\x0a\\xff.npy: it must be there, got \\x1b[2J");
}

TEST(Check, AnErrorAboutAnEmptyPathSaysSo) {
  EXPECT_EQ(error_of([] { fail("", "file must be readable", "ENOENT"); }),
            "\"\": file must be readable, got ENOENT");
}

TEST(ModuleScope, ErrorsStartWithItsPath) {
  const auto text = [] { return error_of([] { fail("op", "rule"); }); };
  EXPECT_EQ(text(), "op: rule");
  {
    const ModuleScope outer("classifier");
    EXPECT_EQ(text(), "classifier: op: rule");
    {
      const ModuleScope middle("0"), inner("convs");
      EXPECT_EQ(text(), "classifier.0.convs: op: rule");
    }
    const ModuleScope below("b");
    EXPECT_EQ(text(), "classifier.b: op: rule");
  }
  EXPECT_EQ(text(), "op: rule");
}

TEST(ModuleScope, UnwindsWithTheError) {
  EXPECT_EQ(error_of([] {
              const ModuleScope outer("net");
              fail("op", "rule");
            }),
            "net: op: rule");
  EXPECT_EQ(error_of([] { fail("op", "rule"); }), "op: rule");
}

TEST(ModuleScope, BelongsToItsThread) {
  const ModuleScope here("here");
  std::string other;
  std::thread thread([&] { other = error_of([] { fail("op", "rule"); }); });
  thread.join();
  EXPECT_EQ(other, "op: rule");
}

TEST(Device, Parses) {
  EXPECT_EQ(Device("cpu"), Device(DeviceType::cpu, 0));
  EXPECT_EQ(Device("cpu:0"), Device());
  EXPECT_EQ(Device("cpu:1"), Device(DeviceType::cpu, 1));
  EXPECT_EQ(Device("cpu:63").index, 63);
  EXPECT_EQ(Device("cuda:3"), Device(DeviceType::cuda, 3));
  EXPECT_EQ(Device(std::string("cuda:0")), Device(DeviceType::cuda, 0));
  EXPECT_EQ(to_string(Device("cpu")), "cpu");
  EXPECT_EQ(to_string(Device("cpu:2")), "cpu:2");
  EXPECT_EQ(to_string(Device("cuda:0")), "cuda:0");
}

TEST(Device, RefusesOtherNames) {
  for (const char* name :
       {"", ":", "cpu:", "cpu:-1", "cpu:+1", "cpu: 1", "cpu:1 ", "cpu:x", "cpu:1x", "CPU", "gpu",
        "cuda:", "cuda:0:1", "cpu:99999999999999999999", " cpu", "cpu:0x1"}) {
    EXPECT_EQ(error_of([&] { Device device{std::string_view(name)}; }),
              std::string("device: cpu, cpu:N, cuda, cuda:N or meta, got ") + name);
  }
  EXPECT_EQ(error_of([] { Device device("cpu:64"); }),
            "device: the index must be below 64, got cpu:64");
  EXPECT_EQ(error_of([] { Device device("cuda:1000"); }),
            "device: the index must be below 64, got cuda:1000");
}

TEST(Device, GuardRestores) {
  EXPECT_EQ(current_device(DeviceType::cpu), Device("cpu"));
  {
    DeviceGuard guard("cpu:2");
    EXPECT_EQ(current_device(DeviceType::cpu), Device("cpu:2"));
    DeviceGuard inner("cpu:1");
    EXPECT_EQ(current_device(DeviceType::cpu), Device("cpu:1"));
  }
  EXPECT_EQ(current_device(DeviceType::cpu), Device("cpu"));
  EXPECT_EQ(error_of([] { DeviceGuard guard(Device(DeviceType::cpu, 64)); }),
            "device: the device must exist, got cpu:64");
  EXPECT_EQ(error_of([] { DeviceGuard guard(Device(DeviceType::cpu, -1)); }),
            "device: the device must exist, got cpu:-1");
}

TEST(Scalar, KindsAndConversions) {
  EXPECT_TRUE(Scalar(true).is_boolean());
  EXPECT_TRUE(Scalar(1.0f).is_floating());
  EXPECT_EQ(Scalar(3).dtype(), i64);
  EXPECT_EQ(Scalar(uint8_t{3}).dtype(), i64);
  EXPECT_EQ(Scalar(2.5).dtype(), f32);
  EXPECT_EQ(Scalar(-2.9).to_int(), -2);
  EXPECT_EQ(Scalar(1e300).to_int(), INT64_MAX);
  EXPECT_EQ(Scalar(-1e300).to_int(), INT64_MIN);
  EXPECT_EQ(Scalar(__builtin_nan("")).to_int(), 0);
  EXPECT_EQ(Scalar(-0x1p63).to_int(), INT64_MIN);
  EXPECT_EQ(Scalar(0x1p63).to_int(), INT64_MAX);
  EXPECT_TRUE(Scalar(0.5).to_bool());
  EXPECT_TRUE(Scalar(__builtin_nan("")).to_bool());
  EXPECT_FALSE(Scalar(-0.0).to_bool());
  EXPECT_EQ(Scalar(INT64_MAX).to_int(), INT64_MAX);
}

TEST(Scalar, StandsAmongNumbers) {
  double best = 3, total = 1;
  if (Scalar(2.5) < best) best = Scalar(2.5);
  total += Scalar(2) * 4;
  EXPECT_EQ(best, 2.5);
  EXPECT_EQ(total, 9);
  const int64_t largest = int64_t{1} << 53;
  EXPECT_EQ(static_cast<int64_t>(Scalar(largest)), largest);
  EXPECT_EQ(error_of([&] { best = Scalar(-largest - 1); }),
            "number: an integer beyond 2^53 is no double: ask for item<int64_t>(), got "
            "-9007199254740993");
  EXPECT_EQ(error_of([&] { best = Scalar(std::complex(1., 2.)); }),
            "number: it must be real, got 1+2j");
}

}  // namespace
}  // namespace aorta
