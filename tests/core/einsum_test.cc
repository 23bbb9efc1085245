#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/core/elements.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace {

using namespace aorta;
using namespace aorta::elements;

// An operand's or the output's labels, a character a dimension; "..." is spelt 0123 from the right.
std::string spelt(std::string text, int dim) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t dots = text.find("...");
  if (dots == std::string::npos) return text;
  const int count = dim - static_cast<int>(text.size() - 3);
  std::string digits;
  for (int i = count; i-- > 0;) digits += static_cast<char>('0' + i);
  return text.replace(dots, 3, digits);
}

struct Expected {
  Shape shape;
  std::vector<double> values;
};

// By definition: for every value of every label, the product of the operands' elements there is
// added to the output's element there.
Expected defined(const std::string& equation, const std::string& output,
                 const std::vector<Tensor>& operands) {
  std::vector<std::string> labels;
  std::map<char, int64_t> sizes;
  int ellipsis = 0;
  std::istringstream inputs(equation.substr(0, equation.find("->")) + ",");
  for (std::string text; std::getline(inputs, text, ',');) {
    const Tensor& x = operands.at(labels.size());
    labels.push_back(spelt(text, x.dim()));
    for (int d = 0; d < x.dim(); ++d) {
      const char label = labels.back().at(static_cast<size_t>(d));
      int64_t& size = sizes.try_emplace(label, 1).first->second;
      if (x.shape()[d] != 1) size = x.shape()[d];
      if (label <= '9') ellipsis = std::max(ellipsis, label - '0' + 1);
    }
  }
  const bool dots = output.find("...") != std::string::npos;
  const std::string kept =
      spelt(output, static_cast<int>(output.size()) - 3 * dots + (dots ? ellipsis : 0));
  Shape space;
  std::string order;
  for (const auto& [label, size] : sizes) {
    order += label;
    space.push_back(size);
  }
  Expected result;
  for (const char label : kept) result.shape.push_back(sizes.at(label));
  result.values.assign(static_cast<size_t>(result.shape.numel()), 0.0);
  for_each_index(space, [&](const Dims& at) {
    const auto value_of = [&](char label) { return at[static_cast<int>(order.find(label))]; };
    double product = 1;
    for (size_t k = 0; k < operands.size(); ++k) {
      Dims place;
      for (int d = 0; d < operands[k].dim(); ++d) {
        place.push_back(
            operands[k].shape()[d] == 1 ? 0 : value_of(labels[k].at(static_cast<size_t>(d))));
      }
      product *= get(operands[k], place);
    }
    int64_t element = 0;
    for (const char label : kept) element = element * sizes.at(label) + value_of(label);
    result.values[static_cast<size_t>(element)] += product;
  });
  return result;
}

struct Case {
  const char* equation;
  const char* output;  // what an equation without "->" means
  std::vector<Shape> shapes;
};

// Integers that stay exact, in every layout.
void expect_as_defined(const Case& test, DType dtype = f64) {
  Dice dice(7);
  for (const Layout layout : kLayouts) {
    std::vector<Tensor> operands;
    for (const Shape& shape : test.shapes) {
      const Tensor x = blank(shape, dtype, layout);
      for_each_index(shape, [&](const Dims& at) {
        set(x, at, static_cast<double>(dice(7) - (dtype == u8 ? 0 : 3)));
      });
      operands.push_back(x);
    }
    const Expected want = defined(test.equation, test.output, operands);
    const Tensor got = einsum(test.equation, operands);
    SCOPED_TRACE(std::string(test.equation) + " " + name(dtype));
    EXPECT_EQ(got.dtype(), dtype);
    ASSERT_EQ(to_string(got.shape()), to_string(want.shape));
    std::vector<double> values = want.values;
    if (dtype == u8) {
      for (double& value : values) value = std::fmod(value, 256);
    }
    EXPECT_EQ(got.to_vector<double>(), values);
  }
}

const std::vector<Case> kCases = {
    // One operand: orders, sums, traces and diagonals.
    {"ij->ij", "ij", {{2, 3}}},
    {"ij->ji", "ji", {{2, 3}}},
    {"ijk->kij", "kij", {{2, 3, 4}}},
    {"ijk->j", "j", {{2, 3, 4}}},
    {"ijk->", "", {{2, 3, 4}}},
    {"ii->", "", {{4, 4}}},
    {"ii->i", "i", {{4, 4}}},
    {"iii->i", "i", {{3, 3, 3}}},
    {"iij->ji", "ji", {{3, 3, 2}}},
    {"ijij->ij", "ij", {{2, 3, 2, 3}}},
    {"ijji->", "", {{2, 3, 3, 2}}},
    {"ijkji->k", "k", {{2, 3, 4, 3, 2}}},
    {"->", "", {{}}},
    // Two: inner, outer, matrix and batched products, and repeated labels.
    {"i,i->", "", {{5}, {5}}},
    {"i,j->ji", "ji", {{3}, {4}}},
    {"ij,j->i", "i", {{3, 4}, {4}}},
    {"ij,kj->ki", "ki", {{3, 4}, {2, 4}}},
    {"bij,bjk->kbi", "kbi", {{2, 3, 4}, {2, 4, 5}}},
    {"ij,ij->ij", "ij", {{3, 4}, {3, 4}}},
    {"ij,ij->", "", {{3, 4}, {3, 4}}},
    {"ijk,jil->kl", "kl", {{2, 3, 4}, {3, 2, 5}}},
    {"ii,ij->j", "j", {{3, 3}, {3, 4}}},
    {"ii,jj->ij", "ij", {{3, 3}, {2, 2}}},
    {"ij,kl->", "", {{2, 3}, {4, 2}}},
    {"ij,->ji", "ji", {{2, 3}, {}}},
    {",->", "", {{}, {}}},
    // Three and more.
    {"ij,jk,kl->il", "il", {{2, 3}, {3, 4}, {4, 5}}},
    {"i,j,k->kji", "kji", {{2}, {3}, {4}}},
    {"bi,bj,bij->b", "b", {{2, 3}, {2, 4}, {2, 3, 4}}},
    {"ij,ij,ij->j", "j", {{2, 3}, {2, 3}, {2, 3}}},
    {"ab,bc,cd,de,ef->af", "af", {{2, 3}, {3, 2}, {2, 4}, {4, 2}, {2, 3}}},
    {"ia,ja,ka,la->ijkl", "ijkl", {{2, 3}, {3, 3}, {2, 3}, {4, 3}}},
    {"abcd,efc,bfg,ge->ad", "ad", {{2, 3, 2, 2}, {2, 3, 2}, {3, 3, 2}, {2, 2}}},
    // "..." stands for any number of dimensions, which broadcast.
    {"...ij->...ji", "...ji", {{2, 4, 2, 3}}},
    {"...ij->...ji", "...ji", {{2, 3}}},
    {"...ii->...", "...", {{2, 3, 3}}},
    {"i...i->...", "...", {{3, 2, 4, 3}}},
    {"...->", "", {{2, 3}}},
    {"...i->i", "i", {{2, 4, 3}}},
    {"i->...i", "...i", {{3}}},
    {"...ij,...jk->...ik", "...ik", {{5, 1, 2, 3}, {4, 3, 2}}},
    {"b...,b...->...b", "...b", {{2, 3}, {2, 4, 3}}},
    {"i...j,j...k->ik...", "ik...", {{2, 3, 1, 2}, {2, 4, 3}}},
    {"...,...->...", "...", {{2, 1, 3}, {4, 1}}},
    {"...a,...b,...->ab...", "ab...", {{2, 3}, {1, 4}, {2}}},
    // Size 1 broadcasts under a letter.
    {"i,i->i", "i", {{1}, {4}}},
    {"ij,j->i", "i", {{2, 3}, {1}}},
    {"ij,ij->ij", "ij", {{1, 3}, {2, 1}}},
    {"bij,bjk->bik", "bik", {{1, 2, 3}, {4, 3, 2}}},
    {"ij,jk,k->i", "i", {{2, 1}, {3, 4}, {1}}},
    {"ij,jk->ik", "ik", {{1, 1}, {1, 1}}},
    // Nothing to sum, or nothing to write.
    {"ij->i", "i", {{2, 0}}},
    {"ij->j", "j", {{2, 0}}},
    {"ii->", "", {{0, 0}}},
    {"ij,jk->ik", "ik", {{2, 0}, {0, 3}}},
    {"ij,jk->ik", "ik", {{0, 2}, {2, 3}}},
    {"bij,bjk->bik", "bik", {{0, 2, 3}, {0, 3, 4}}},
    {"i,j->ij", "ij", {{0}, {3}}},
    {"ij,jk,kl->il", "il", {{2, 3}, {3, 0}, {0, 4}}},
    // No "->": labels that occur once, in alphabetical order, capitals first.
    {"ba", "ab", {{2, 3}}},
    {"aB", "Ba", {{2, 3}}},
    {"ij,jk", "ik", {{2, 3}, {3, 4}}},
    {"ki,kj", "ij", {{2, 3}, {2, 4}}},
    {"ii", "", {{3, 3}}},
    {"iij", "j", {{3, 3, 2}}},
    {"b...a,...", "...ab", {{2, 3, 4}, {3}}},
    {"...i,...i", "...", {{2, 3}, {4, 1, 3}}},
    {",", "", {{}, {}}},
    // Blanks don't count.
    {" i j , j k -> k i ", "ki", {{2, 3}, {3, 4}}},
};

TEST(Einsum, IsTheSumOfProductsOverEveryLabel) {
  for (const Case& test : kCases) expect_as_defined(test);
}

TEST(Einsum, InEveryDtypeOfNumbers) {
  for (const DType dtype : {f32, f16, bf16, i64, i32, u8}) {
    // Small sums: every partial one is exact in bf16 too.
    for (const Case& test : std::vector<Case>{{"ij->j", "j", {{2, 3}}},
                                              {"ii->", "", {{4, 4}}},
                                              {"i,j->ji", "ji", {{3}, {4}}},
                                              {"ij,jk->ik", "ik", {{3, 4}, {4, 2}}},
                                              {"bij,bjk->kbi", "kbi", {{2, 3, 2}, {2, 2, 4}}},
                                              {"...i,i->...", "...", {{2, 3, 2}, {1}}},
                                              {"ij,jk->ik", "ik", {{2, 0}, {0, 3}}}}) {
      expect_as_defined(test, dtype);
    }
  }
}

TEST(Einsum, IntegersWrapAround) {
  const Tensor x = full({3, 2}, 200, {.dtype = u8});
  expect_values(einsum("ij,ij->j", {x, x}), {2}, {3 * 200 * 200 % 256, 3 * 200 * 200 % 256});
  const Tensor large = full({2}, int64_t{1} << 30, {.dtype = i32});
  expect_values(einsum("i,i->", {large, full({2}, 3, {.dtype = i32})}), {}, {-2147483648.0});
}

// numpy.einsum of numpy.arange(1, ...).reshape(...) arrays (numpy 2.4).
TEST(Einsum, MatchesNumpy) {
  const Tensor a = arange(1, 7, 1, {.dtype = f64}).view({2, 3}),
               b = arange(1, 13, 1, {.dtype = f64}).view({3, 4}),
               c = arange(1, 28, 1, {.dtype = f64}).view({3, 3, 3});
  expect_values(einsum("ij,jk->ki", {a, b}), {4, 2}, {38, 83, 44, 98, 50, 113, 56, 128});
  expect_values(einsum("iji->j", {c}), {3}, {33, 42, 51});
  expect_values(einsum("ijj,ki->kj", {c, a}), {2, 3}, {78, 102, 126, 168, 228, 288});
  expect_values(
      einsum("i...j,ki->k...j", {c, a}), {2, 3, 3},
      {78, 84, 90, 96, 102, 108, 114, 120, 126, 168, 183, 198, 213, 228, 243, 258, 273, 288});
  expect_values(einsum("iij,kj->ik", {c, a}), {3, 2}, {14, 32, 86, 212, 158, 392});
}

TEST(Einsum, OneOperandGivesAView) {
  const Tensor x = arange(0, 9, 1, {.dtype = f32}).view({3, 3});
  EXPECT_TRUE(einsum("ij->ji", {x}).shares_storage(x));
  EXPECT_TRUE(einsum("ii->i", {x}).shares_storage(x));
}

TEST(Einsum, NanAndInfinityStay) {
  const double inf = INFINITY, nan = NAN;
  const Tensor x = tensor({1.0, inf, nan, 2.0}).view({2, 2}), y = tensor({1.0, 0.0}).view({2});
  const std::vector<double> got = einsum("ij,j->i", {x, y}).to_vector<double>();
  EXPECT_TRUE(std::isnan(got[0]));  // inf * 0
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(einsum("ij->i", {x}).to_vector<double>()[0], inf);
}

TEST(Einsum, Errors) {
  const Tensor v = ones({3}), a = ones({2, 3}), b = ones({4, 5});
  const auto error = [](const char* equation, std::initializer_list<Tensor> operands) {
    return error_of([&] { einsum(equation, operands); });
  };
  EXPECT_EQ(error("ij->i", {}), "einsum: there must be an operand, got none for \"ij->i\"");
  EXPECT_EQ(error("i,j", {v}), "einsum: as many subscripts as operands, got i,j with 1");
  EXPECT_EQ(error("i", {v, v}), "einsum: as many subscripts as operands, got i with 2");
  EXPECT_EQ(error("i", {a}),
            "einsum: an operand must have a subscript for every dimension, got i with shape [2,3]");
  EXPECT_EQ(error("ijk...", {a}),
            "einsum: an operand must have a subscript for every dimension, got ijk... with shape "
            "[2,3]");
  EXPECT_EQ(error("i-j", {a}), "einsum: subscripts must be letters from a to z or A to Z, got i-j");
  EXPECT_EQ(error("ij->i1", {a}),
            "einsum: subscripts must be letters from a to z or A to Z, got ij->i1");
  EXPECT_EQ(error("ij->i->j", {a}),
            "einsum: subscripts must be letters from a to z or A to Z, got ij->i->j");
  EXPECT_EQ(error("ij->i,j", {a}),
            "einsum: subscripts must be letters from a to z or A to Z, got ij->i,j");
  EXPECT_EQ(error("i.j", {a}), "einsum: dots must be three, as \"...\", got i.j");
  EXPECT_EQ(error("i......", {a}), "einsum: an operand can have one \"...\", got i......");
  EXPECT_EQ(error("ii", {a}),
            "einsum: dimensions with one subscript must have one size, got ii with shape [2,3]");
  EXPECT_EQ(error("ii", {ones({1, 3})}),
            "einsum: dimensions with one subscript must have one size, got ii with shape [1,3]");
  EXPECT_EQ(error("ij,jk", {a, b}),
            "einsum: sizes under one subscript must match or be 1, got ij,jk with 3 and 4");
  EXPECT_EQ(error("...,...", {a, b}),
            "einsum: sizes under one subscript must match or be 1, got ...,... with 2 and 4");
  EXPECT_EQ(error("ij->ii", {a}), "einsum: an output subscript can't be repeated, got ij->ii");
  EXPECT_EQ(error("ij->k", {a}), "einsum: an output subscript must be an operand's, got ij->k");
  EXPECT_EQ(error("i,i", {v, ones({3}, {.dtype = f64})}),
            "einsum: the operands must have one dtype, got f32 and f64");
  EXPECT_EQ(error("i,i", {v, ones({3}, {.device = "cpu:1"})}),
            "einsum: the operands must be on one device, got cpu and cpu:1");
  EXPECT_EQ(error("abcdefghijklm", {v}),
            "einsum: at most 12 subscripts an operand, got abcdefghijklm");
}

}  // namespace
