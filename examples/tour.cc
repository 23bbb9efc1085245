// A short tour of Aorta: tensors, views, arithmetic, random numbers, errors.
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;

int main() {
  std::cout << "Aorta " << version() << ", " << get_num_threads() << " CPU threads, "
            << (cuda::is_available() ? "CUDA" : "no CUDA: " + cuda::unavailable_reason()) << "\n\n";

  Tensor image = arange(12, {.dtype = f32}).view({3, 4});
  std::cout << "image = " << image << "\n\n";

  Tensor column = image.select(1, 2);  // a view: it shares the memory of image
  column.fill_(-1);
  std::cout << "after image[:, 2] = -1: " << image << "\n\n";

  Tensor bias = tensor({10.0, 20.0, 30.0, 40.0});
  std::cout << "relu(image * 0.5 + bias) = " << relu(image * 0.5 + bias) << "\n\n";
  std::cout << "image.mean(1) = " << image.mean(1) << "\n\n";
  std::cout << "image > 5: " << (image > 5) << "\n\n";

  manual_seed(0);
  std::cout << "randn({2, 5}) = " << randn({2, 5}) << "\n\n";
  std::cout << "in bf16: " << linspace(0, 1, 5).to(bf16) << "\n\n";

  try {
    image + zeros({5});
  } catch (const Error& error) {
    std::cout << "a mistake reads: " << error.what() << "\n";
  }
}
