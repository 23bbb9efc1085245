#include <aorta/core/body/item.h>
#include <aorta/core/cpu/items.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/parallel_for.h>

namespace aorta::cpu {
namespace {

using body::Edge;
using body::RemapArgs;
using body::RemapDim;
using body::TriangleArgs;

// Walks the rows (runs along dims[0]) of the output one after another.
class RemapRows {
 public:
  RemapRows(const RemapArgs& args, int64_t row) : args_(args) {
    for (int d = 1; d < args.ndim; ++d) {
      position_[d] = row % args.dims[d].size;
      row /= args.dims[d].size;
      to_ += position_[d] * args.dims[d].stride;
      enter(d);
    }
  }
  int64_t to() const { return to_; }
  int64_t from() const { return from_; }
  bool filled() const { return filled_ > 0; }
  void next() {
    for (int d = 1; d < args_.ndim; ++d) {
      leave(d);
      to_ += args_.dims[d].stride;
      const bool wraps = ++position_[d] == args_.dims[d].size;
      if (wraps) {
        to_ -= position_[d] * args_.dims[d].stride;
        position_[d] = 0;
      }
      enter(d);
      if (!wraps) return;
    }
  }

 private:
  void enter(int d) {
    source_[d] = body::source_position(args_.dims[d], position_[d]);
    filled_ += source_[d] < 0;
    from_ += source_[d] * args_.dims[d].source_stride;
  }
  void leave(int d) {
    filled_ -= source_[d] < 0;
    from_ -= source_[d] * args_.dims[d].source_stride;
  }

  const RemapArgs& args_;
  int64_t position_[kMaxDims] = {};
  int64_t source_[kMaxDims] = {};
  int64_t to_ = 0, from_ = 0;
  int filled_ = 0;
};

// Columns of a row: what lies before, on and after the source.
template <class Item>
void remap_row(const RemapDim& dim, Item* out, const Item* in, const Item* fill, Range columns,
               bool stream) {
  const int64_t n = dim.source_size, step = dim.source_stride;
  const auto run = [&](int64_t first, int64_t last, bool inside) {
    first = std::max(first, columns.begin);
    last = std::min(last, columns.end);
    if (first >= last) return;
    Item* const to = out + first * dim.stride;
    const int64_t from = body::source_position(dim, first);
    if (from < 0) return copy_run(to, dim.stride, fill, 0, last - first);
    const bool backwards = dim.edge == Edge::flip || (dim.edge == Edge::reflect && !inside);
    const bool stands = dim.edge == Edge::replicate && !inside;
    copy_run(to, dim.stride, in + from * step,
             stands      ? 0
             : backwards ? -step
                         : step,
             last - first, stream);
  };
  if (dim.edge == Edge::none || dim.edge == Edge::flip)
    return run(columns.begin, columns.end, true);
  run(columns.begin, dim.shift, false);
  run(dim.shift, dim.shift + n, true);
  run(dim.shift + n, columns.end, false);
}

template <class Item>
void remap(const RemapArgs& args) {
  Item* const output = static_cast<Item*>(args.output);
  const Item* const source = static_cast<const Item*>(args.source);
  const Item* const fill = reinterpret_cast<const Item*>(args.fill);
  const RemapDim whole{};
  const RemapDim& inner = args.ndim > 0 ? args.dims[0] : whole;
  const int64_t rows = args.numel / inner.size;
  const bool stream = should_stream(args.numel * args.item_size);
  const auto columns = [&](int64_t first_row, int64_t last_row, int64_t begin, int64_t end) {
    RemapRows cursor(args, first_row);
    for (int64_t row = first_row; row < last_row; ++row, cursor.next()) {
      Item* const out = output + cursor.to();
      if (cursor.filled()) {
        copy_run(out + begin * inner.stride, inner.stride, fill, 0, end - begin);
      } else {
        remap_row(inner, out, source + cursor.from(), fill, {begin, end}, stream);
      }
    }
    if (stream) stream_fence();
  };
  if (inner.size > kThreadGrain) {
    for (int64_t row = 0; row < rows; ++row) {
      parallel_for(0, inner.size, kThreadGrain,
                   [&](int64_t begin, int64_t end) { columns(row, row + 1, begin, end); });
    }
    return;
  }
  parallel_for(0, rows, std::max<int64_t>(kThreadGrain / inner.size, 1),
               [&](int64_t begin, int64_t end) { columns(begin, end, 0, inner.size); });
}

void remap_kernel(const RemapArgs& args) {
  body::visit_item(args.item_size, [&](auto item) { remap<decltype(item)>(args); });
}

template <class Item>
void triangle(const TriangleArgs& args) {
  const int64_t rows = args.numel / args.columns;
  const bool stream = should_stream(args.numel * args.item_size);
  const auto one_row = [&](int64_t i) {
    const int64_t row = i % args.rows;
    i /= args.rows;
    Item* out = static_cast<Item*>(args.output) + row * args.row_stride;
    const Item* in = static_cast<const Item*>(args.source) + row * args.source_row_stride;
    for (int d = 0; d < args.batch_dims; ++d) {
      const int64_t position = i % args.batch_shape[d];
      i /= args.batch_shape[d];
      out += position * args.batch_strides[d];
      in += position * args.source_batch_strides[d];
    }
    const int64_t cut =
        std::clamp<int64_t>(row + args.diagonal + (args.upper ? 0 : 1), 0, args.columns);
    const int64_t first = args.upper ? cut : 0, last = args.upper ? args.columns : cut;
    const Item zero = 0;
    const auto clear = [&](int64_t begin, int64_t end) {
      copy_run(out + begin * args.column_stride, args.column_stride, &zero, 0, end - begin);
    };
    clear(0, first);
    if (out != in) {
      copy_run(out + first * args.column_stride, args.column_stride,
               in + first * args.source_column_stride, args.source_column_stride, last - first,
               stream);
    }
    clear(last, args.columns);
  };
  parallel_for(0, rows, std::max<int64_t>(kThreadGrain / args.columns, 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) one_row(i);
                 if (stream) stream_fence();
               });
}

void triangle_kernel(const TriangleArgs& args) {
  body::visit_item(args.item_size, [&](auto item) { triangle<decltype(item)>(args); });
}

}  // namespace

void register_rearrange() {
  flip_op.set_kernel(DeviceType::cpu, remap_kernel);
  roll_op.set_kernel(DeviceType::cpu, remap_kernel);
  pad_op.set_kernel(DeviceType::cpu, remap_kernel);
  tril_op.set_kernel(DeviceType::cpu, triangle_kernel);
  triu_op.set_kernel(DeviceType::cpu, triangle_kernel);
}

}  // namespace aorta::cpu
