#include <aorta/core/cpu/linalg.h>

#include <Eigen/Dense>
#include <unsupported/Eigen/MatrixFunctions>

namespace aorta::cpu {
namespace {

void matrix_exp(const TwoFactorsArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      matrix_of<T>(args.first, i, args.n, args.n) = Columns<T>(a).exp();
      return true;
    });
  });
}

}  // namespace

void register_linalg_exp() { matrix_exp_op.set_kernel(DeviceType::cpu, matrix_exp); }

}  // namespace aorta::cpu
