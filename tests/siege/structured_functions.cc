#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/ctc_loss.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/im2col.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/recurrent.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/ops/view_scatter.h>

#include <aorta/tests/siege/targets.h>

#include <iterator>

// The public functions of core/ops but for the pointwise ones, by hand: a name that is overloaded
// stands once for each list of parameters.
namespace aorta::siege {
namespace {

using T = Tensor;
using Type = std::optional<DType>;
using Place = std::optional<int64_t>;

void add_attention(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     random_of<T, const T&, const T&, const T&, const AttentionOptions&>(
                         "scaled_dot_product_attention", scaled_dot_product_attention),
                 });
}

void add_closeness(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     of<T, const T&, const T&, double, double, bool>("isclose", isclose),
                     of<bool, const T&, const T&, double, double, bool>("allclose", allclose),
                     of<T, const T&, const T&, const CloseOptions&>("isclose", isclose),
                     of<bool, const T&, const T&, const CloseOptions&>("allclose", allclose),
                     of<bool, const T&, const T&>("equal", equal),
                 });
}

void add_convolution(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     of<T, const T&, const T&, const T&, const Dims&, const ConvPadding&,
                        const Dims&, int64_t>("conv1d", conv1d),
                     of<T, const T&, const T&, const T&, const Dims&, const ConvPadding&,
                        const Dims&, int64_t>("conv2d", conv2d),
                     of<T, const T&, const T&, const T&, const Dims&, const ConvPadding&,
                        const Dims&, int64_t>("conv3d", conv3d),
                     of<T, const T&, const T&, const T&, const Dims&, const Dims&, const Dims&,
                        int64_t, const Dims&>("conv_transpose1d", conv_transpose1d),
                     of<T, const T&, const T&, const T&, const Dims&, const Dims&, const Dims&,
                        int64_t, const Dims&>("conv_transpose2d", conv_transpose2d),
                     of<T, const T&, const T&, const T&, const Dims&, const Dims&, const Dims&,
                        int64_t, const Dims&>("conv_transpose3d", conv_transpose3d),
                 });
}

void add_creation(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          random_of<T, const Dims&, const TensorOptions&>("empty", empty),
          random_of<T, const Dims&, const Dims&, const TensorOptions&>("empty_strided",
                                                                       empty_strided),
          of<T, const Dims&, const TensorOptions&>("zeros", zeros),
          of<T, const Dims&, const TensorOptions&>("ones", ones),
          of<T, const Dims&, const Scalar&, const TensorOptions&>("full", full),
          of<T, const Scalar&, const Scalar&, const Scalar&, const TensorOptions&>("arange",
                                                                                   arange),
          of<T, const Scalar&, const Scalar&, const TensorOptions&>("arange", arange),
          of<T, const Scalar&, const TensorOptions&>("arange", arange),
          of<T, const Scalar&, const Scalar&, int64_t, const TensorOptions&>("linspace", linspace),
          of<T, int64_t, const TensorOptions&>("eye", eye),
          of<T, int64_t, int64_t, const TensorOptions&>("eye", eye),
          random_of<T, const T&, const LikeOptions&>("empty_like", empty_like),
          of<T, const T&, const LikeOptions&>("zeros_like", zeros_like),
          of<T, const T&, const LikeOptions&>("ones_like", ones_like),
          of<T, const T&, const Scalar&, const LikeOptions&>("full_like", full_like),
      });
}

void add_cross_entropy(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, const T&, const CrossEntropyOptions&>("cross_entropy", cross_entropy),
          of<T, const T&, const T&, const NllLossOptions&>("nll_loss", nll_loss),
          of<T, const T&, const T&, const T&, const T&, const CtcLossOptions&>("ctc_loss",
                                                                               ctc_loss),
      });
}

void add_dropout(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     random_of<T, const T&, double, bool, Generator*>("dropout", dropout),
                     random_of<const T&, const T&, double, bool, Generator*>("dropout_", dropout_),
                     random_of<T, const T&, double, bool, Generator*>("dropout1d", dropout1d),
                     random_of<T, const T&, double, bool, Generator*>("dropout2d", dropout2d),
                     random_of<T, const T&, double, bool, Generator*>("dropout3d", dropout3d),
                 });
}

void add_embedding(std::vector<Target>& targets) {
  targets.insert(targets.end(), {
                                    of<T, const T&, const T&, Place>("embedding", embedding),
                                });
}

void add_indexing(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, int64_t, const T&>("gather", gather),
          of<T, const T&, int64_t, const T&>("index_select", index_select),
          of<T, const T&, const T&, Place>("take_along_dim", take_along_dim),
          of<T, const T&, const T&>("take", take),
          of<T, const T&, int64_t, const T&, const T&>("scatter", scatter),
          of<T, const T&, int64_t, const T&, const Scalar&>("scatter", scatter),
          of<const T&, const T&, int64_t, const T&, const T&>("scatter_", scatter_),
          of<const T&, const T&, int64_t, const T&, const Scalar&>("scatter_", scatter_),
          of<T, const T&, int64_t, const T&, const T&>("scatter_add", scatter_add),
          of<const T&, const T&, int64_t, const T&, const T&>("scatter_add_", scatter_add_),
          of<T, const T&, int64_t, const T&, const T&, ScatterReduce, bool>("scatter_reduce",
                                                                            scatter_reduce),
          of<const T&, const T&, int64_t, const T&, const T&, ScatterReduce, bool>(
              "scatter_reduce_", scatter_reduce_),
          of<T, const T&, int64_t, const T&, const T&, ScatterReduce, bool>("index_reduce",
                                                                            index_reduce),
          of<const T&, const T&, int64_t, const T&, const T&, ScatterReduce, bool>("index_reduce_",
                                                                                   index_reduce_),
          of<T, const T&, int64_t, const T&, const T&, const Scalar&>("index_add", index_add),
          of<const T&, const T&, int64_t, const T&, const T&, const Scalar&>("index_add_",
                                                                             index_add_),
          of<T, const T&, int64_t, const T&, const T&>("index_copy", index_copy),
          of<const T&, const T&, int64_t, const T&, const T&>("index_copy_", index_copy_),
          of<T, const T&, int64_t, const T&, const Scalar&>("index_fill", index_fill),
          of<const T&, const T&, int64_t, const T&, const Scalar&>("index_fill_", index_fill_),
          of<T, const T&, const List<Index>&>("index", index),
          of<const T&, const T&, const List<Index>&, const T&, bool>("index_put_", index_put_),
          of<const T&, const T&, const List<Index>&, const Scalar&, bool>("index_put_", index_put_),
          of<T, const T&, const List<Index>&, const T&, bool>("index_put", index_put),
          of<T, const T&>("nonzero", nonzero),
          of<Tensors, const T&>("where", where),
          of<T, const T&, const T&>("masked_select", masked_select),
          of<const T&, const T&, const T&, const T&>("masked_scatter_", masked_scatter_),
          of<T, const T&, const T&, const T&>("masked_scatter", masked_scatter),
          of<T, const T&, int64_t>("one_hot", one_hot),
      });
}

void add_im2col(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, const Dims&, const Dims&, const Dims&, const Dims&>("im2col", im2col),
          of<T, const T&, const Dims&, const Dims&, const Dims&, const Dims&, const Dims&>("col2im",
                                                                                           col2im),
      });
}

void add_interpolate(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     of<T, const T&, const InterpolateOptions&>("interpolate", interpolate),
                 });
}

void add_join(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const List<T>&, int64_t>("cat", cat),
          of<T, const List<T>&, int64_t>("stack", stack),
          of<T, const List<T>&>("block_diag", block_diag),
          of<Tensors, const T&, int64_t, int64_t>("split", split),
          of<Tensors, const T&, const List<int64_t>&, int64_t>("split", split),
          of<Tensors, const T&, int64_t, int64_t>("chunk", chunk),
          of<Tensors, const T&, int64_t, int64_t>("tensor_split", tensor_split),
          of<Tensors, const T&, const List<int64_t>&, int64_t>("tensor_split", tensor_split),
          of<Tensors, const T&, int64_t>("unbind", unbind),
      });
}

void add_loss(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, const T&, Reduction, const T&>("mse_loss", mse_loss),
          of<T, const T&, const T&, Reduction, const T&>("l1_loss", l1_loss),
          of<T, const T&, const T&, Reduction, double>("smooth_l1_loss", smooth_l1_loss),
          of<T, const T&, const T&, Reduction, double, const T&>("huber_loss", huber_loss),
          of<T, const T&, const T&, Reduction, bool>("kl_div", kl_div),
          of<T, const T&, const T&, const BceOptions&>("binary_cross_entropy",
                                                       binary_cross_entropy),
          of<T, const T&, const T&, const BceWithLogitsOptions&>("binary_cross_entropy_with_logits",
                                                                 binary_cross_entropy_with_logits),
          of<T, const T&, const T&, int64_t, double>("cosine_similarity", cosine_similarity),
          of<T, const T&, double>("pdist", pdist),
          of<T, const T&, const T&, const T&, double, Reduction>("cosine_embedding_loss",
                                                                 cosine_embedding_loss),
      });
}

void add_matmul(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     of<T, const T&, const T&>("matmul", matmul),
                     of<T, const T&, const T&>("mm", mm),
                     of<T, const T&, const T&>("bmm", bmm),
                     of<T, const T&, const T&>("mv", mv),
                     of<T, const T&, const T&>("dot", dot),
                     of<T, const T&, const T&>("outer", outer),
                     of<T, const T&, const T&, const T&, const AddmmOptions&>("addmm", addmm),
                     of<T, const T&, const T&, const T&, const AddmmOptions&>("baddbmm", baddbmm),
                     of<T, const T&, const T&, const T&>("linear", linear),
                     of<T, const T&, const T&, const T&, const T&>("bilinear", bilinear),
                     of<T, const T&, const T&, int64_t>("tensordot", tensordot),
                     of<T, const T&, const T&, const Dims&, const Dims&>("tensordot", tensordot),
                 });
}

void add_normalization(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, const T&, const T&, const T&, const T&, const BatchNormFuncOptions&>(
              "batch_norm", batch_norm),
          of<T, const T&, const T&, const T&, const T&, const T&, const InstanceNormFuncOptions&>(
              "instance_norm", instance_norm),
          of<T, const T&, int64_t, const T&, const T&, double>("group_norm", group_norm),
          of<T, const T&, const Dims&, const T&, const T&, double>("layer_norm", layer_norm),
          of<T, const T&, const Dims&, const T&, std::optional<double>>("rms_norm", rms_norm),
          of<T, const T&, double, const ReduceDims&, double>("normalize", normalize),
          of<T, const T&, double, int64_t, double>("renorm", renorm),
          of<T, const T&, double, int64_t, double>("renorm_", renorm_),
      });
}

void add_pooling(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, const Dims&, const Dims&, const Dims&, const Dims&, bool>("max_pool1d",
                                                                                    max_pool1d),
          of<T, const T&, const Dims&, const Dims&, const Dims&, const Dims&, bool>("max_pool2d",
                                                                                    max_pool2d),
          of<T, const T&, const Dims&, const Dims&, const Dims&, const Dims&, bool>("max_pool3d",
                                                                                    max_pool3d),
          of<ValuesIndices, const T&, const Dims&, const Dims&, const Dims&, const Dims&, bool>(
              "max_pool1d_with_indices", max_pool1d_with_indices),
          of<ValuesIndices, const T&, const Dims&, const Dims&, const Dims&, const Dims&, bool>(
              "max_pool2d_with_indices", max_pool2d_with_indices),
          of<ValuesIndices, const T&, const Dims&, const Dims&, const Dims&, const Dims&, bool>(
              "max_pool3d_with_indices", max_pool3d_with_indices),
          of<T, const T&, const Dims&, const Dims&, const Dims&, bool, bool>("avg_pool1d",
                                                                             avg_pool1d),
          of<T, const T&, const Dims&, const Dims&, const Dims&, bool, bool, Place>("avg_pool2d",
                                                                                    avg_pool2d),
          of<T, const T&, const Dims&, const Dims&, const Dims&, bool, bool, Place>("avg_pool3d",
                                                                                    avg_pool3d),
          of<T, const T&, const Dims&>("adaptive_max_pool1d", adaptive_max_pool1d),
          of<T, const T&, const Dims&>("adaptive_max_pool2d", adaptive_max_pool2d),
          of<T, const T&, const Dims&>("adaptive_max_pool3d", adaptive_max_pool3d),
          of<ValuesIndices, const T&, const Dims&>("adaptive_max_pool1d_with_indices",
                                                   adaptive_max_pool1d_with_indices),
          of<ValuesIndices, const T&, const Dims&>("adaptive_max_pool2d_with_indices",
                                                   adaptive_max_pool2d_with_indices),
          of<ValuesIndices, const T&, const Dims&>("adaptive_max_pool3d_with_indices",
                                                   adaptive_max_pool3d_with_indices),
          of<T, const T&, const Dims&>("adaptive_avg_pool1d", adaptive_avg_pool1d),
          of<T, const T&, const Dims&>("adaptive_avg_pool2d", adaptive_avg_pool2d),
          of<T, const T&, const Dims&>("adaptive_avg_pool3d", adaptive_avg_pool3d),
      });
}

void add_random(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          random_of<T, const Dims&, const TensorOptions&, Generator*>("rand", rand),
          random_of<T, const Dims&, const TensorOptions&, Generator*>("randn", randn),
          random_of<T, int64_t, int64_t, const Dims&, const TensorOptions&, Generator*>("randint",
                                                                                        randint),
          random_of<T, int64_t, const Dims&, const TensorOptions&, Generator*>("randint", randint),
          random_of<T, int64_t, const TensorOptions&, Generator*>("randperm", randperm),
          random_of<T, const T&, const LikeOptions&, Generator*>("rand_like", rand_like),
          random_of<T, const T&, const LikeOptions&, Generator*>("randn_like", randn_like),
          random_of<T, const T&, int64_t, int64_t, const LikeOptions&, Generator*>("randint_like",
                                                                                   randint_like),
          random_of<T, const T&, int64_t, const LikeOptions&, Generator*>("randint_like",
                                                                          randint_like),
          random_of<T, const T&, double, double, Generator*>("uniform_", uniform_),
          random_of<T, const T&, double, double, Generator*>("normal_", normal_),
          random_of<T, const T&, double, Generator*>("bernoulli_", bernoulli_),
          random_of<T, const T&>("random_", random_),
          random_of<T, const T&, int64_t>("random_", random_),
          random_of<T, const T&, int64_t, Place, Generator*>("random_", random_),
          random_of<T, const T&, double, Generator*>("exponential_", exponential_),
          random_of<T, const T&, double, double, Generator*>("cauchy_", cauchy_),
          random_of<T, const T&, double, double, Generator*>("log_normal_", log_normal_),
          random_of<T, const T&, double, Generator*>("geometric_", geometric_),
          random_of<T, const T&, Generator*>("bernoulli", bernoulli),
          random_of<T, const T&, int64_t, bool, Generator*>("multinomial", multinomial),
      });
}

void add_rearrange(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     of<T, const T&, const Dims&>("flip", flip),
                     of<T, const T&, const Dims&, const Dims&>("roll", roll),
                     of<T, const T&, int64_t, Place>("roll", roll),
                     of<T, const T&, const Dims&, PadMode, const Scalar&>("pad", pad),
                     of<T, const T&, int64_t>("tril", tril),
                     of<T, const T&, int64_t>("tril_", tril_),
                     of<T, const T&, int64_t>("triu", triu),
                     of<T, const T&, int64_t>("triu_", triu_),
                     of<T, const T&, const Dims&>("repeat", repeat),
                     of<T, const T&, const Dims&>("tile", tile),
                     of<T, const T&, int64_t, Place>("repeat_interleave", repeat_interleave),
                     of<T, const T&, const T&, Place>("repeat_interleave", repeat_interleave),
                     of<Tensors, const List<T>&, const char*>("meshgrid", meshgrid),
                     of<T, const List<T>&>("cartesian_prod", cartesian_prod),
                     of<T, const T&, int64_t, bool>("combinations", combinations),
                 });
}

void add_recurrent(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<LstmState, const T&, const LstmState&, const T&, const T&, const T&, const T&>(
              "lstm_cell", lstm_cell),
          of<T, const T&, const T&, const T&, const T&, const T&, const T&>("gru_cell", gru_cell),
      });
}

void add_reduction(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     of<T, const T&, const ReduceDims&, bool, Type>("sum", sum),
                     of<T, const T&, const Dims&>("sum_to_size", sum_to_size),
                     of<T, const T&, const ReduceDims&, bool, Type>("mean", mean),
                     product_of<T, const T&, const ReduceDims&, bool, Type>("prod", prod),
                     of<T, const T&, const ReduceDims&, double, bool>("var", var),
                     of<T, const T&, const ReduceDims&, double, bool>("std", std),
                     of<VarMean, const T&, const ReduceDims&, double, bool>("var_mean", var_mean),
                     of<T, const T&, const ReduceDims&, bool>("amax", amax),
                     of<T, const T&, const ReduceDims&, bool>("amin", amin),
                     of<T, const T&>("max", max),
                     of<T, const T&>("min", min),
                     of<ValuesIndices, const T&, int64_t, bool>("max", max),
                     of<ValuesIndices, const T&, int64_t, bool>("min", min),
                     of<T, const T&, Place, bool>("argmax", argmax),
                     of<T, const T&, Place, bool>("argmin", argmin),
                     of<T, const T&, const ReduceDims&, bool>("any", any),
                     of<T, const T&, const ReduceDims&, bool>("all", all),
                     of<T, const T&, const ReduceDims&>("count_nonzero", count_nonzero),
                     of<T, const T&, double, const ReduceDims&, bool, Type>("norm", norm),
                     of<T, const T&, const ReduceDims&, bool>("logsumexp", logsumexp),
                 });
}

void add_scan(std::vector<Target>& targets) {
  targets.insert(targets.end(),
                 {
                     of<T, const T&, int64_t, Type>("cumsum", cumsum),
                     product_of<T, const T&, int64_t, Type>("cumprod", cumprod),
                     of<ValuesIndices, const T&, int64_t>("cummax", cummax),
                     of<ValuesIndices, const T&, int64_t>("cummin", cummin),
                     of<T, const T&, int64_t>("logcumsumexp", logcumsumexp),
                     of<T, const T&, const Operand&, bool>("searchsorted", searchsorted),
                     of<T, const Operand&, const T&, bool>("bucketize", bucketize),
                 });
}

void add_softmax(std::vector<Target>& targets) {
  targets.insert(targets.end(), {
                                    of<T, const T&, int64_t, Type>("softmax", softmax),
                                    of<T, const T&, int64_t, Type>("log_softmax", log_softmax),
                                });
}

void add_sort(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<ValuesIndices, const T&, int64_t, bool, bool>("sort", sort),
          of<T, const T&, int64_t, bool, bool>("argsort", argsort),
          of<ValuesIndices, const T&, int64_t, int64_t, bool, bool>("topk", topk),
          of<ValuesIndices, const T&, int64_t, int64_t, bool>("kthvalue", kthvalue),
          of<Unique, const T&, bool, bool, bool>("unique", unique),
          of<Unique, const T&, int64_t, bool, bool, bool>("unique_dim", unique_dim),
          of<Unique, const T&, bool, bool, Place>("unique_consecutive", unique_consecutive),
          of<T, const T&, const Operand&, const SearchsortedOptions&>("searchsorted", searchsorted),
          of<ValuesIndices, const T&, const SortOptions&>("sort", sort),
          of<T, const T&, const SortOptions&>("argsort", argsort),
          of<ValuesIndices, const T&, int64_t, const TopkOptions&>("topk", topk),
          of<Unique, const T&, const UniqueOptions&>("unique", unique),
          of<Unique, const T&, int64_t, const UniqueOptions&>("unique_dim", unique_dim),
          of<Unique, const T&, const UniqueConsecutiveOptions&>("unique_consecutive",
                                                                unique_consecutive),
      });
}

void add_view(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, const Dims&, const Dims&, int64_t>("as_strided", as_strided),
          of<T, const T&, int64_t, int64_t, int64_t>("diagonal", diagonal),
          of<T, const T&, const Dims&>("reshape", reshape),
          of<T, const T&, int64_t, int64_t>("flatten", flatten),
          of<T, const T&, int64_t, const Shape&>("unflatten", unflatten),
          of<T, const T&, const Dims&>("permute", permute),
          of<T, const T&, int64_t, int64_t>("transpose", transpose),
          of<T, const T&>("squeeze", squeeze),
          of<T, const T&, int64_t>("squeeze", squeeze),
          of<T, const T&, const Dims&>("squeeze", squeeze),
          of<T, const T&, int64_t>("unsqueeze", unsqueeze),
          of<T, const T&, const Dims&>("expand", expand),
          of<T, const T&, int64_t, int64_t>("select", select),
          of<T, const T&, int64_t, int64_t, int64_t>("narrow", narrow),
          of<T, const T&, int64_t, int64_t>("movedim", movedim),
          of<T, const T&, const Dims&, const Dims&>("movedim", movedim),
          of<T, const T&, int64_t>("diag", diag),
          of<T, const T&, int64_t, int64_t, int64_t>("unfold", unfold),
          of<T, const T&, const T&, int64_t, Place, Place, int64_t>("slice_scatter", slice_scatter),
          of<T, const T&, const T&, int64_t, int64_t>("select_scatter", select_scatter),
          of<T, const T&, const T&, int64_t, int64_t, int64_t>("diagonal_scatter",
                                                               diagonal_scatter),
          of(
              "as_strided_scatter",
              +[](const T& x, const T& src, const Dims& shape, const Dims& strides,
                  int64_t offset) {
                return as_strided_scatter(x, src, Shape(shape), Strides(strides), offset);
              }),
      });
}

// With every way to interpolate, and one that there isn't.
template <Tensor (*f)(const T&, const Operand&, Place, bool, const char*)>
Target quantile_target(const char* name) {
  return of(
      name, +[](const T& x, const Operand& q, Place dim, bool keepdim, int64_t which) {
        static constexpr const char* kWays[] = {"linear",   "lower",   "higher",
                                                "midpoint", "nearest", "cubic"};
        return f(x, q, dim, keepdim, kWays[static_cast<uint64_t>(which) % std::size(kWays)]);
      });
}

void add_statistics(std::vector<Target>& targets) {
  using Number = std::optional<double>;
  targets.insert(targets.end(),
                 {
                     of<T, const T&, double, Number, Number>("nan_to_num", nan_to_num),
                     of<T, const T&, double, Number, Number>("nan_to_num_", nan_to_num_),
                     of<T, const T&, const ReduceDims&, bool, Type>("nansum", nansum),
                     of<T, const T&, const ReduceDims&, bool, Type>("nanmean", nanmean),
                     of<T, const T&>("median", median),
                     of<ValuesIndices, const T&, int64_t, bool>("median", median),
                     of<T, const T&>("nanmedian", nanmedian),
                     of<ValuesIndices, const T&, int64_t, bool>("nanmedian", nanmedian),
                     quantile_target<quantile>("quantile"),
                     quantile_target<nanquantile>("nanquantile"),
                     of<T, const T&, int64_t, const Scalar&, const Scalar&>("histc", histc),
                     of<T, const T&, const HistcOptions&>("histc", histc),
                     of(
                         "histogram",
                         +[](const T& x, int64_t bins, double first, double last, const T& weight,
                             bool density) {
                           const auto [hist, edges] = histogram(
                               x, bins,
                               {.range = {{first, last}}, .weight = weight, .density = density});
                           return Tensors{hist, edges, histogram(x, bins).hist};
                         }),
                     of(
                         "histogram",
                         +[](const T& x, const T& edges, const T& weight) {
                           return histogram(x, edges, {.weight = weight}).hist;
                         }),
                     of(
                         "frexp",
                         +[](const T& x) {
                           const auto [mantissa, exponent] = frexp(x);
                           return Tensors{mantissa, exponent};
                         }),
                     of<T, const T&, int64_t>("mvlgamma", mvlgamma),
                     of<T, const T&, int64_t>("mvlgamma_", mvlgamma_),
                     of<T, const T&, const T&, int64_t>("bincount", bincount),
                     of<T, const T&, int64_t, const T&, const T&>("cov", cov),
                     of<T, const T&>("corrcoef", corrcoef),
                     of<T, const T&, int64_t, int64_t, const T&, const T&>("diff", diff),
                     of<T, const T&, const T&>("kron", kron),
                     of<T, const T&>("trace", trace),
                 });
}

}  // namespace

void add_structured(std::vector<Target>& targets) {
  add_attention(targets);
  add_closeness(targets);
  add_convolution(targets);
  add_creation(targets);
  add_cross_entropy(targets);
  add_dropout(targets);
  add_embedding(targets);
  add_indexing(targets);
  add_im2col(targets);
  add_interpolate(targets);
  add_join(targets);
  add_loss(targets);
  add_matmul(targets);
  add_normalization(targets);
  add_pooling(targets);
  add_random(targets);
  add_rearrange(targets);
  add_recurrent(targets);
  add_reduction(targets);
  add_scan(targets);
  add_softmax(targets);
  add_sort(targets);
  add_view(targets);
  add_statistics(targets);
}

}  // namespace aorta::siege
