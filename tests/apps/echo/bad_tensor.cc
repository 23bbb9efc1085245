// bad_tensor CASE [FILE]: does to tensors what the command line can't; prints the error and
// returns 3.
#include <aorta/aorta.h>
#include <aorta/data/idx.h>

#include <cstdio>
#include <string>

namespace {

using namespace aorta;

void mask_of_another_size() { ones({2, 3}) + ones({2, 4}); }

void matmul_of_other_sizes() { matmul(ones({2, 3}), ones({4, 5})); }

void matmul_of_two_dtypes() { matmul(ones({2, 3}), ones({3, 2}, {.dtype = f64})); }

void weights_on_another_device() { matmul(ones({2, 3}), ones({3, 2}, {.device = "cpu:1"})); }

// What is defined of nothing is; what isn't is an error.
void of_nothing() {
  const Tensor nothing = zeros({0, 3});
  check(sum(nothing).item<float>() == 0, "sum", "of nothing must be 0");
  check(sum(matmul(zeros({2, 0}), zeros({0, 2}))).item<float>() == 0, "matmul",
        "of nothing must be 0");
  check(cat({nothing, ones({1, 3})}).size(0) == 1, "cat", "must take nothing");
  check((nothing + 1).numel() == 0, "add", "of nothing must be nothing");
  max(nothing);
}

void too_many_elements() { zeros({int64_t{1} << 32, int64_t{1} << 32}); }

void too_many_bytes() { zeros({int64_t{1} << 61}); }

void index_out_of_range() { index_select(ones({3, 4}), 1, tensor(std::vector<int64_t>{0, 4})); }

void edit_of_a_saved_tensor() {
  const Tensor weight = ones({3}).requires_grad_();
  const Tensor root = exp(weight);
  mul_(root, 2);
  sum(root).backward();
}

void backward_twice() {
  const Tensor weight = ones({3}).requires_grad_();
  const Tensor loss = sum(weight * weight);
  loss.backward();
  loss.backward();
}

void do_case(const std::string& name, const std::string& file) {
  if (name == "add") return mask_of_another_size();
  if (name == "matmul") return matmul_of_other_sizes();
  if (name == "dtype") return matmul_of_two_dtypes();
  if (name == "device") return weights_on_another_device();
  if (name == "nothing") return of_nothing();
  if (name == "elements") return too_many_elements();
  if (name == "bytes") return too_many_bytes();
  if (name == "index") return index_out_of_range();
  if (name == "edit") return edit_of_a_saved_tensor();
  if (name == "twice") return backward_twice();
  if (name == "idx") return void(data::load_idx(file));
  if (name == "load") {
    for (const auto& [key, value] : load(file)) {
      const Tensor numbers = value.to(f32);
      std::printf("%s: %g\n", key.c_str(), sum(numbers).item<double>());
    }
    return;
  }
  fail("bad_tensor", "must be a case", name);
}

}  // namespace

int main(int argc, char** argv) try {
  do_case(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  return 0;
} catch (const aorta::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 3;
}
