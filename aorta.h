// Aorta, all of it: the one header that a program includes.
#pragma once

#include <aorta/autograd/anomaly.h>            // IWYU pragma: export
#include <aorta/autograd/backward.h>           // IWYU pragma: export
#include <aorta/autograd/checkpoint.h>         // IWYU pragma: export
#include <aorta/autograd/dot.h>                // IWYU pragma: export
#include <aorta/autograd/function.h>           // IWYU pragma: export
#include <aorta/autograd/functional.h>         // IWYU pragma: export
#include <aorta/autograd/grad_mode.h>          // IWYU pragma: export
#include <aorta/autograd/gradcheck.h>          // IWYU pragma: export
#include <aorta/autograd/hooks.h>              // IWYU pragma: export
#include <aorta/autograd/saved.h>              // IWYU pragma: export
#include <aorta/autograd/sparse_gradient.h>    // IWYU pragma: export
#include <aorta/core/backends.h>               // IWYU pragma: export
#include <aorta/core/check.h>                  // IWYU pragma: export
#include <aorta/core/comm.h>                   // IWYU pragma: export
#include <aorta/core/device.h>                 // IWYU pragma: export
#include <aorta/core/dispatch/autocast.h>      // IWYU pragma: export
#include <aorta/core/dispatch/capture.h>       // IWYU pragma: export
#include <aorta/core/dispatch/profiler.h>      // IWYU pragma: export
#include <aorta/core/dlpack.h>                 // IWYU pragma: export
#include <aorta/core/finfo.h>                  // IWYU pragma: export
#include <aorta/core/io/load_save.h>           // IWYU pragma: export
#include <aorta/core/io/state.h>               // IWYU pragma: export
#include <aorta/core/ops/attention.h>          // IWYU pragma: export
#include <aorta/core/ops/closeness.h>          // IWYU pragma: export
#include <aorta/core/ops/complex.h>            // IWYU pragma: export
#include <aorta/core/ops/convolution.h>        // IWYU pragma: export
#include <aorta/core/ops/creation.h>           // IWYU pragma: export
#include <aorta/core/ops/cross_entropy.h>      // IWYU pragma: export
#include <aorta/core/ops/ctc_loss.h>           // IWYU pragma: export
#include <aorta/core/ops/dropout.h>            // IWYU pragma: export
#include <aorta/core/ops/einsum.h>             // IWYU pragma: export
#include <aorta/core/ops/embedding.h>          // IWYU pragma: export
#include <aorta/core/ops/fft.h>                // IWYU pragma: export
#include <aorta/core/ops/im2col.h>             // IWYU pragma: export
#include <aorta/core/ops/indexing.h>           // IWYU pragma: export
#include <aorta/core/ops/interpolate.h>        // IWYU pragma: export
#include <aorta/core/ops/join.h>               // IWYU pragma: export
#include <aorta/core/ops/linalg.h>             // IWYU pragma: export
#include <aorta/core/ops/linalg_norms.h>       // IWYU pragma: export
#include <aorta/core/ops/loss.h>               // IWYU pragma: export
#include <aorta/core/ops/matmul.h>             // IWYU pragma: export
#include <aorta/core/ops/nan.h>                // IWYU pragma: export
#include <aorta/core/ops/normalization.h>      // IWYU pragma: export
#include <aorta/core/ops/pointwise.h>          // IWYU pragma: export
#include <aorta/core/ops/pooling.h>            // IWYU pragma: export
#include <aorta/core/ops/quantile.h>           // IWYU pragma: export
#include <aorta/core/ops/random.h>             // IWYU pragma: export
#include <aorta/core/ops/rearrange.h>          // IWYU pragma: export
#include <aorta/core/ops/recurrent.h>          // IWYU pragma: export
#include <aorta/core/ops/reduction.h>          // IWYU pragma: export
#include <aorta/core/ops/scan.h>               // IWYU pragma: export
#include <aorta/core/ops/searchsorted.h>       // IWYU pragma: export
#include <aorta/core/ops/softmax.h>            // IWYU pragma: export
#include <aorta/core/ops/sort.h>               // IWYU pragma: export
#include <aorta/core/ops/sparse.h>             // IWYU pragma: export
#include <aorta/core/ops/statistics.h>         // IWYU pragma: export
#include <aorta/core/ops/stft.h>               // IWYU pragma: export
#include <aorta/core/ops/view.h>               // IWYU pragma: export
#include <aorta/core/ops/view_scatter.h>       // IWYU pragma: export
#include <aorta/core/parallel_for.h>           // IWYU pragma: export
#include <aorta/core/process/init.h>           // IWYU pragma: export
#include <aorta/core/process/process_group.h>  // IWYU pragma: export
#include <aorta/core/tensor.h>                 // IWYU pragma: export
#include <aorta/core/thread_limit.h>           // IWYU pragma: export
#include <aorta/core/version.h>                // IWYU pragma: export
#include <aorta/data/batch.h>                  // IWYU pragma: export
#include <aorta/data/combine.h>                // IWYU pragma: export
#include <aorta/data/csv.h>                    // IWYU pragma: export
#include <aorta/data/dataset.h>                // IWYU pragma: export
#include <aorta/data/datasets/cifar10.h>       // IWYU pragma: export
#include <aorta/data/datasets/csv_dataset.h>   // IWYU pragma: export
#include <aorta/data/datasets/echo.h>          // IWYU pragma: export
#include <aorta/data/datasets/image_folder.h>  // IWYU pragma: export
#include <aorta/data/datasets/lsun.h>          // IWYU pragma: export
#include <aorta/data/datasets/mnist.h>         // IWYU pragma: export
#include <aorta/data/datasets/npz_dataset.h>   // IWYU pragma: export
#include <aorta/data/distributed_sampler.h>    // IWYU pragma: export
#include <aorta/data/idx.h>                    // IWYU pragma: export
#include <aorta/data/images/image.h>           // IWYU pragma: export
#include <aorta/data/images/jpeg.h>            // IWYU pragma: export
#include <aorta/data/images/png.h>             // IWYU pragma: export
#include <aorta/data/images/polygon.h>         // IWYU pragma: export
#include <aorta/data/images/statistics.h>      // IWYU pragma: export
#include <aorta/data/images/transformed.h>     // IWYU pragma: export
#include <aorta/data/images/transforms.h>      // IWYU pragma: export
#include <aorta/data/loader.h>                 // IWYU pragma: export
#include <aorta/data/random_samplers.h>        // IWYU pragma: export
#include <aorta/data/sampler.h>                // IWYU pragma: export
#include <aorta/data/video/video.h>            // IWYU pragma: export
#include <aorta/data/workers/process.h>        // IWYU pragma: export
#include <aorta/data/workers/tensor_queue.h>   // IWYU pragma: export
#include <aorta/models/convnext.h>             // IWYU pragma: export
#include <aorta/models/densenet.h>             // IWYU pragma: export
#include <aorta/models/efficientnet.h>         // IWYU pragma: export
#include <aorta/models/googlenet.h>            // IWYU pragma: export
#include <aorta/models/inception.h>            // IWYU pragma: export
#include <aorta/models/lenet.h>                // IWYU pragma: export
#include <aorta/models/make.h>                 // IWYU pragma: export
#include <aorta/models/maxvit.h>               // IWYU pragma: export
#include <aorta/models/mlp.h>                  // IWYU pragma: export
#include <aorta/models/mnasnet.h>              // IWYU pragma: export
#include <aorta/models/mobilenet.h>            // IWYU pragma: export
#include <aorta/models/regnet.h>               // IWYU pragma: export
#include <aorta/models/resnet.h>               // IWYU pragma: export
#include <aorta/models/segmentation.h>         // IWYU pragma: export
#include <aorta/models/shufflenet.h>           // IWYU pragma: export
#include <aorta/models/squeezenet.h>           // IWYU pragma: export
#include <aorta/models/swin_transformer.h>     // IWYU pragma: export
#include <aorta/models/unet.h>                 // IWYU pragma: export
#include <aorta/models/unet_3d.h>              // IWYU pragma: export
#include <aorta/models/vgg.h>                  // IWYU pragma: export
#include <aorta/models/video_resnet.h>         // IWYU pragma: export
#include <aorta/models/vision_transformer.h>   // IWYU pragma: export
#include <aorta/nn/activation.h>               // IWYU pragma: export
#include <aorta/nn/attention.h>                // IWYU pragma: export
#include <aorta/nn/call.h>                     // IWYU pragma: export
#include <aorta/nn/container.h>                // IWYU pragma: export
#include <aorta/nn/conv.h>                     // IWYU pragma: export
#include <aorta/nn/ctc_loss.h>                 // IWYU pragma: export
#include <aorta/nn/draw_graph.h>               // IWYU pragma: export
#include <aorta/nn/dropout.h>                  // IWYU pragma: export
#include <aorta/nn/embedding.h>                // IWYU pragma: export
#include <aorta/nn/embedding_bag.h>            // IWYU pragma: export
#include <aorta/nn/fold.h>                     // IWYU pragma: export
#include <aorta/nn/fuse.h>                     // IWYU pragma: export
#include <aorta/nn/grid_sample.h>              // IWYU pragma: export
#include <aorta/nn/init.h>                     // IWYU pragma: export
#include <aorta/nn/linear.h>                   // IWYU pragma: export
#include <aorta/nn/loss.h>                     // IWYU pragma: export
#include <aorta/nn/margin_loss.h>              // IWYU pragma: export
#include <aorta/nn/module.h>                   // IWYU pragma: export
#include <aorta/nn/normalization.h>            // IWYU pragma: export
#include <aorta/nn/packed_sequence.h>          // IWYU pragma: export
#include <aorta/nn/padding.h>                  // IWYU pragma: export
#include <aorta/nn/parallel/data_parallel.h>   // IWYU pragma: export
#include <aorta/nn/parameter_vector.h>         // IWYU pragma: export
#include <aorta/nn/parametrizations.h>         // IWYU pragma: export
#include <aorta/nn/parametrize.h>              // IWYU pragma: export
#include <aorta/nn/pooling.h>                  // IWYU pragma: export
#include <aorta/nn/recurrent.h>                // IWYU pragma: export
#include <aorta/nn/step_plan.h>                // IWYU pragma: export
#include <aorta/nn/summary.h>                  // IWYU pragma: export
#include <aorta/nn/transformer.h>              // IWYU pragma: export
#include <aorta/nn/upsample.h>                 // IWYU pragma: export
#include <aorta/optim/adadelta.h>              // IWYU pragma: export
#include <aorta/optim/adafactor.h>             // IWYU pragma: export
#include <aorta/optim/adagrad.h>               // IWYU pragma: export
#include <aorta/optim/adam.h>                  // IWYU pragma: export
#include <aorta/optim/adamax.h>                // IWYU pragma: export
#include <aorta/optim/asgd.h>                  // IWYU pragma: export
#include <aorta/optim/averaging.h>             // IWYU pragma: export
#include <aorta/optim/clip.h>                  // IWYU pragma: export
#include <aorta/optim/composed_schedules.h>    // IWYU pragma: export
#include <aorta/optim/grad_scaler.h>           // IWYU pragma: export
#include <aorta/optim/lbfgs.h>                 // IWYU pragma: export
#include <aorta/optim/muon.h>                  // IWYU pragma: export
#include <aorta/optim/nadam.h>                 // IWYU pragma: export
#include <aorta/optim/optimizer.h>             // IWYU pragma: export
#include <aorta/optim/oracle.h>                // IWYU pragma: export
#include <aorta/optim/plateau.h>               // IWYU pragma: export
#include <aorta/optim/radam.h>                 // IWYU pragma: export
#include <aorta/optim/rmsprop.h>               // IWYU pragma: export
#include <aorta/optim/rprop.h>                 // IWYU pragma: export
#include <aorta/optim/schedules.h>             // IWYU pragma: export
#include <aorta/optim/sgd.h>                   // IWYU pragma: export
#include <aorta/optim/sparse_adam.h>           // IWYU pragma: export
#include <aorta/optim/zero_redundancy.h>       // IWYU pragma: export

// PyTorch's names of rooms, for who looks a function up by them.
namespace aorta::nn {
namespace functional {
using namespace aorta;
using namespace aorta::nn;
}  // namespace functional
namespace utils {
using nn::parameters_to_vector;
using nn::vector_to_parameters;
using optim::clip_grad_norm_;
using optim::clip_grad_value_;
namespace rnn {
using namespace aorta::nn;
}  // namespace rnn
}  // namespace utils
}  // namespace aorta::nn
