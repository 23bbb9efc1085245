#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/sparse.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/stft.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/ops/view_scatter.h>
#include <aorta/core/tensor_methods.h>

namespace aorta {

// The pointwise ones stand in pointwise_methods.cc.

SparseTensor TensorMethods::to_sparse() const { return aorta::to_sparse(self()); }

Tensor TensorMethods::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return aorta::isclose(self(), other, rtol, atol, equal_nan);
}
Tensor TensorMethods::isclose(const Tensor& other, const CloseOptions& options) const {
  return aorta::isclose(self(), other, options);
}
bool TensorMethods::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return aorta::allclose(self(), other, rtol, atol, equal_nan);
}
bool TensorMethods::allclose(const Tensor& other, const CloseOptions& options) const {
  return aorta::allclose(self(), other, options);
}
bool TensorMethods::equal(const Tensor& other) const { return aorta::equal(self(), other); }
Tensor TensorMethods::sum(const ReduceDims& dims, bool keepdim, std::optional<DType> dtype) const {
  return aorta::sum(self(), dims, keepdim, dtype);
}
Tensor TensorMethods::mean(const ReduceDims& dims, bool keepdim, std::optional<DType> dtype) const {
  return aorta::mean(self(), dims, keepdim, dtype);
}
Tensor TensorMethods::prod(const ReduceDims& dims, bool keepdim, std::optional<DType> dtype) const {
  return aorta::prod(self(), dims, keepdim, dtype);
}
Tensor TensorMethods::sum_to_size(const Shape& shape) const {
  return aorta::sum_to_size(self(), shape);
}
Tensor TensorMethods::var(const ReduceDims& dims, double correction, bool keepdim) const {
  return aorta::var(self(), dims, correction, keepdim);
}
Tensor TensorMethods::std(const ReduceDims& dims, double correction, bool keepdim) const {
  return aorta::std(self(), dims, correction, keepdim);
}
Tensor TensorMethods::amax(const ReduceDims& dims, bool keepdim) const {
  return aorta::amax(self(), dims, keepdim);
}
Tensor TensorMethods::amin(const ReduceDims& dims, bool keepdim) const {
  return aorta::amin(self(), dims, keepdim);
}
MinMax TensorMethods::aminmax(std::optional<int64_t> dim, bool keepdim) const {
  return aorta::aminmax(self(), dim, keepdim);
}
Tensor TensorMethods::max() const { return aorta::max(self()); }
ValuesIndices TensorMethods::max(int64_t dim, bool keepdim) const {
  return aorta::max(self(), dim, keepdim);
}
Tensor TensorMethods::min() const { return aorta::min(self()); }
ValuesIndices TensorMethods::min(int64_t dim, bool keepdim) const {
  return aorta::min(self(), dim, keepdim);
}
Tensor TensorMethods::argmax(std::optional<int64_t> dim, bool keepdim) const {
  return aorta::argmax(self(), dim, keepdim);
}
Tensor TensorMethods::argmin(std::optional<int64_t> dim, bool keepdim) const {
  return aorta::argmin(self(), dim, keepdim);
}
Tensor TensorMethods::any(const ReduceDims& dims, bool keepdim) const {
  return aorta::any(self(), dims, keepdim);
}
Tensor TensorMethods::all(const ReduceDims& dims, bool keepdim) const {
  return aorta::all(self(), dims, keepdim);
}
Tensor TensorMethods::count_nonzero(const ReduceDims& dims) const {
  return aorta::count_nonzero(self(), dims);
}
Tensor TensorMethods::norm(double p, const ReduceDims& dims, bool keepdim,
                           std::optional<DType> dtype) const {
  return aorta::norm(self(), p, dims, keepdim, dtype);
}
Tensor TensorMethods::logsumexp(const ReduceDims& dims, bool keepdim) const {
  return aorta::logsumexp(self(), dims, keepdim);
}
Tensor TensorMethods::cumsum(int64_t dim, std::optional<DType> dtype) const {
  return aorta::cumsum(self(), dim, dtype);
}
Tensor TensorMethods::cumprod(int64_t dim, std::optional<DType> dtype) const {
  return aorta::cumprod(self(), dim, dtype);
}
ValuesIndices TensorMethods::cummax(int64_t dim) const { return aorta::cummax(self(), dim); }
ValuesIndices TensorMethods::cummin(int64_t dim) const { return aorta::cummin(self(), dim); }
Tensor TensorMethods::logcumsumexp(int64_t dim) const { return aorta::logcumsumexp(self(), dim); }
Tensor TensorMethods::softmax(int64_t dim, std::optional<DType> dtype) const {
  return aorta::softmax(self(), dim, dtype);
}
Tensor TensorMethods::log_softmax(int64_t dim, std::optional<DType> dtype) const {
  return aorta::log_softmax(self(), dim, dtype);
}
Tensor TensorMethods::diff(int64_t n, int64_t dim) const { return aorta::diff(self(), n, dim); }
Tensor TensorMethods::diff(int64_t n, int64_t dim, const Tensor& prepend) const {
  return aorta::diff(self(), n, dim, prepend);
}
Tensor TensorMethods::diff(int64_t n, int64_t dim, const Tensor& prepend,
                           const Tensor& append) const {
  return aorta::diff(self(), n, dim, prepend, append);
}
ValuesIndices TensorMethods::sort(int64_t dim, bool descending, bool stable) const {
  return aorta::sort(self(), dim, descending, stable);
}
ValuesIndices TensorMethods::sort(const SortOptions& options) const {
  return aorta::sort(self(), options);
}
Tensor TensorMethods::argsort(int64_t dim, bool descending, bool stable) const {
  return aorta::argsort(self(), dim, descending, stable);
}
Tensor TensorMethods::argsort(const SortOptions& options) const {
  return aorta::argsort(self(), options);
}
ValuesIndices TensorMethods::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
  return aorta::topk(self(), k, dim, largest, sorted);
}
ValuesIndices TensorMethods::topk(int64_t k, const TopkOptions& options) const {
  return aorta::topk(self(), k, options);
}
ValuesIndices TensorMethods::kthvalue(int64_t k, int64_t dim, bool keepdim) const {
  return aorta::kthvalue(self(), k, dim, keepdim);
}
Unique TensorMethods::unique(bool sorted, bool return_inverse, bool return_counts) const {
  return aorta::unique(self(), sorted, return_inverse, return_counts);
}
Unique TensorMethods::unique(const UniqueOptions& options) const {
  return aorta::unique(self(), options);
}
Unique TensorMethods::unique_consecutive(bool return_inverse, bool return_counts,
                                         std::optional<int64_t> dim) const {
  return aorta::unique_consecutive(self(), return_inverse, return_counts, dim);
}
Unique TensorMethods::unique_consecutive(const UniqueConsecutiveOptions& options) const {
  return aorta::unique_consecutive(self(), options);
}
Tensor TensorMethods::matmul(const Tensor& other) const { return aorta::matmul(self(), other); }
Tensor TensorMethods::mm(const Tensor& mat2) const { return aorta::mm(self(), mat2); }
Tensor TensorMethods::bmm(const Tensor& mat2) const { return aorta::bmm(self(), mat2); }
Tensor TensorMethods::mv(const Tensor& vec) const { return aorta::mv(self(), vec); }
Tensor TensorMethods::dot(const Tensor& other) const { return aorta::dot(self(), other); }
Tensor TensorMethods::outer(const Tensor& vec2) const { return aorta::outer(self(), vec2); }
Tensor TensorMethods::addmm(const Tensor& mat1, const Tensor& mat2) const {
  return aorta::addmm(self(), mat1, mat2);
}
Tensor TensorMethods::addmm(const Tensor& mat1, const Tensor& mat2,
                            const AddmmOptions& options) const {
  return aorta::addmm(self(), mat1, mat2, options);
}
Tensor TensorMethods::baddbmm(const Tensor& batch1, const Tensor& batch2) const {
  return aorta::baddbmm(self(), batch1, batch2);
}
Tensor TensorMethods::baddbmm(const Tensor& batch1, const Tensor& batch2,
                              const AddmmOptions& options) const {
  return aorta::baddbmm(self(), batch1, batch2, options);
}
Tensor TensorMethods::addbmm(const Tensor& batch1, const Tensor& batch2) const {
  return aorta::addbmm(self(), batch1, batch2);
}
Tensor TensorMethods::addbmm(const Tensor& batch1, const Tensor& batch2,
                             const AddmmOptions& options) const {
  return aorta::addbmm(self(), batch1, batch2, options);
}
Tensor TensorMethods::addmv(const Tensor& mat, const Tensor& vec) const {
  return aorta::addmv(self(), mat, vec);
}
Tensor TensorMethods::addmv(const Tensor& mat, const Tensor& vec,
                            const AddmmOptions& options) const {
  return aorta::addmv(self(), mat, vec, options);
}
Tensor TensorMethods::addr(const Tensor& vec1, const Tensor& vec2) const {
  return aorta::addr(self(), vec1, vec2);
}
Tensor TensorMethods::addr(const Tensor& vec1, const Tensor& vec2,
                           const AddmmOptions& options) const {
  return aorta::addr(self(), vec1, vec2, options);
}
Tensor TensorMethods::inner(const Tensor& other) const { return aorta::inner(self(), other); }
Tensor TensorMethods::kron(const Tensor& other) const { return aorta::kron(self(), other); }
Tensor TensorMethods::trace() const { return aorta::trace(self()); }
Tensor TensorMethods::gather(int64_t dim, const Tensor& index) const {
  return aorta::gather(self(), dim, index);
}
Tensor TensorMethods::index_select(int64_t dim, const Tensor& index) const {
  return aorta::index_select(self(), dim, index);
}
Tensor TensorMethods::take_along_dim(const Tensor& index, std::optional<int64_t> dim) const {
  return aorta::take_along_dim(self(), index, dim);
}
Tensor TensorMethods::take(const Tensor& index) const { return aorta::take(self(), index); }
Tensor TensorMethods::scatter(int64_t dim, const Tensor& index, const Tensor& source) const {
  return aorta::scatter(self(), dim, index, source);
}
Tensor TensorMethods::scatter(int64_t dim, const Tensor& index, const Scalar& value) const {
  return aorta::scatter(self(), dim, index, value);
}
const Tensor& TensorMethods::scatter_(int64_t dim, const Tensor& index,
                                      const Tensor& source) const {
  return aorta::scatter_(self(), dim, index, source), self();
}
const Tensor& TensorMethods::scatter_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return aorta::scatter_(self(), dim, index, value), self();
}
Tensor TensorMethods::scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  return aorta::scatter_add(self(), dim, index, source);
}
const Tensor& TensorMethods::scatter_add_(int64_t dim, const Tensor& index,
                                          const Tensor& source) const {
  return aorta::scatter_add_(self(), dim, index, source), self();
}
Tensor TensorMethods::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source,
                                     ScatterReduce reduce, bool include_self) const {
  return aorta::scatter_reduce(self(), dim, index, source, reduce, include_self);
}
const Tensor& TensorMethods::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source,
                                             ScatterReduce reduce, bool include_self) const {
  return aorta::scatter_reduce_(self(), dim, index, source, reduce, include_self), self();
}
Tensor TensorMethods::index_add(int64_t dim, const Tensor& index, const Tensor& source,
                                const Scalar& alpha) const {
  return aorta::index_add(self(), dim, index, source, alpha);
}
const Tensor& TensorMethods::index_add_(int64_t dim, const Tensor& index, const Tensor& source,
                                        const Scalar& alpha) const {
  return aorta::index_add_(self(), dim, index, source, alpha), self();
}
Tensor TensorMethods::index_reduce(int64_t dim, const Tensor& index, const Tensor& source,
                                   ScatterReduce reduce, bool include_self) const {
  return aorta::index_reduce(self(), dim, index, source, reduce, include_self);
}
const Tensor& TensorMethods::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source,
                                           ScatterReduce reduce, bool include_self) const {
  return aorta::index_reduce_(self(), dim, index, source, reduce, include_self), self();
}
Tensor TensorMethods::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  return aorta::index_copy(self(), dim, index, source);
}
const Tensor& TensorMethods::index_copy_(int64_t dim, const Tensor& index,
                                         const Tensor& source) const {
  return aorta::index_copy_(self(), dim, index, source), self();
}
Tensor TensorMethods::index_fill(int64_t dim, const Tensor& index, const Scalar& value) const {
  return aorta::index_fill(self(), dim, index, value);
}
const Tensor& TensorMethods::index_fill_(int64_t dim, const Tensor& index,
                                         const Scalar& value) const {
  return aorta::index_fill_(self(), dim, index, value), self();
}
Tensor TensorMethods::index(const List<Index>& indices) const {
  return aorta::index(self(), indices);
}
Tensor TensorMethods::index_put(const List<Index>& indices, const Tensor& values,
                                bool accumulate) const {
  return aorta::index_put(self(), indices, values, accumulate);
}
const Tensor& TensorMethods::index_put_(const List<Index>& indices, const Tensor& values,
                                        bool accumulate) const {
  return aorta::index_put_(self(), indices, values, accumulate), self();
}
const Tensor& TensorMethods::index_put_(const List<Index>& indices, const Scalar& value,
                                        bool accumulate) const {
  return aorta::index_put_(self(), indices, value, accumulate), self();
}
Tensor TensorMethods::nonzero() const { return aorta::nonzero(self()); }
Tensor TensorMethods::masked_select(const Tensor& mask) const {
  return aorta::masked_select(self(), mask);
}
Tensor TensorMethods::masked_scatter(const Tensor& mask, const Tensor& source) const {
  return aorta::masked_scatter(self(), mask, source);
}
const Tensor& TensorMethods::masked_scatter_(const Tensor& mask, const Tensor& source) const {
  return aorta::masked_scatter_(self(), mask, source), self();
}
std::vector<Tensor> TensorMethods::split(int64_t split_size, int64_t dim) const {
  return aorta::split(self(), split_size, dim);
}
std::vector<Tensor> TensorMethods::split(const List<int64_t>& sizes, int64_t dim) const {
  return aorta::split(self(), sizes, dim);
}
std::vector<Tensor> TensorMethods::split(std::initializer_list<int64_t> sizes, int64_t dim) const {
  return aorta::split(self(), sizes, dim);
}
std::vector<Tensor> TensorMethods::chunk(int64_t chunks, int64_t dim) const {
  return aorta::chunk(self(), chunks, dim);
}
std::vector<Tensor> TensorMethods::tensor_split(int64_t sections, int64_t dim) const {
  return aorta::tensor_split(self(), sections, dim);
}
std::vector<Tensor> TensorMethods::tensor_split(const List<int64_t>& indices, int64_t dim) const {
  return aorta::tensor_split(self(), indices, dim);
}
std::vector<Tensor> TensorMethods::tensor_split(std::initializer_list<int64_t> indices,
                                                int64_t dim) const {
  return aorta::tensor_split(self(), indices, dim);
}
std::vector<Tensor> TensorMethods::hsplit(int64_t sections) const {
  return aorta::hsplit(self(), sections);
}
std::vector<Tensor> TensorMethods::hsplit(const List<int64_t>& indices) const {
  return aorta::hsplit(self(), indices);
}
std::vector<Tensor> TensorMethods::hsplit(std::initializer_list<int64_t> indices) const {
  return aorta::hsplit(self(), indices);
}
std::vector<Tensor> TensorMethods::vsplit(int64_t sections) const {
  return aorta::vsplit(self(), sections);
}
std::vector<Tensor> TensorMethods::vsplit(const List<int64_t>& indices) const {
  return aorta::vsplit(self(), indices);
}
std::vector<Tensor> TensorMethods::vsplit(std::initializer_list<int64_t> indices) const {
  return aorta::vsplit(self(), indices);
}
std::vector<Tensor> TensorMethods::dsplit(int64_t sections) const {
  return aorta::dsplit(self(), sections);
}
std::vector<Tensor> TensorMethods::dsplit(const List<int64_t>& indices) const {
  return aorta::dsplit(self(), indices);
}
std::vector<Tensor> TensorMethods::dsplit(std::initializer_list<int64_t> indices) const {
  return aorta::dsplit(self(), indices);
}
std::vector<Tensor> TensorMethods::unbind(int64_t dim) const { return aorta::unbind(self(), dim); }
Tensor TensorMethods::narrow_copy(int64_t dim, int64_t start, int64_t length) const {
  return aorta::narrow_copy(self(), dim, start, length);
}
Tensor TensorMethods::as_strided(const Shape& shape, const Strides& strides, int64_t offset) const {
  return aorta::as_strided(self(), shape, strides, offset);
}
Tensor TensorMethods::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return aorta::diagonal(self(), offset, dim1, dim2);
}
Tensor TensorMethods::diag(int64_t diagonal) const { return aorta::diag(self(), diagonal); }
Tensor TensorMethods::unfold(int64_t dimension, int64_t size, int64_t step) const {
  return aorta::unfold(self(), dimension, size, step);
}
Tensor TensorMethods::slice_scatter(const Tensor& src, int64_t dim, std::optional<int64_t> start,
                                    std::optional<int64_t> end, int64_t step) const {
  return aorta::slice_scatter(self(), src, dim, start, end, step);
}
Tensor TensorMethods::select_scatter(const Tensor& src, int64_t dim, int64_t index) const {
  return aorta::select_scatter(self(), src, dim, index);
}
Tensor TensorMethods::diagonal_scatter(const Tensor& src, int64_t offset, int64_t dim1,
                                       int64_t dim2) const {
  return aorta::diagonal_scatter(self(), src, offset, dim1, dim2);
}
Tensor TensorMethods::as_strided_scatter(const Tensor& src, const Shape& shape,
                                         const Strides& strides, int64_t offset) const {
  return aorta::as_strided_scatter(self(), src, shape, strides, offset);
}
Tensor TensorMethods::movedim(int64_t source, int64_t destination) const {
  return aorta::movedim(self(), source, destination);
}
Tensor TensorMethods::movedim(const Dims& source, const Dims& destination) const {
  return aorta::movedim(self(), source, destination);
}
Tensor TensorMethods::flip(const Dims& dims) const { return aorta::flip(self(), dims); }
Tensor TensorMethods::fliplr() const { return aorta::fliplr(self()); }
Tensor TensorMethods::flipud() const { return aorta::flipud(self()); }
Tensor TensorMethods::rot90(int64_t k, const Dims& dims) const {
  return aorta::rot90(self(), k, dims);
}
Tensor TensorMethods::roll(const Dims& shifts, const Dims& dims) const {
  return aorta::roll(self(), shifts, dims);
}
Tensor TensorMethods::roll(int64_t shift, std::optional<int64_t> dim) const {
  return aorta::roll(self(), shift, dim);
}
Tensor TensorMethods::tril(int64_t diagonal) const { return aorta::tril(self(), diagonal); }
const Tensor& TensorMethods::tril_(int64_t diagonal) const {
  return aorta::tril_(self(), diagonal), self();
}
Tensor TensorMethods::triu(int64_t diagonal) const { return aorta::triu(self(), diagonal); }
const Tensor& TensorMethods::triu_(int64_t diagonal) const {
  return aorta::triu_(self(), diagonal), self();
}
Tensor TensorMethods::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  return aorta::diag_embed(self(), offset, dim1, dim2);
}
Tensor TensorMethods::diagflat(int64_t offset) const { return aorta::diagflat(self(), offset); }
const Tensor& TensorMethods::fill_diagonal_(const Scalar& value, bool wrap) const {
  return aorta::fill_diagonal_(self(), value, wrap), self();
}
Tensor TensorMethods::renorm(double p, int64_t dim, double maxnorm) const {
  return aorta::renorm(self(), p, dim, maxnorm);
}
const Tensor& TensorMethods::renorm_(double p, int64_t dim, double maxnorm) const {
  return aorta::renorm_(self(), p, dim, maxnorm), self();
}
ValuesIndices TensorMethods::mode(int64_t dim, bool keepdim) const {
  return aorta::mode(self(), dim, keepdim);
}
Tensor TensorMethods::repeat(const Dims& repeats) const { return aorta::repeat(self(), repeats); }
Tensor TensorMethods::tile(const Dims& repeats) const { return aorta::tile(self(), repeats); }
Tensor TensorMethods::repeat_interleave(int64_t repeats, std::optional<int64_t> dim) const {
  return aorta::repeat_interleave(self(), repeats, dim);
}
Tensor TensorMethods::repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim) const {
  return aorta::repeat_interleave(self(), repeats, dim);
}
const Tensor& TensorMethods::uniform_(double low, double high, Generator* generator) const {
  return aorta::uniform_(self(), low, high, generator), self();
}
const Tensor& TensorMethods::normal_(double mean, double std, Generator* generator) const {
  return aorta::normal_(self(), mean, std, generator), self();
}
const Tensor& TensorMethods::bernoulli_(double p, Generator* generator) const {
  return aorta::bernoulli_(self(), p, generator), self();
}
Tensor TensorMethods::bernoulli(Generator* generator) const {
  return aorta::bernoulli(self(), generator);
}
Tensor TensorMethods::multinomial(int64_t num_samples, bool replacement,
                                  Generator* generator) const {
  return aorta::multinomial(self(), num_samples, replacement, generator);
}
const Tensor& TensorMethods::random_() const { return aorta::random_(self()), self(); }
const Tensor& TensorMethods::random_(int64_t to) const {
  return aorta::random_(self(), to), self();
}
const Tensor& TensorMethods::random_(int64_t from, std::optional<int64_t> to,
                                     Generator* generator) const {
  return aorta::random_(self(), from, to, generator), self();
}
const Tensor& TensorMethods::exponential_(double lambd, Generator* generator) const {
  return aorta::exponential_(self(), lambd, generator), self();
}
const Tensor& TensorMethods::cauchy_(double median, double sigma, Generator* generator) const {
  return aorta::cauchy_(self(), median, sigma, generator), self();
}
const Tensor& TensorMethods::log_normal_(double mean, double std, Generator* generator) const {
  return aorta::log_normal_(self(), mean, std, generator), self();
}
const Tensor& TensorMethods::geometric_(double p, Generator* generator) const {
  return aorta::geometric_(self(), p, generator), self();
}
Tensor TensorMethods::nansum(const ReduceDims& dims, bool keepdim,
                             std::optional<DType> dtype) const {
  return aorta::nansum(self(), dims, keepdim, dtype);
}
Tensor TensorMethods::nanmean(const ReduceDims& dims, bool keepdim,
                              std::optional<DType> dtype) const {
  return aorta::nanmean(self(), dims, keepdim, dtype);
}
Tensor TensorMethods::median() const { return aorta::median(self()); }
ValuesIndices TensorMethods::median(int64_t dim, bool keepdim) const {
  return aorta::median(self(), dim, keepdim);
}
Tensor TensorMethods::nanmedian() const { return aorta::nanmedian(self()); }
ValuesIndices TensorMethods::nanmedian(int64_t dim, bool keepdim) const {
  return aorta::nanmedian(self(), dim, keepdim);
}
Tensor TensorMethods::quantile(const Operand& q, std::optional<int64_t> dim, bool keepdim,
                               const char* interpolation) const {
  return aorta::quantile(self(), q, dim, keepdim, interpolation);
}
Tensor TensorMethods::nanquantile(const Operand& q, std::optional<int64_t> dim, bool keepdim,
                                  const char* interpolation) const {
  return aorta::nanquantile(self(), q, dim, keepdim, interpolation);
}
Tensor TensorMethods::histc(int64_t bins, const Scalar& min, const Scalar& max) const {
  return aorta::histc(self(), bins, min, max);
}
Tensor TensorMethods::histc(const HistcOptions& options) const {
  return aorta::histc(self(), options);
}
Histogram TensorMethods::histogram(int64_t bins) const { return aorta::histogram(self(), bins); }
Histogram TensorMethods::histogram(int64_t bins, const HistogramOptions& options) const {
  return aorta::histogram(self(), bins, options);
}
Histogram TensorMethods::histogram(const Tensor& bins) const {
  return aorta::histogram(self(), bins);
}
Histogram TensorMethods::histogram(const Tensor& bins, const HistogramOptions& options) const {
  return aorta::histogram(self(), bins, options);
}
Tensor TensorMethods::bincount() const { return aorta::bincount(self()); }
Tensor TensorMethods::bincount(const Tensor& weights, int64_t minlength) const {
  return aorta::bincount(self(), weights, minlength);
}
Tensor TensorMethods::cov(int64_t correction) const { return aorta::cov(self(), correction); }
Tensor TensorMethods::cov(int64_t correction, const Tensor& fweights) const {
  return aorta::cov(self(), correction, fweights);
}
Tensor TensorMethods::cov(int64_t correction, const Tensor& fweights,
                          const Tensor& aweights) const {
  return aorta::cov(self(), correction, fweights, aweights);
}
Tensor TensorMethods::corrcoef() const { return aorta::corrcoef(self()); }
Tensor TensorMethods::nan_to_num(double nan, std::optional<double> posinf,
                                 std::optional<double> neginf) const {
  return aorta::nan_to_num(self(), nan, posinf, neginf);
}
const Tensor& TensorMethods::nan_to_num_(double nan, std::optional<double> posinf,
                                         std::optional<double> neginf) const {
  return aorta::nan_to_num_(self(), nan, posinf, neginf), self();
}
Tensor TensorMethods::real() const { return aorta::real(self()); }
Tensor TensorMethods::imag() const { return aorta::imag(self()); }
Tensor TensorMethods::conj() const { return aorta::conj(self()); }
Tensor TensorMethods::conj_physical() const { return aorta::conj_physical(self()); }
Tensor TensorMethods::angle() const { return aorta::angle(self()); }
Tensor TensorMethods::sgn() const { return aorta::sgn(self()); }
Tensor TensorMethods::vdot(const Tensor& other) const { return aorta::vdot(self(), other); }
Tensor TensorMethods::isreal() const { return aorta::isreal(self()); }
Tensor TensorMethods::stft(int64_t n_fft) const { return aorta::stft(self(), n_fft); }
Tensor TensorMethods::stft(int64_t n_fft, const StftOptions& options) const {
  return aorta::stft(self(), n_fft, options);
}
Tensor TensorMethods::istft(int64_t n_fft) const { return aorta::istft(self(), n_fft); }
Tensor TensorMethods::istft(int64_t n_fft, const IstftOptions& options) const {
  return aorta::istft(self(), n_fft, options);
}

Tensor TensorMethods::view_as(const Tensor& other) const { return self().view(other.shape()); }
Tensor TensorMethods::reshape_as(const Tensor& other) const {
  return self().reshape(other.shape());
}
Tensor TensorMethods::expand_as(const Tensor& other) const { return self().expand(other.shape()); }
Tensor TensorMethods::type_as(const Tensor& other) const {
  return self().to(ToOptions{.dtype = other.dtype(), .device = other.device()});
}

static TensorOptions like(const Tensor& tensor, const LikeOptions& options = {}) {
  return {.dtype = options.dtype.value_or(tensor.dtype()),
          .device = options.device.value_or(tensor.device()),
          .requires_grad = options.requires_grad};
}
Tensor TensorMethods::new_empty(const Shape& shape) const { return empty(shape, like(self())); }
Tensor TensorMethods::new_empty(const Shape& shape, const LikeOptions& options) const {
  return empty(shape, like(self(), options));
}
Tensor TensorMethods::new_empty_strided(const Shape& shape, const Strides& strides) const {
  return new_empty_strided(shape, strides, {});
}
Tensor TensorMethods::new_empty_strided(const Shape& shape, const Strides& strides,
                                        const LikeOptions& options) const {
  return empty_strided(shape, strides, like(self(), options));
}
Tensor TensorMethods::new_zeros(const Shape& shape) const { return zeros(shape, like(self())); }
Tensor TensorMethods::new_zeros(const Shape& shape, const LikeOptions& options) const {
  return zeros(shape, like(self(), options));
}
Tensor TensorMethods::new_ones(const Shape& shape) const { return ones(shape, like(self())); }
Tensor TensorMethods::new_ones(const Shape& shape, const LikeOptions& options) const {
  return ones(shape, like(self(), options));
}
Tensor TensorMethods::new_full(const Shape& shape, const Scalar& value) const {
  return full(shape, value, like(self()));
}
Tensor TensorMethods::new_full(const Shape& shape, const Scalar& value,
                               const LikeOptions& options) const {
  return full(shape, value, like(self(), options));
}

}  // namespace aorta
