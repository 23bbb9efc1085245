#include <aorta/core/ops/copy.h>
#include <aorta/core/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace aorta {
namespace {

constexpr int64_t kSummaryThreshold = 1000;  // elements from which a tensor is summarised
constexpr int64_t kEdgeItems = 3;            // items shown at each end of a summarised dimension
constexpr size_t kLineWidth = 80;
constexpr int kPrecision = 4;

// How the numbers of one tensor are written: all alike, so that columns align.
struct NumberFormat {
  enum class Style { integer, boolean, whole, fixed, scientific } style;
  int width = 0;

  std::string operator()(const Scalar& value) const {
    char text[64];
    switch (style) {
      case Style::boolean:
        return pad(value.to_bool() ? "True" : "False");
      case Style::integer:
        std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value.to_int()));
        return pad(text);
      case Style::whole:
        if (!std::isfinite(value.to_double())) return pad(special(value.to_double()));
        std::snprintf(text, sizeof text, "%.0f.", value.to_double());
        return pad(text);
      case Style::fixed:
        if (!std::isfinite(value.to_double())) return pad(special(value.to_double()));
        std::snprintf(text, sizeof text, "%.*f", kPrecision, value.to_double());
        return pad(text);
      case Style::scientific:
        break;
    }
    if (!std::isfinite(value.to_double())) return pad(special(value.to_double()));
    std::snprintf(text, sizeof text, "%.*e", kPrecision, value.to_double());
    return pad(text);
  }

  static const char* special(double value) {
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  std::string pad(std::string text) const {
    if (static_cast<int>(text.size()) < width)
      text.insert(0, static_cast<size_t>(width) - text.size(), ' ');
    return text;
  }
};

// How an element is written: the parts of a complex one have a format each.
struct ElementFormat {
  NumberFormat number;
  std::optional<NumberFormat> imaginary = {};

  std::string operator()(const Scalar& value) const {
    if (!imaginary) return number(value);
    std::string part = (*imaginary)(value.imag());
    part.erase(0, part.find_first_not_of(' '));
    return number(value.real()) + (part[0] == '-' ? "" : "+") + part + "j";
  }
};

bool shortened(const Tensor& t, int dim, bool summarize) {
  return summarize && t.size(dim) > 2 * kEdgeItems;
}

// The elements that are shown, in order.
void collect(const Tensor& t, bool summarize, std::vector<Scalar>& values) {
  if (t.dim() == 0) {
    values.push_back(t.item());
    return;
  }
  for (int64_t i = 0; i < t.size(0); ++i) {
    if (shortened(t, 0, summarize) && i == kEdgeItems) i = t.size(0) - kEdgeItems;
    collect(t[i], summarize, values);
  }
}

// PyTorch's choice: whole numbers without digits, scientific when the range is wide.
NumberFormat choose_format(DType dtype, const std::vector<Scalar>& values) {
  using Style = NumberFormat::Style;
  NumberFormat format{dtype == DType::boolean ? Style::boolean
                      : is_floating(dtype)    ? Style::whole
                                              : Style::integer};
  if (is_floating(dtype)) {
    double largest = 0, smallest = INFINITY;
    bool whole = true;
    for (const Scalar& value : values) {
      const double x = std::fabs(value.to_double());
      if (!std::isfinite(x)) continue;
      whole &= x == std::floor(x);
      if (x == 0) continue;
      largest = std::max(largest, x);
      smallest = std::min(smallest, x);
    }
    if (largest > 0) {
      const bool wide = largest / smallest > 1000 || largest > 1e8 || (!whole && smallest < 1e-4);
      format.style = wide ? Style::scientific : whole ? Style::whole : Style::fixed;
    }
  }
  for (const Scalar& value : values) {
    if (!std::isfinite(value.to_double())) continue;  // as in PyTorch, nan and inf may stick out
    format.width =
        std::max(format.width, static_cast<int>(NumberFormat{format.style}(value).size()));
  }
  return format;
}

ElementFormat element_format(DType dtype, const std::vector<Scalar>& values) {
  if (!is_complex(dtype)) return {choose_format(dtype, values)};
  std::vector<Scalar> real, imaginary;
  for (const Scalar& value : values) {
    real.push_back(value.real());
    imaginary.push_back(value.imag());
  }
  return {choose_format(real_dtype(dtype), real), choose_format(real_dtype(dtype), imaginary)};
}

// "(0, 3)".
std::string size_text(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

std::string write_row(const Tensor& t, bool summarize, const ElementFormat& format, size_t indent) {
  std::string text = "[";
  size_t line = indent + 1;
  const int64_t n = t.size(0);
  for (int64_t i = 0; i < n; ++i) {
    std::string item;
    if (shortened(t, 0, summarize) && i == kEdgeItems) {
      item = " ...";
      i = n - kEdgeItems - 1;
    } else {
      item = format(t[i].item());
    }
    if (line + item.size() + 2 > kLineWidth && line > indent + 1) {
      text.pop_back();
      text += '\n' + std::string(indent + 1, ' ');
      line = indent + 1;
    }
    text += item;
    line += item.size() + 2;
    if (i + 1 < n) text += ", ";
  }
  return text + "]";
}

std::string write(const Tensor& t, bool summarize, const ElementFormat& format, size_t indent) {
  if (t.dim() == 0) return format(t.item());
  if (t.dim() == 1) return write_row(t, summarize, format, indent);
  std::string text = "[";
  const int64_t n = t.size(0);
  const std::string gap =
      std::string(static_cast<size_t>(t.dim()) - 1, '\n') + std::string(indent + 1, ' ');
  for (int64_t i = 0; i < n; ++i) {
    if (shortened(t, 0, summarize) && i == kEdgeItems) {
      text += "...," + gap;
      i = n - kEdgeItems;
    }
    text += write(t[i], summarize, format, indent + 1);
    if (i + 1 < n) text += "," + gap;
  }
  return text + "]";
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "tensor(undefined)";
  std::string suffix;
  const bool usual = tensor.dtype() == DType::f32 || tensor.dtype() == DType::i64 ||
                     tensor.dtype() == DType::boolean || tensor.dtype() == DType::c64;
  if (tensor.is_meta() || (tensor.numel() == 0 && tensor.dim() != 1))
    suffix += ", size=" + size_text(tensor.shape());
  if (!usual || (tensor.numel() == 0 && tensor.dtype() != DType::f32))
    suffix += std::string(", dtype=") + name(tensor.dtype());
  if (tensor.device() != Device()) suffix += ", device=" + to_string(tensor.device());
  if (tensor.requires_grad()) suffix += ", requires_grad=true";
  if (tensor.is_meta()) return "tensor(..." + suffix + ")";
  if (tensor.numel() == 0) return "tensor([]" + suffix + ")";
  const Tensor values = tensor.detach().cpu();
  const bool summarize = tensor.numel() > kSummaryThreshold;
  std::vector<Scalar> shown;
  collect(values, summarize, shown);
  const ElementFormat format = element_format(tensor.dtype(), shown);
  return "tensor(" + write(values, summarize, format, 7) + suffix + ")";
}

}  // namespace aorta
