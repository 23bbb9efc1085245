// Every optimizer on a GPU, held to the closed forms of its rule.
#include <aorta/optim/oracle_gtest.h>
#include <aorta/tests/cuda/gpu.h>

using namespace aorta;
using namespace aorta::optim;
using oracle::maker;

namespace {

using CudaOracle = gpu_test::Gpu;

template <class T>
void expect_follows(const typename T::Options& options) {
  EXPECT_OPTIMIZER_RULE(maker<T>(options), options, 1e-12, "cuda:0");
  EXPECT_OPTIMIZER_CONDUCT(maker<T>(options), "cuda:0");
}

}  // namespace

TEST_F(CudaOracle, FusedOptimizersFollowTheirForms) {
  expect_follows<SGD>({.lr = 0.05, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.02});
  expect_follows<SGD>({.lr = 0.05, .momentum = 0.9, .nesterov = true});
  expect_follows<SGD>({.lr = 0.05, .momentum = 0.5, .nesterov = true, .dialect = Dialect::paper});
  expect_follows<Adagrad>({.lr = 0.1, .lr_decay = 0.02, .weight_decay = 0.1});
  expect_follows<Adadelta>({.lr = 0.5, .rho = 0.95, .eps = 1e-2, .weight_decay = 0.1});
  expect_follows<RMSprop>({.momentum = 0.5, .centered = true, .maximize = true});
  expect_follows<Adam>({.weight_decay = 0.2, .amsgrad = true, .maximize = true});
  expect_follows<AdamW>({.lr = 0.1, .betas = {0.8, 0.9}, .eps = 0.1, .weight_decay = 0.5});
  expect_follows<SparseAdam>({.lr = 0.1, .betas = {0.8, 0.9}, .eps = 0.1});
  expect_follows<Adamax>({.lr = 0.1, .betas = {0.8, 0.7}, .eps = 0.1, .weight_decay = 0.1});
  expect_follows<NAdam>({.weight_decay = 0.3, .momentum_decay = 0.1});
  expect_follows<RAdam>({.betas = {0.9, 0.6}});
  expect_follows<Rprop>({.lr = 0.17, .etas = {0.3, 1.5}, .step_sizes = {0.05, 0.4}});
  expect_follows<ASGD>({.lr = 0.1, .lambd = 0.2, .alpha = 0.5, .weight_decay = 0.1});
}

TEST_F(CudaOracle, ThoseOfTensorOpsDoToo) {
  expect_follows<Adafactor>(
      {.lr = 0.2, .beta2_decay = -0.5, .eps = {0.5, 0.1}, .d = 2, .weight_decay = 0.1});
  const MuonOptions muon{.lr = 0.1, .weight_decay = 0.3, .momentum = 0.5, .bf16 = false};
  EXPECT_OPTIMIZER_RULE(maker<Muon>(muon), muon, 1e-12, "cuda:0");
  const LBFGSOptions lbfgs{.lr = 0.5, .max_iter = 1};
  EXPECT_OPTIMIZER_RULE(maker<LBFGS>(lbfgs), lbfgs, 1e-12, "cuda:0");
}
