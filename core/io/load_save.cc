#include <aorta/core/check.h>
#include <aorta/core/io/load_save.h>
#include <aorta/core/io/npy.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/io/safetensors.h>

namespace aorta {
namespace {

[[noreturn]] void fail_extension(const std::string& path) {
  size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  size_t dot = path.rfind('.');
  bool none = dot == std::string::npos || dot < name;
  fail(path, "file name must end in .safetensors, .npz or .npy",
       none ? "no extension" : io::quote(path.substr(dot)));
}

}  // namespace

void save(const NamedTensors& tensors, const Text& path) {
  if (path.ends_with(".safetensors")) return safetensors::save(tensors, path);
  if (path.ends_with(".npz")) return npz::save(tensors, path);
  if (!path.ends_with(".npy")) fail_extension(path);
  check(tensors.size() == 1, path, "an .npy file holds one tensor", tensors.size());
  npy::save(tensors[0].second, path);
}

void save(const Tensor& tensor, const Text& path) {
  check(path.ends_with(".npy"), path, "one tensor without a name goes to an .npy file",
        "another extension");
  npy::save(tensor, path);
}

NamedTensors load(const Text& path) {
  if (path.ends_with(".safetensors")) return safetensors::load(path);
  if (path.ends_with(".npz")) return npz::load(path);
  if (!path.ends_with(".npy")) fail_extension(path);
  return {{std::string(), npy::load(path)}};
}

}  // namespace aorta
