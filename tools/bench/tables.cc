#include <aorta/tools/bench/disk.h>
#include <aorta/tools/bench/sweep.h>
#include <aorta/tools/bench/tables.h>

namespace aorta::bench {
namespace {

Rows core_rows(const Plan& plan) {
  Rows rows;
  add_small_rows(rows, plan);
  add_memory_rows(rows, plan);
  add_matmul_rows(rows, plan);
  add_layout_rows(rows, plan);
  return rows;
}

constexpr Table kTables[] = {
    {"core", "small ops, memory speed, matmul, layouts: against floors and peers", core_rows},
    {"autograd", "recording a graph and running it back, tiny ops", autograd_rows},
    {"convolution", "the convolutions of DeepLabV3-ResNet50, forward and both gradients",
     convolution_rows},
    {"attention", "scaled dot-product attention, forward and backward", attention_rows},
    {"training", "whole training steps: small networks, ResNet-18, the segmenter", training_rows},
    {"parallel", "steps divided among devices and processes: against one, and PyTorch's",
     parallel_rows},
    {"transcendental", "every unary op of f32, ns an element", transcendental_rows},
    {"reduce", "reductions and softmax over rows and columns", reduce_rows},
    {"index", "cat, index_select, gather, transposing copy", index_rows},
    {"random", "random fills", random_rows},
    {"optimizer", "optimizer steps: against memory, and PyTorch's fused ones", optimizer_rows},
    {"cuda", "ops on a GPU: against a copy on the device, and PyTorch", cuda_rows},
    {"cuda-matmul", "products on a GPU: against PyTorch, and the most that the GPU can do",
     cuda_matmul_rows},
    {"cuda-training", "whole training steps on a GPU, and their memory: against PyTorch's",
     cuda_training_rows},
    {"cuda-loader", "an epoch with the loader on a GPU: the share of it in which the GPU is busy",
     cuda_loader_rows},
    {"cuda-copies", "copies to, from and on a GPU: against PyTorch, and its memory's peak",
     cuda_copies_rows},
    {"cuda-overlap", "a copy to a GPU beside a product: against the longer of the two alone",
     cuda_overlap_rows},
    {"cuda-cpu", "products on a GPU: against the CPU's", cuda_cpu_rows},
    {"cuda-linalg", "decompositions and Fourier transforms on a GPU: against PyTorch's",
     cuda_linalg_rows},
    {"compile", "compile time and preprocessed lines of a small program", compile_rows},
    {"build", "CPU seconds of the emulated device, compiled and tested, against their limits",
     nullptr, run_build},
    {"disk", "direct reads by size and depth, random and sequential; see disk --help", nullptr,
     run_disk},
    {"loader", "samples a second, first batch, waiting, memory: against PyTorch's DataLoader",
     nullptr, run_loader},
    {"loader-sweep", "epochs of 0 to 8 workers with a slow dataset", nullptr, run_loader_sweep},
    {"loader-workers", "epochs of 0 to 4 workers, batches pageable and page-locked", nullptr,
     run_loader_workers},
    {"loader-place", "a sample read in the batch itself, and as workers guard it", nullptr,
     run_loader_place},
    {.name = "sweep",
     .about = "every differentiable op of the catalogue, forward and backward: against PyTorch",
     .rows = sweep_rows,
     .settings = {.seconds = 0.06, .rounds = 3, .again_above = 1},
     .line = sweep_line,
     .summary = sweep_summary},
    {"selftest", "rows whose verdicts are known", selftest_rows},
};

}  // namespace

std::span<const Table> tables() { return kTables; }

}  // namespace aorta::bench
