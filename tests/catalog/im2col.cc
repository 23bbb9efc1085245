#include <aorta/core/ops/im2col.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {

std::vector<Row> im2col_rows() {
  return {
      {.op = "im2col",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {im2col(x[0], 2)}; }},
                 {"mixed",
                  [](const Tensors& x) -> Tensors {
                    return {im2col(x[0], {2, 3}, {2, 1}, {1, 2}, {2, 1})};
                  }}},
       .bad = {{[] {
                  im2col(ones({2, 3}), 2);
                },
                "im2col: input must be (N, C, H, W) or (C, H, W), got [2,3]"},
               {[] {
                  im2col(ones({1, 0, 3, 3}), 2);
                },
                "im2col: sizes must be positive and below 2^31, but that of the batch, got "
                "[1,0,3,3]"},
               {[] {
                  im2col(ones({1, 3, 3}), 0);
                },
                "im2col: kernel_size must be one number or two, positive and below 2^31, got [0]"},
               {[] {
                  im2col(ones({1, 3, 3}), {2, 2, 2});
                },
                "im2col: kernel_size must be one number or two, positive and below 2^31, got "
                "[2,2,2]"},
               {[] {
                  im2col(ones({1, 3, 3}), 2, 1, -1);
                },
                "im2col: padding must be one number or two, not negative and below 2^31, got [-1]"},
               {[] {
                  im2col(ones({1, 3, 3}), 2, 3);
                },
                "im2col: the padded image must be at least as large as a block, got [3,3] for "
                "kernel_size [2], dilation [3], padding [0]"},
               {[] {
                  im2col(ones({1, 3, 3}, {.dtype = i64}), 2);
                },
                "im2col: dtype must be floating, got i64"}},
       .large =
           [] {
             return Tensors{numbers({3, 7, 61, 67})};
           }},
      {.op = "col2im",
       .tolerance = kSums,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {col2im(x[0], {4, 3}, 2)};
                  }},
                 {"mixed",
                  [](const Tensors& x) -> Tensors {
                    return {col2im(x[0], {4, 3}, {2, 3}, {2, 1}, {1, 2}, {2, 1})};
                  }}},
       .bad = {{[] { col2im(ones({2}), 3, 2); },
                "col2im: input must be (N, C kh kw, L) or (C kh kw, L), got [2]"},
               {[] {
                  col2im(ones({3, 4}), 3, 2);
                },
                "col2im: rows must be a multiple of the kernel's positions, got [3,4] for "
                "kernel_size [2]"},
               {[] {
                  col2im(ones({4, 5}), 3, 2);
                },
                "col2im: columns must be as many as blocks, got [4,5] for 4 of output_size [3]"},
               {[] {
                  col2im(ones({4, 4}), 0, 2);
                },
                "col2im: output_size must be one number or two, positive and below 2^31, got "
                "[0]"},
               {[] {
                  col2im(ones({4, 4}, {.dtype = i64}), 3, 2);
                },
                "col2im: dtype must be floating, got i64"}},
       .large = [] {
         return Tensors{numbers({65, 400, 6})};
       }}};
}

}  // namespace aorta::catalog
