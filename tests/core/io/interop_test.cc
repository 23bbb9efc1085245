// A live round trip with numpy and the safetensors package, where a Python that has them is found:
// the one that AORTA_PEER_PYTHON names, else the machine's.
#include <aorta/core/io/npy.h>
#include <aorta/core/io/npy_format.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/io/safetensors.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <aorta/tests/core/io/fixtures.h>

namespace aorta {
namespace {

using io_test::elements;
using io_test::fixture;
using io_test::formula;
using io_test::read_file;
using io_test::temporary;

constexpr const char* kCodes[] = {"f2", "f4", "f8", "i4", "i8", "u1", "b1"};

void write_everything(const std::string& folder) {
  NamedTensors tensors;
  for (const char* code : kCodes) {
    tensors.emplace_back(code, npy::load(fixture("npy/" + std::string(code) + ".npy")));
    npy::save(tensors.back().second, folder + "/" + code + ".npy");
  }
  npz::save(tensors, folder + "/stored.npz");
  npz::save(tensors, folder + "/deflated.npz", true);
  safetensors::save(tensors, folder + "/ours.safetensors", {{"note", "\xc3\xa4 \"quoted\""}});
  io::AtomicFile file(folder + "/zip64.npz");
  io::ZipWriter zip(file, 1);  // zip64 fields everywhere
  for (const auto& [name, tensor] : tensors)
    zip.add(name + ".npy", npy::make_header(tensor.dtype(), io::sizes(tensor), name),
            io::contents(tensor), false);
  zip.finish();
  file.commit();
}

void expect_all(const NamedTensors& tensors) {
  EXPECT_EQ(tensors.size(), std::size(kCodes));
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(tensor.shape(), (Shape{2, 3})) << name;
    EXPECT_EQ(elements(tensor), formula(name[0], 6)) << name;
  }
}

TEST(Interop, NumpyAndSafetensorsReadOursAndWeReadTheirs) {
  std::string folder = temporary("interop");
  std::filesystem::create_directory(folder);
  write_everything(folder);
  const char* named = std::getenv("AORTA_PEER_PYTHON");
  std::string python = named && *named ? named : "/usr/bin/python3";
  std::string log = folder + "/log";
  int status = std::system(
      ("'" + python + "' tests/core/io/interop.py '" + folder + "' >'" + log + "' 2>&1").c_str());
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::string text = read_file(log);
  if (code == 77 || code == 127) GTEST_SKIP() << python << " has no numpy";
  ASSERT_EQ(code, 0) << text;
  std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  ASSERT_TRUE(last.starts_with("numpy ")) << text;
  std::cout << last;

  expect_all(npz::load(folder + "/python_stored.npz"));
  expect_all(npz::load(folder + "/python_deflated.npz"));
  EXPECT_EQ(elements(npy::load(folder + "/python_fortran.npy")), formula('f', 120));
  if (last.find("left out") != std::string::npos) return;
  safetensors::Reader reader(folder + "/python.safetensors");
  EXPECT_EQ(reader.metadata().at("from"), "python");
  expect_all(safetensors::load(folder + "/python.safetensors"));
}

}  // namespace
}  // namespace aorta
