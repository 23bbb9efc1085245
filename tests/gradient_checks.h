#pragma once

#include <aorta/tests/op_catalog.h>

#include <set>
#include <string>

// The checks of gradients that every row of the op catalogue goes through, at the samples whose
// inputs are floating and no larger than 1000, and whose results and gradients are finite: finite
// differences say nothing elsewhere.
namespace aorta::catalog {

/// Whether a call has floating inputs to differentiate with respect to.
bool has_gradient(const Row& row);
/// How many samples of the row its gradients are checked at.
int gradient_points(const Row& row);
/// The ops whose CPU kernels its gradients run there.
std::set<std::string> kernels_of_gradients(const Row& row);
/// Gradients agree with finite differences in f64.
void check_gradients(const Row& row);
/// They are PyTorch's, also at ties and kinks, where finite differences say nothing.
void check_gradient_fixtures(const Row& row);
/// Second derivatives agree with finite differences of gradients.
void check_second_gradients(const Row& row);
/// Gradients in f32 and bf16 agree with those in f64.
void check_gradient_dtypes(const Row& row);
/// Gradients on a device agree with the CPU's in the same dtype. Returns how many samples its
/// kernels had: where one of the gradient is missing, the error names it.
int check_gradients_on(const Row& row, Device device);
/// Gradients of inputs that lie in memory in other ways, and of incoming gradients that do or that
/// are one number for all, agree with the CPU's of plain ones, in f64, at a sample of each call.
void check_gradient_layouts_on(const Row& row, Device device);
/// Gradients of gradients there agree with the CPU's, in f64, at a sample of each call.
void check_second_gradients_on(const Row& row, Device device);
/// On meta gradients, and those of gradients, have the shapes and dtypes of the leaves.
void check_gradients_planned(const Row& row);
/// Inputs of other layouts get the same gradients.
void check_gradient_layouts(const Row& row);
/// The in-place form has the gradients of the op.
void check_gradient_in_place(const Row& row);
/// Wrong gradients are found: scaled by 1.01, with the other sign, at the wrong elements, with
/// elements zeroed, and taken from one repetition where an input was broadcast. Returns which are.
std::vector<bool> check_gradient_mutants(const Row& row);

}  // namespace aorta::catalog
