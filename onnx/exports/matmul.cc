#include <aorta/core/ops/matmul.h>
#include <aorta/onnx/export_call.h>

// Matrix products.
namespace aorta::onnx {
namespace {

Names matmul(const ExportCall& call) { return {call.node("MatMul", {call[0], call[1]})}; }

// A Gemm of a matrix; of more dimensions a product with the transposed weight.
Names linear(const ExportCall& call) {
  if (call.input(0).dim() == 2 && is_floating(call.output().dtype())) {
    Names inputs{call[0], call[1]};
    if (call.has(2)) inputs.push_back(call[2]);
    return {call.node("Gemm", inputs, {attribute("transB", 1)})};
  }
  const std::string weight =
      call.node("Transpose", {call[1]}, {attribute("perm", std::vector<int64_t>{1, 0})});
  const std::string product = call.node("MatMul", {call[0], weight});
  return {call.has(2) ? call.node("Add", {product, call[2]}) : product};
}

// beta * input + alpha * a @ b.
Names addmm(const ExportCall& call) {
  const auto& [options] = call.options<AddmmOptions>();
  const double beta = options.beta.to_double(), alpha = options.alpha.to_double();
  const DType dtype = call.output().dtype();
  // Gemm's attributes are f32.
  const auto is_attribute = [&](double value) {
    return dtype != f64 || static_cast<double>(static_cast<float>(value)) == value;
  };
  if (call.output().dim() == 2 && is_floating(dtype) && is_attribute(alpha) && is_attribute(beta)) {
    Names inputs{call[1], call[2]};
    if (beta != 0) inputs.push_back(call[0]);
    return {call.node("Gemm", inputs, {attribute("alpha", alpha), attribute("beta", beta)})};
  }
  std::string product = call.node("MatMul", {call[1], call[2]});
  if (alpha != 1) product = call.node("Mul", {product, call.number(options.alpha, dtype)});
  if (beta == 0) return {product};
  std::string input = call[0];
  if (beta != 1) input = call.node("Mul", {input, call.number(options.beta, dtype)});
  return {call.node("Add", {input, product})};
}

Names det(const ExportCall& call) { return {call.node("Det", {call[0]})}; }

}  // namespace

void add_matmul_exports(Exports& table) {
  table["matmul"] = matmul;
  table["linear"] = linear;
  table["addmm"] = addmm;
  table["det"] = det;
}

}  // namespace aorta::onnx
