// Fills the CPU's column of decompositions where a program links them.
namespace aorta::cpu {

void register_linalg();
void register_linalg_eig();
void register_ldl();
void register_linalg_exp();
void register_linalg_spectra();

namespace {

[[maybe_unused]] const bool registered = [] {
  register_linalg();
  register_linalg_eig();
  register_ldl();
  register_linalg_exp();
  register_linalg_spectra();
  return true;
}();

}  // namespace
}  // namespace aorta::cpu
