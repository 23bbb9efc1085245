#pragma once

#include <aorta/core/list.h>
#include <aorta/core/number.h>
#include <aorta/core/reduce_dims.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

namespace aorta {

class Generator;
class Index;
class Tensor;
enum class ScatterReduce : uint8_t;
struct AddmmOptions;
struct CloseOptions;
struct Frexp;
struct HistcOptions;
struct Histogram;
struct HistogramOptions;
struct IstftOptions;
struct LikeOptions;
struct MinMax;
struct Operand;
struct SortOptions;
struct SparseTensor;
struct StftOptions;
struct TopkOptions;
struct Unique;
struct UniqueConsecutiveOptions;
struct UniqueOptions;
struct ValuesIndices;

/// The ops that are members of Tensor, as they are of PyTorch's: `x.relu()` is `relu(x)`,
/// `x.sum(1, true)` is `sum(x, 1, true)`, and `x.add_(y)` is `add_(x, y)` and returns x. Formulas,
/// shapes, dtypes and errors stand beside the functions, in the headers that are named here.
class TensorMethods {
 public:
  // Pointwise ops (core/ops/pointwise.h).
  Tensor neg() const;
  const Tensor& neg_() const;
  Tensor abs() const;
  const Tensor& abs_() const;
  Tensor sign() const;
  const Tensor& sign_() const;
  Tensor square() const;
  const Tensor& square_() const;
  Tensor reciprocal() const;
  const Tensor& reciprocal_() const;
  Tensor floor() const;
  const Tensor& floor_() const;
  Tensor ceil() const;
  const Tensor& ceil_() const;
  Tensor round() const;
  Tensor round(int64_t decimals) const;
  const Tensor& round_() const;
  const Tensor& round_(int64_t decimals) const;
  Tensor trunc() const;
  const Tensor& trunc_() const;
  Tensor frac() const;
  const Tensor& frac_() const;
  Tensor sqrt() const;
  const Tensor& sqrt_() const;
  Tensor rsqrt() const;
  const Tensor& rsqrt_() const;
  Tensor exp() const;
  const Tensor& exp_() const;
  Tensor exp2() const;
  const Tensor& exp2_() const;
  Tensor expm1() const;
  const Tensor& expm1_() const;
  Tensor log() const;
  const Tensor& log_() const;
  Tensor log1p() const;
  const Tensor& log1p_() const;
  Tensor log2() const;
  const Tensor& log2_() const;
  Tensor log10() const;
  const Tensor& log10_() const;
  Tensor sin() const;
  const Tensor& sin_() const;
  Tensor cos() const;
  const Tensor& cos_() const;
  Tensor tan() const;
  const Tensor& tan_() const;
  Tensor asin() const;
  const Tensor& asin_() const;
  Tensor acos() const;
  const Tensor& acos_() const;
  Tensor atan() const;
  const Tensor& atan_() const;
  Tensor sinh() const;
  const Tensor& sinh_() const;
  Tensor cosh() const;
  const Tensor& cosh_() const;
  Tensor tanh() const;
  const Tensor& tanh_() const;
  Tensor asinh() const;
  const Tensor& asinh_() const;
  Tensor acosh() const;
  const Tensor& acosh_() const;
  Tensor atanh() const;
  const Tensor& atanh_() const;
  Tensor erf() const;
  const Tensor& erf_() const;
  Tensor erfc() const;
  const Tensor& erfc_() const;
  Tensor erfinv() const;
  const Tensor& erfinv_() const;
  Tensor lgamma() const;
  const Tensor& lgamma_() const;
  Tensor i0() const;
  const Tensor& i0_() const;
  Tensor digamma() const;
  const Tensor& digamma_() const;
  Tensor polygamma(int64_t n) const;
  const Tensor& polygamma_(int64_t n) const;
  Tensor mvlgamma(int64_t p) const;
  const Tensor& mvlgamma_(int64_t p) const;
  Frexp frexp() const;
  Tensor sigmoid() const;
  const Tensor& sigmoid_() const;
  Tensor relu() const;
  const Tensor& relu_() const;
  Tensor logical_not() const;
  const Tensor& logical_not_() const;
  Tensor bitwise_not() const;
  const Tensor& bitwise_not_() const;
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;
  Tensor isposinf() const;
  Tensor isneginf() const;
  Tensor signbit() const;
  Tensor sinc() const;
  const Tensor& sinc_() const;
  Tensor logit(std::optional<double> eps = {}) const;
  const Tensor& logit_(std::optional<double> eps = {}) const;
  Tensor hardshrink(double lambda = 0.5) const;
  Tensor prelu(const Operand& weight) const;
  Tensor clamp_min(const Scalar& min) const;
  Tensor clamp_min(const Tensor& min) const;
  const Tensor& clamp_min_(const Scalar& min) const;
  const Tensor& clamp_min_(const Tensor& min) const;
  Tensor clamp_max(const Scalar& max) const;
  Tensor clamp_max(const Tensor& max) const;
  const Tensor& clamp_max_(const Scalar& max) const;
  const Tensor& clamp_max_(const Tensor& max) const;
  Tensor clamp(std::optional<Scalar> min, std::optional<Scalar> max = {}) const;
  Tensor clamp(const Tensor& min) const;
  Tensor clamp(const Tensor& min, const Tensor& max) const;
  const Tensor& clamp_(std::optional<Scalar> min, std::optional<Scalar> max = {}) const;
  const Tensor& clamp_(const Tensor& min) const;
  const Tensor& clamp_(const Tensor& min, const Tensor& max) const;
  Tensor add(const Operand& other, const Scalar& alpha = 1) const;
  Tensor sub(const Operand& other, const Scalar& alpha = 1) const;
  const Tensor& add_(const Operand& other, const Scalar& alpha = 1) const;
  const Tensor& sub_(const Operand& other, const Scalar& alpha = 1) const;
  Tensor mul(const Operand& other) const;
  const Tensor& mul_(const Operand& other) const;
  Tensor div(const Operand& other) const;
  const Tensor& div_(const Operand& other) const;
  Tensor div(const Operand& other, const char* rounding_mode) const;
  const Tensor& div_(const Operand& other, const char* rounding_mode) const;
  Tensor floor_divide(const Operand& other) const;
  const Tensor& floor_divide_(const Operand& other) const;
  Tensor fmod(const Operand& other) const;
  const Tensor& fmod_(const Operand& other) const;
  Tensor remainder(const Operand& other) const;
  const Tensor& remainder_(const Operand& other) const;
  Tensor pow(const Operand& exponent) const;
  const Tensor& pow_(const Operand& exponent) const;
  Tensor float_power(const Operand& exponent) const;
  const Tensor& float_power_(const Operand& exponent) const;
  Tensor gcd(const Operand& other) const;
  const Tensor& gcd_(const Operand& other) const;
  Tensor lcm(const Operand& other) const;
  const Tensor& lcm_(const Operand& other) const;
  Tensor nextafter(const Operand& other) const;
  const Tensor& nextafter_(const Operand& other) const;
  Tensor minimum(const Operand& other) const;
  Tensor maximum(const Operand& other) const;
  Tensor min(const Tensor& other) const;
  Tensor max(const Tensor& other) const;
  Tensor atan2(const Operand& other) const;
  const Tensor& atan2_(const Operand& other) const;
  Tensor hypot(const Operand& other) const;
  const Tensor& hypot_(const Operand& other) const;
  Tensor copysign(const Operand& other) const;
  const Tensor& copysign_(const Operand& other) const;
  Tensor heaviside(const Operand& values) const;
  const Tensor& heaviside_(const Operand& values) const;
  Tensor ldexp(const Operand& other) const;
  const Tensor& ldexp_(const Operand& other) const;
  Tensor igamma(const Operand& other) const;
  const Tensor& igamma_(const Operand& other) const;
  Tensor igammac(const Operand& other) const;
  const Tensor& igammac_(const Operand& other) const;
  Tensor xlogy(const Operand& other) const;
  const Tensor& xlogy_(const Operand& other) const;
  Tensor logaddexp(const Operand& other) const;
  Tensor logaddexp2(const Operand& other) const;
  Tensor eq(const Operand& other) const;
  const Tensor& eq_(const Operand& other) const;
  Tensor ne(const Operand& other) const;
  const Tensor& ne_(const Operand& other) const;
  Tensor lt(const Operand& other) const;
  const Tensor& lt_(const Operand& other) const;
  Tensor le(const Operand& other) const;
  const Tensor& le_(const Operand& other) const;
  Tensor gt(const Operand& other) const;
  const Tensor& gt_(const Operand& other) const;
  Tensor ge(const Operand& other) const;
  const Tensor& ge_(const Operand& other) const;
  Tensor logical_and(const Operand& other) const;
  const Tensor& logical_and_(const Operand& other) const;
  Tensor logical_or(const Operand& other) const;
  const Tensor& logical_or_(const Operand& other) const;
  Tensor logical_xor(const Operand& other) const;
  const Tensor& logical_xor_(const Operand& other) const;
  Tensor bitwise_and(const Operand& other) const;
  const Tensor& bitwise_and_(const Operand& other) const;
  Tensor bitwise_or(const Operand& other) const;
  const Tensor& bitwise_or_(const Operand& other) const;
  Tensor bitwise_xor(const Operand& other) const;
  const Tensor& bitwise_xor_(const Operand& other) const;
  Tensor bitwise_left_shift(const Operand& other) const;
  const Tensor& bitwise_left_shift_(const Operand& other) const;
  Tensor bitwise_right_shift(const Operand& other) const;
  const Tensor& bitwise_right_shift_(const Operand& other) const;
  /// This tensor where the condition holds, else `other`.
  Tensor where(const Tensor& condition, const Operand& other) const;
  Tensor lerp(const Tensor& end, const Operand& weight) const;
  const Tensor& lerp_(const Tensor& end, const Operand& weight) const;
  Tensor addcmul(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  const Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2,
                         const Scalar& value = 1) const;
  Tensor addcdiv(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
  const Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2,
                         const Scalar& value = 1) const;
  Tensor masked_fill(const Tensor& mask, const Operand& value) const;
  const Tensor& masked_fill_(const Tensor& mask, const Operand& value) const;

  // Comparisons as a whole (core/ops/closeness.h).
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8,
                 bool equal_nan = false) const;
  Tensor isclose(const Tensor& other, const CloseOptions& options) const;
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8,
                bool equal_nan = false) const;
  bool allclose(const Tensor& other, const CloseOptions& options) const;
  bool equal(const Tensor& other) const;

  // Reductions, scans and softmax (core/ops/reduction.h, scan.h, softmax.h, normalization.h).
  Tensor sum(const ReduceDims& dims = {}, bool keepdim = false,
             std::optional<DType> dtype = {}) const;
  Tensor mean(const ReduceDims& dims = {}, bool keepdim = false,
              std::optional<DType> dtype = {}) const;
  Tensor prod(const ReduceDims& dims = {}, bool keepdim = false,
              std::optional<DType> dtype = {}) const;
  Tensor sum_to_size(const Shape& shape) const;
  Tensor var(const ReduceDims& dims = {}, double correction = 1, bool keepdim = false) const;
  Tensor std(const ReduceDims& dims = {}, double correction = 1, bool keepdim = false) const;
  Tensor amax(const ReduceDims& dims = {}, bool keepdim = false) const;
  Tensor amin(const ReduceDims& dims = {}, bool keepdim = false) const;
  MinMax aminmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor max() const;
  ValuesIndices max(int64_t dim, bool keepdim = false) const;
  Tensor min() const;
  ValuesIndices min(int64_t dim, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor any(const ReduceDims& dims = {}, bool keepdim = false) const;
  Tensor all(const ReduceDims& dims = {}, bool keepdim = false) const;
  Tensor count_nonzero(const ReduceDims& dims = {}) const;
  Tensor norm(double p = 2, const ReduceDims& dims = {}, bool keepdim = false,
              std::optional<DType> dtype = {}) const;
  Tensor logsumexp(const ReduceDims& dims = {}, bool keepdim = false) const;
  Tensor cumsum(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor cumprod(int64_t dim, std::optional<DType> dtype = {}) const;
  ValuesIndices cummax(int64_t dim) const;
  ValuesIndices cummin(int64_t dim) const;
  Tensor logcumsumexp(int64_t dim) const;
  Tensor softmax(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor log_softmax(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor renorm(double p, int64_t dim, double maxnorm) const;
  const Tensor& renorm_(double p, int64_t dim, double maxnorm) const;
  Tensor diff(int64_t n = 1, int64_t dim = -1) const;
  Tensor diff(int64_t n, int64_t dim, const Tensor& prepend) const;
  Tensor diff(int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) const;

  // Order (core/ops/sort.h).
  ValuesIndices sort(int64_t dim = -1, bool descending = false, bool stable = false) const;
  ValuesIndices sort(const SortOptions& options) const;
  Tensor argsort(int64_t dim = -1, bool descending = false, bool stable = false) const;
  Tensor argsort(const SortOptions& options) const;
  ValuesIndices topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;
  ValuesIndices topk(int64_t k, const TopkOptions& options) const;
  ValuesIndices kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) const;
  Unique unique(bool sorted = true, bool return_inverse = false, bool return_counts = false) const;
  Unique unique(const UniqueOptions& options) const;
  Unique unique_consecutive(bool return_inverse = false, bool return_counts = false,
                            std::optional<int64_t> dim = {}) const;
  Unique unique_consecutive(const UniqueConsecutiveOptions& options) const;

  // The elements that aren't 0 (core/ops/sparse.h).
  SparseTensor to_sparse() const;
  // Products (core/ops/matmul.h).
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& mat2) const;
  Tensor bmm(const Tensor& mat2) const;
  Tensor mv(const Tensor& vec) const;
  Tensor dot(const Tensor& other) const;
  Tensor outer(const Tensor& vec2) const;
  Tensor addmm(const Tensor& mat1, const Tensor& mat2) const;
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, const AddmmOptions& options) const;
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2) const;
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, const AddmmOptions& options) const;
  Tensor addbmm(const Tensor& batch1, const Tensor& batch2) const;
  Tensor addbmm(const Tensor& batch1, const Tensor& batch2, const AddmmOptions& options) const;
  Tensor addmv(const Tensor& mat, const Tensor& vec) const;
  Tensor addmv(const Tensor& mat, const Tensor& vec, const AddmmOptions& options) const;
  Tensor addr(const Tensor& vec1, const Tensor& vec2) const;
  Tensor addr(const Tensor& vec1, const Tensor& vec2, const AddmmOptions& options) const;
  Tensor inner(const Tensor& other) const;
  Tensor kron(const Tensor& other) const;
  Tensor trace() const;

  // Complex numbers and spectra (core/ops/complex.h, stft.h).
  Tensor real() const;
  Tensor imag() const;
  Tensor conj() const;
  Tensor conj_physical() const;
  Tensor angle() const;
  Tensor sgn() const;
  Tensor vdot(const Tensor& other) const;
  Tensor isreal() const;
  Tensor stft(int64_t n_fft) const;
  Tensor stft(int64_t n_fft, const StftOptions& options) const;
  Tensor istft(int64_t n_fft) const;
  Tensor istft(int64_t n_fft, const IstftOptions& options) const;

  // Places (core/ops/indexing.h).
  Tensor gather(int64_t dim, const Tensor& index) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor take_along_dim(const Tensor& index, std::optional<int64_t> dim = {}) const;
  Tensor take(const Tensor& index) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value) const;
  const Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& source) const;
  const Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const;
  const Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source,
                        ScatterReduce reduce, bool include_self = true) const;
  const Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source,
                                ScatterReduce reduce, bool include_self = true) const;
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha = 1) const;
  const Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source,
                           const Scalar& alpha = 1) const;
  Tensor index_reduce(int64_t dim, const Tensor& index, const Tensor& source, ScatterReduce reduce,
                      bool include_self = true) const;
  const Tensor& index_reduce_(int64_t dim, const Tensor& index, const Tensor& source,
                              ScatterReduce reduce, bool include_self = true) const;
  Tensor index_copy(int64_t dim, const Tensor& index, const Tensor& source) const;
  const Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor index_fill(int64_t dim, const Tensor& index, const Scalar& value) const;
  const Tensor& index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor index(const List<Index>& indices) const;
  Tensor index_put(const List<Index>& indices, const Tensor& values, bool accumulate = false) const;
  const Tensor& index_put_(const List<Index>& indices, const Tensor& values,
                           bool accumulate = false) const;
  const Tensor& index_put_(const List<Index>& indices, const Scalar& value,
                           bool accumulate = false) const;
  Tensor nonzero() const;
  Tensor masked_select(const Tensor& mask) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source) const;
  const Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const;

  // Parts, views and order of elements (core/ops/join.h, view.h, view_scatter.h, rearrange.h).
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> split(const List<int64_t>& sizes, int64_t dim = 0) const;
  std::vector<Tensor> split(std::initializer_list<int64_t> sizes, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(const List<int64_t>& indices, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(std::initializer_list<int64_t> indices, int64_t dim = 0) const;
  std::vector<Tensor> hsplit(int64_t sections) const;
  std::vector<Tensor> hsplit(const List<int64_t>& indices) const;
  std::vector<Tensor> hsplit(std::initializer_list<int64_t> indices) const;
  std::vector<Tensor> vsplit(int64_t sections) const;
  std::vector<Tensor> vsplit(const List<int64_t>& indices) const;
  std::vector<Tensor> vsplit(std::initializer_list<int64_t> indices) const;
  std::vector<Tensor> dsplit(int64_t sections) const;
  std::vector<Tensor> dsplit(const List<int64_t>& indices) const;
  std::vector<Tensor> dsplit(std::initializer_list<int64_t> indices) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  template <size_t parts>
  std::array<Tensor, parts> chunk(int64_t dim = 0) const;
  template <size_t parts>
  std::array<Tensor, parts> split(int64_t split_size, int64_t dim = 0) const;
  template <size_t parts>
  std::array<Tensor, parts> split(const List<int64_t>& sizes, int64_t dim = 0) const;
  template <size_t parts>
  std::array<Tensor, parts> split(std::initializer_list<int64_t> sizes, int64_t dim = 0) const;
  template <size_t parts>
  std::array<Tensor, parts> unbind(int64_t dim = 0) const;
  Tensor narrow_copy(int64_t dim, int64_t start, int64_t length) const;
  Tensor as_strided(const Shape& shape, const Strides& strides, int64_t offset) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor diag(int64_t diagonal = 0) const;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) const;
  Tensor diagflat(int64_t offset = 0) const;
  const Tensor& fill_diagonal_(const Scalar& value, bool wrap = false) const;
  Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;
  Tensor slice_scatter(const Tensor& src, int64_t dim = 0, std::optional<int64_t> start = {},
                       std::optional<int64_t> end = {}, int64_t step = 1) const;
  Tensor select_scatter(const Tensor& src, int64_t dim, int64_t index) const;
  Tensor diagonal_scatter(const Tensor& src, int64_t offset = 0, int64_t dim1 = 0,
                          int64_t dim2 = 1) const;
  Tensor as_strided_scatter(const Tensor& src, const Shape& shape, const Strides& strides,
                            int64_t offset = 0) const;
  Tensor movedim(int64_t source, int64_t destination) const;
  Tensor movedim(const Dims& source, const Dims& destination) const;
  Tensor flip(const Dims& dims) const;
  Tensor fliplr() const;
  Tensor flipud() const;
  Tensor rot90(int64_t k = 1, const Dims& dims = {0, 1}) const;
  Tensor roll(const Dims& shifts, const Dims& dims) const;
  Tensor roll(int64_t shift, std::optional<int64_t> dim = {}) const;
  Tensor tril(int64_t diagonal = 0) const;
  const Tensor& tril_(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  const Tensor& triu_(int64_t diagonal = 0) const;
  Tensor repeat(const Dims& repeats) const;
  Tensor tile(const Dims& repeats) const;
  Tensor repeat_interleave(int64_t repeats, std::optional<int64_t> dim = {}) const;
  Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim = {}) const;

  // Random numbers (core/ops/random.h).
  const Tensor& uniform_(double low = 0, double high = 1, Generator* generator = nullptr) const;
  const Tensor& normal_(double mean = 0, double std = 1, Generator* generator = nullptr) const;
  const Tensor& bernoulli_(double p = 0.5, Generator* generator = nullptr) const;
  Tensor bernoulli(Generator* generator = nullptr) const;
  const Tensor& random_() const;
  const Tensor& random_(int64_t to) const;
  const Tensor& random_(int64_t from, std::optional<int64_t> to,
                        Generator* generator = nullptr) const;
  const Tensor& exponential_(double lambd = 1, Generator* generator = nullptr) const;
  const Tensor& cauchy_(double median = 0, double sigma = 1, Generator* generator = nullptr) const;
  const Tensor& log_normal_(double mean = 1, double std = 2, Generator* generator = nullptr) const;
  const Tensor& geometric_(double p, Generator* generator = nullptr) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false,
                     Generator* generator = nullptr) const;

  // Statistics and NaN (core/ops/statistics.h, quantile.h, nan.h).
  Tensor nansum(const ReduceDims& dims = {}, bool keepdim = false,
                std::optional<DType> dtype = {}) const;
  Tensor nanmean(const ReduceDims& dims = {}, bool keepdim = false,
                 std::optional<DType> dtype = {}) const;
  Tensor median() const;
  ValuesIndices median(int64_t dim, bool keepdim = false) const;
  Tensor nanmedian() const;
  ValuesIndices nanmedian(int64_t dim, bool keepdim = false) const;
  ValuesIndices mode(int64_t dim = -1, bool keepdim = false) const;
  Tensor quantile(const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                  const char* interpolation = "linear") const;
  Tensor nanquantile(const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                     const char* interpolation = "linear") const;
  Tensor histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) const;
  Tensor histc(const HistcOptions& options) const;
  Histogram histogram(int64_t bins = 100) const;
  Histogram histogram(int64_t bins, const HistogramOptions& options) const;
  Histogram histogram(const Tensor& bins) const;
  Histogram histogram(const Tensor& bins, const HistogramOptions& options) const;
  Tensor bincount() const;
  Tensor bincount(const Tensor& weights, int64_t minlength = 0) const;
  Tensor cov(int64_t correction = 1) const;
  Tensor cov(int64_t correction, const Tensor& fweights) const;
  Tensor cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const;
  Tensor corrcoef() const;
  Tensor nan_to_num(double nan = 0, std::optional<double> posinf = {},
                    std::optional<double> neginf = {}) const;
  const Tensor& nan_to_num_(double nan = 0, std::optional<double> posinf = {},
                            std::optional<double> neginf = {}) const;

  // What PyTorch has as methods alone: another tensor's shape or dtype, and new tensors with this
  // one's dtype and device where the options don't say otherwise.
  Tensor view_as(const Tensor& other) const;
  Tensor reshape_as(const Tensor& other) const;
  Tensor expand_as(const Tensor& other) const;
  Tensor type_as(const Tensor& other) const;
  Tensor new_empty(const Shape& shape) const;
  Tensor new_empty(const Shape& shape, const LikeOptions& options) const;
  Tensor new_empty_strided(const Shape& shape, const Strides& strides) const;
  Tensor new_empty_strided(const Shape& shape, const Strides& strides,
                           const LikeOptions& options) const;
  Tensor new_zeros(const Shape& shape) const;
  Tensor new_zeros(const Shape& shape, const LikeOptions& options) const;
  Tensor new_ones(const Shape& shape) const;
  Tensor new_ones(const Shape& shape, const LikeOptions& options) const;
  Tensor new_full(const Shape& shape, const Scalar& value) const;
  Tensor new_full(const Shape& shape, const Scalar& value, const LikeOptions& options) const;

 protected:
  // Nothing but a Tensor is one.
  TensorMethods() = default;
  TensorMethods(const TensorMethods&) = default;
  TensorMethods& operator=(const TensorMethods&) = default;
  ~TensorMethods() = default;

 private:
  const Tensor& self() const;
};

}  // namespace aorta
