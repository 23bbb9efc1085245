#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>

#include <algorithm>

namespace aorta {
namespace {

// A label names a dimension: A-Z are 0-25 and a-z 26-51, the order in which an implicit output has
// them. The dimensions of "..." are 52, 53, ... with the last one highest.
constexpr int kLetters = 52;
constexpr int kLabels = kLetters + kMaxDims;
using Labels = Dims;

int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return 26 + c - 'a';
  return -1;
}

bool contains(const Labels& labels, int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// The subscripts of one operand, or of the output: letters before and after "...".
struct Subscripts {
  Labels before, after;
  bool ellipsis = false;
  int letters() const { return before.size() + after.size(); }
};

Subscripts parse(std::string_view text, std::string_view equation) {
  Subscripts result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      check(text.substr(i, 3) == "...", "einsum", "dots must be three, as \"...\"", equation);
      check(!result.ellipsis, "einsum", "an operand can have one \"...\"", equation);
      result.ellipsis = true;
      i += 2;
      continue;
    }
    const int label = label_of(text[i]);
    check(label >= 0, "einsum", "subscripts must be letters from a to z or A to Z", equation);
    check(result.letters() < kMaxDims, "einsum", "at most 12 subscripts an operand", equation);
    (result.ellipsis ? result.after : result.before).push_back(label);
  }
  return result;
}

// A tensor and the label of each of its dimensions.
struct Term {
  Tensor tensor;
  Labels labels;

  int find(int64_t label) const {
    const auto place = std::find(labels.begin(), labels.end(), label);
    return place == labels.end() ? -1 : static_cast<int>(place - labels.begin());
  }
  int64_t size(int64_t label) const { return tensor.shape()[find(label)]; }
};

// Labels with "..." spelt out over `dims` dimensions.
Labels spell_out(const Subscripts& subscripts, int dims) {
  Labels labels = subscripts.before;
  for (int i = kMaxDims - dims; i < kMaxDims && subscripts.ellipsis; ++i)
    labels.push_back(kLetters + i);
  for (const int64_t label : subscripts.after) labels.push_back(label);
  return labels;
}

Term make_term(std::string_view text, const Tensor& operand, std::string_view equation) {
  const Subscripts subscripts = parse(text, equation);
  const int dims = operand.dim() - subscripts.letters();
  check(subscripts.ellipsis ? dims >= 0 : dims == 0, "einsum",
        "an operand must have a subscript for every dimension", equation, " with shape ",
        operand.shape());
  Term term{operand, spell_out(subscripts, dims)};
  // A repeated label: the diagonal replaces both dimensions, as the last one.
  for (int i = 0; i < term.labels.size(); ++i) {
    for (int j = i + 1; j < term.labels.size(); ++j) {
      if (term.labels[i] != term.labels[j]) continue;
      check(term.tensor.size(i) == term.tensor.size(j), "einsum",
            "dimensions with one subscript must have one size", equation, " with shape ",
            operand.shape());
      const int64_t label = term.labels[i];
      term.tensor = diagonal(term.tensor, 0, i, j);
      term.labels.erase(j);
      term.labels.erase(i);
      term.labels.push_back(label);
      i = -1;  // the positions have moved: look again
      break;
    }
  }
  return term;
}

Labels implicit_output(const std::vector<Term>& terms, std::string_view inputs) {
  int count[kLetters] = {};
  for (const char c : inputs) {
    if (label_of(c) >= 0) ++count[label_of(c)];
  }
  Labels output;
  for (int label = kLetters; label < kLabels; ++label) {
    for (const Term& term : terms) {
      if (!contains(term.labels, label)) continue;
      output.push_back(label);
      break;
    }
  }
  for (int label = 0; label < kLetters; ++label) {
    if (count[label] != 1) continue;
    check(output.size() < kMaxDims, "einsum", "the output can have 12 dimensions at most", inputs);
    output.push_back(label);
  }
  return output;
}

Labels explicit_output(std::string_view text, const std::vector<Term>& terms,
                       std::string_view equation) {
  const Subscripts subscripts = parse(text, equation);
  int ellipsis = 0;
  for (const Term& term : terms) {
    ellipsis = std::max(
        ellipsis, static_cast<int>(std::count_if(term.labels.begin(), term.labels.end(),
                                                 [](int64_t label) { return label >= kLetters; })));
  }
  check(subscripts.letters() + (subscripts.ellipsis ? ellipsis : 0) <= kMaxDims, "einsum",
        "the output can have 12 dimensions at most", equation);
  const Labels output = spell_out(subscripts, ellipsis);
  for (const int64_t label : output) {
    check(std::count(output.begin(), output.end(), label) == 1, "einsum",
          "an output subscript can't be repeated", equation);
    check(std::any_of(terms.begin(), terms.end(),
                      [&](const Term& term) { return contains(term.labels, label); }),
          "einsum", "an output subscript must be an operand's", equation);
  }
  return output;
}

void check_sizes(const std::vector<Term>& terms, std::string_view equation) {
  int64_t sizes[kLabels];
  std::fill_n(sizes, kLabels, 1);
  for (const Term& term : terms) {
    for (int i = 0; i < term.labels.size(); ++i) {
      int64_t& size = sizes[term.labels[i]];
      const int64_t here = term.tensor.shape()[i];
      check(here == 1 || size == 1 || here == size, "einsum",
            "sizes under one subscript must match or be 1", equation, " with ", size, " and ",
            here);
      if (here != 1) size = here;
    }
  }
}

// `term` without the dimensions of `labels`, which are summed.
Term sum_out(const Term& term, const Labels& labels) {
  if (labels.empty()) return term;
  Dims dims;
  Term result{term.tensor, {}};
  for (int i = 0; i < term.labels.size(); ++i) {
    if (contains(labels, term.labels[i]))
      dims.push_back(i);
    else
      result.labels.push_back(term.labels[i]);
  }
  result.tensor = sum(term.tensor, dims, false, term.tensor.dtype());
  return result;
}

// `term` with its dimensions in the order of `labels`, which are all of its own; a label that it
// lacks becomes a dimension of size 1.
Tensor arrange(const Term& term, const Labels& labels) {
  Dims order;
  for (const int64_t label : labels) {
    if (term.find(label) >= 0) order.push_back(term.find(label));
  }
  Tensor tensor = term.tensor.permute(order);
  for (int i = 0; i < labels.size(); ++i) {
    if (term.find(labels[i]) < 0) tensor = tensor.unsqueeze(i);
  }
  return tensor;
}

Labels join(const Labels& a, const Labels& b) {
  check(a.size() + b.size() <= kMaxDims, "einsum", "a product can have 12 dimensions at most",
        a.size() + b.size());
  Labels result = a;
  for (const int64_t label : b) result.push_back(label);
  return result;
}

int64_t product_of(const Term& term, const Labels& labels) {
  int64_t product = 1;
  for (const int64_t label : labels) product *= term.size(label);
  return product;
}

// A dimension of size 1 that the other term has larger broadcasts: it is taken away.
void drop_broadcast(Term& term, const Term& other) {
  for (int i = term.labels.size() - 1; i >= 0; --i) {
    const int there = other.find(term.labels[i]);
    if (there < 0 || term.tensor.shape()[i] == other.tensor.shape()[there]) continue;
    if (term.tensor.shape()[i] != 1) continue;
    term.tensor = term.tensor.select(i, 0);
    term.labels.erase(i);
  }
}

// The product of two terms, summed over the labels that are not in `keep`.
Term multiply(Term a, Term b, const Labels& keep) {
  drop_broadcast(a, b);
  drop_broadcast(b, a);
  // Each label of a: in both and kept (batch), in both and summed (inner), in a alone and kept
  // (a_only), or summed beforehand.
  Labels batch, inner, a_only, b_only, a_summed, b_summed;
  for (const int64_t label : a.labels) {
    const bool kept = contains(keep, label);
    if (b.find(label) >= 0)
      (kept ? batch : inner).push_back(label);
    else
      (kept ? a_only : a_summed).push_back(label);
  }
  for (const int64_t label : b.labels) {
    if (a.find(label) < 0) (contains(keep, label) ? b_only : b_summed).push_back(label);
  }
  a = sum_out(a, a_summed);
  b = sum_out(b, b_summed);
  const Labels labels = join(batch, join(a_only, b_only));
  if (inner.empty()) return {mul(arrange(a, labels), arrange(b, labels)), labels};
  Shape shape;
  for (const int64_t label : labels) shape.push_back((a.find(label) < 0 ? b : a).size(label));
  const int64_t items = product_of(a, batch), k = product_of(a, inner);
  const int64_t m = product_of(a, a_only), n = product_of(b, b_only);
  const Tensor left = arrange(a, join(batch, join(a_only, inner)));
  const Tensor right = arrange(b, join(batch, join(inner, b_only)));
  const Tensor product = batch.empty()
                             ? mm(left.reshape({m, k}), right.reshape({k, n}))
                             : bmm(left.reshape({items, m, k}), right.reshape({items, k, n}));
  return {product.view(shape), labels};
}

std::vector<Term> make_terms(std::string_view inputs, std::span<const Tensor> operands,
                             std::string_view equation) {
  const size_t commas = static_cast<size_t>(std::count(inputs.begin(), inputs.end(), ','));
  check(!operands.empty(), "einsum", "there must be an operand", "none for \"", equation, "\"");
  check(commas + 1 == operands.size(), "einsum", "as many subscripts as operands", equation,
        " with ", operands.size());
  std::vector<Term> terms;
  const DType dtype = autocast_to_half(operands[0]).dtype();
  for (const Tensor& given : operands) {
    const Tensor operand = autocast_to_half(given);
    check(operand.dtype() == dtype, "einsum", "the operands must have one dtype", dtype, " and ",
          operand.dtype());
    check(operand.device() == operands[0].device(), "einsum", "the operands must be on one device",
          operands[0].device(), " and ", operand.device());
    const size_t end = std::min(inputs.find(','), inputs.size());
    terms.push_back(make_term(inputs.substr(0, end), operand, equation));
    inputs.remove_prefix(std::min(end + 1, inputs.size()));
  }
  return terms;
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  const CalledOp called("einsum");
  check_defined("einsum", "operands", operands);
  const size_t arrow = equation.find("->");
  const std::string_view inputs = equation.substr(0, arrow);
  std::vector<Term> terms = make_terms(inputs, operands, equation);
  check_sizes(terms, equation);
  const Labels output = arrow == std::string_view::npos
                            ? implicit_output(terms, inputs)
                            : explicit_output(equation.substr(arrow + 2), terms, equation);
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    // What the output or a later operand still needs.
    Labels keep;
    for (int label = 0; label < kLabels; ++label) {
      const bool later =
          std::any_of(terms.begin() + static_cast<std::ptrdiff_t>(i) + 1, terms.end(),
                      [&](const Term& t) { return t.find(label) >= 0; });
      if ((later || contains(output, label)) &&
          (result.find(label) >= 0 || terms[i].find(label) >= 0)) {
        check(keep.size() < kMaxDims, "einsum", "a product can have 12 dimensions at most",
              equation);
        keep.push_back(label);
      }
    }
    result = multiply(result, terms[i], keep);
  }
  Labels summed;
  for (const int64_t label : result.labels) {
    if (!contains(output, label)) summed.push_back(label);
  }
  return arrange(sum_out(result, summed), output);
}

Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  const CalledOp called("einsum");
  return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()));
}

}  // namespace aorta
