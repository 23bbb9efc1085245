// Scaled dot-product attention. A task is some queries of a head (forward), or some keys
// (backward), and goes through the others block by block. Products are those of panels (GemmBlock):
// a panel of queries meets the block's keys, and what becomes of its scores stays in the
// first-level cache.
#include <aorta/core/cpu/attention.h>

#include <aorta/core/cpu/scratch.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace aorta::cpu {
namespace {

// The place of no bytes may be null.
void clear(char* bytes, int64_t size) {
  if (size > 0) std::memset(bytes, 0, static_cast<size_t>(size));
}

// Keys of a block in the forward pass, and queries of a task, which share the packed keys.
constexpr int64_t kForwardKeys = 512, kTaskQueries = 384;
// Keys and queries of a block in the backward pass: with their sums, most of a second-level cache.
constexpr int64_t kBackwardKeys = 256, kBackwardQueries = 96;
// Scores are computed in whole steps.
constexpr int64_t kStep = 32;
// Tasks that are enough for any machine's threads; heads are cut where they are fewer.
constexpr int64_t kEnoughTasks = 16;

// Lines of numbers somewhere; strides in bytes.
struct Lines {
  const char* data;
  DType dtype;
  int64_t line, step;  // from line to line, and along one
  Lines from(int64_t i) const { return {data + i * line, dtype, line, step}; }
  Lines across() const { return {data, dtype, step, line}; }
};

// c (rows, columns) = or += alpha * a b for one panel of rows of a, whose steps meet those of b
// from `first` on.
struct PanelProduct {
  const char* a;
  int64_t rows, steps;
  bool blocked = false;  // how a is packed
  const char* b;
  int64_t b_steps, first = 0, columns;
  char* c;
  int64_t ldc;
  double alpha = 1;
  bool accumulate = false;
};

// Products of panels in one kind.
class Panels {
 public:
  explicit Panels(DType dtype)
      : kind(gemm_kind(dtype)),
        tile(gemm_loops().tile(kind)),
        pair_(kind == GemmKind::bf16 ? 2 : 1) {}

  // Elements of so many steps.
  int64_t depth(int64_t steps) const { return divide_up(steps, pair_); }
  // Bytes of so many lines as rows, blocked or not, and as columns.
  int64_t row_bytes(int64_t lines, int64_t steps) const { return at(lines, steps, true); }
  int64_t column_bytes(int64_t lines, int64_t steps) const {
    return at(round_up(lines, tile.columns), steps, false);
  }

  // Lines whose steps are neighbours may be blocked, which copies them as they are.
  void pack_rows(char* to, const Lines& x, int64_t lines, int64_t steps, bool blocked) const {
    pack(to, x, lines, steps, {tile.rows, 1}, blocked);
  }
  static bool takes_blocks(const Lines& x) { return x.step == item_size(x.dtype); }
  void pack_columns(char* to, const Lines& x, int64_t lines, int64_t steps) const {
    pack(to, x, lines, steps, {tile.columns, tile.columns / 2}, false);
  }

  void multiply(const PanelProduct& product) const {
    const GemmRun run{depth(product.first), depth(product.steps)};
    GemmBlock block;
    block.kind = kind;
    block.m = product.rows;
    block.n = product.columns;
    block.k = run.k;
    block.b_depth = depth(product.b_steps);
    block.a = product.a;
    block.b = product.b;
    block.runs = &run;
    block.run_count = 1;
    block.c = product.c;
    block.ldc = product.ldc;
    block.alpha = product.alpha;
    block.accumulate = product.accumulate;
    block.blocked = product.blocked;
    gemm_loops().block(block);
  }

  // Where the panel of rows that begins with `line` lies.
  int64_t at(int64_t line, int64_t steps, bool blocked) const {
    const int64_t elements = depth(steps);
    return line * (blocked ? round_up(elements, kGemmSteps) : elements) * tile.bytes;
  }

  const GemmKind kind;
  const GemmTile tile;

 private:
  // Lines of a panel, and what a panel that has fewer is padded to a multiple of.
  struct Unit {
    int64_t lines, padding;
  };

  void pack(char* to, const Lines& x, int64_t lines, int64_t steps, Unit unit, bool blocked) const {
    GemmPack panel;
    panel.kind = kind;
    panel.dtype = x.dtype;
    panel.line_stride = x.line;
    panel.k_stride = x.step;
    panel.k = steps;
    panel.blocked = blocked;
    for (int64_t line = 0; line < lines; line += unit.lines) {
      panel.source = x.data + line * x.line;
      panel.lines = std::min(unit.lines, lines - line);
      panel.padded = round_up(panel.lines, unit.padding);
      panel.packed = to + at(line, steps, blocked);
      gemm_loops().pack(panel);
    }
  }

  const int64_t pair_;  // steps of an element
};

// Pieces of one allocation.
class Pieces {
 public:
  explicit Pieces(std::initializer_list<int64_t> bytes) : memory_(total(bytes)) {
    char* next = memory_.data();
    for (const int64_t count : bytes) {
      pieces_[count_++] = next;
      next += round_up(count, 64);
    }
  }
  char* operator[](int i) const { return pieces_[i]; }

 private:
  static int64_t total(std::initializer_list<int64_t> bytes) {
    int64_t sum = 0;
    for (const int64_t count : bytes) sum += round_up(count, 64);
    return sum;
  }

  const Scratch memory_;
  int count_ = 0;
  char* pieces_[16];
};

// What both passes know.
class Attention {
 protected:
  explicit Attention(const AttentionKernelArgs& args)
      : args_(args),
        item_(item_size(args.dtype)),
        sum_(sum_size(args.dtype)),
        heads_(args.batch * args.heads),
        panels_(args.dtype) {}

  Lines lines(const AttentionOperand& x, int64_t head) const {
    return {at(x, head, 0), args_.dtype, x.row * item_, x.column * item_};
  }
  char* at(const AttentionOperand& x, int64_t head, int64_t row) const {
    return static_cast<char*>(x.data) +
           (head / args_.heads * x.batch + head % args_.heads * x.head + row * x.row) * item_;
  }
  AttentionRows row_of(const AttentionOperand& x, int64_t head) const {
    return {at(x, head, 0), x.row * item_};
  }
  char* log_sum(int64_t head, int64_t row) const {
    return static_cast<char*>(args_.log_sum) + (head * args_.queries + row) * sum_;
  }

  AttentionScores scores(int64_t head, Range queries, Range keys, char* data,
                         int64_t stride) const {
    AttentionScores part;
    part.rows = queries.size();
    part.keys = keys.size();
    part.seen = args_.is_causal ? queries.begin + 1 - keys.begin : part.keys;
    part.seen_step = args_.is_causal ? 1 : 0;
    part.width = part.seen_by(part.rows - 1);
    part.scores = data;
    part.stride = stride;
    if (args_.mask.data) {
      const AttentionOperand& mask = args_.mask;
      const int64_t size = item_size(args_.mask_dtype);
      part.mask = static_cast<const char*>(mask.data) +
                  (head / args_.heads * mask.batch + head % args_.heads * mask.head +
                   queries.begin * mask.row + keys.begin * mask.column) *
                      size;
      part.mask_dtype = args_.mask_dtype;
      part.mask_row = mask.row * size;
      part.mask_column = mask.column * size;
    }
    part.dropout = args_.dropout;
    part.number = (head * args_.queries + queries.begin) * args_.keys + keys.begin;
    part.number_step = args_.keys;
    return part;
  }

  // Keys of a block that are multiplied so that `width` of them are there: whole panels.
  int64_t whole_panels(int64_t width, int64_t keys) const {
    return std::min(round_up(width, panels_.tile.columns), keys);
  }

  const AttentionKernelArgs& args_;
  const int64_t item_, sum_;  // bytes of a number, and of a sum
  const int64_t heads_;
  const Panels panels_;
  const AttentionLoops& loops_ = attention_loops();
};

class AttentionForward : Attention {
 public:
  explicit AttentionForward(const AttentionKernelArgs& args) : Attention(args) {}

  void run() const {
    const int64_t parts = divide_up(args_.queries, kTaskQueries);
    const int64_t each = round_up(divide_up(args_.queries, parts), panels_.tile.rows);
    const int64_t work = each * args_.keys * (args_.features + args_.value_features);
    parallel_for(
        0, heads_ * parts, divide_up(kTaskWork, std::max<int64_t>(work, 1)),
        [&](int64_t begin, int64_t end) {
          const int64_t keys = std::min(args_.keys, kForwardKeys);
          const int64_t rows = panels_.tile.rows;
          const Pieces memory(
              {panels_.row_bytes(each, args_.features), panels_.column_bytes(keys, args_.features),
               panels_.column_bytes(args_.value_features, keys),
               rows * round_up(keys, kStep) * sum_, panels_.row_bytes(rows, round_up(keys, kStep)),
               each * args_.value_features * sum_, each * sum_, each * sum_});
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % parts * each;
            if (first < args_.queries)
              attend(i / parts, first, std::min(each, args_.queries - first), memory);
          }
        });
  }

 private:
  void attend(int64_t head, int64_t first, int64_t count, const Pieces& memory) const {
    const int64_t features = args_.features, values = args_.value_features;
    const int64_t tile_rows = panels_.tile.rows;
    const int64_t end = args_.is_causal ? std::min(args_.keys, first + count) : args_.keys;
    char *const query = memory[0], *const key = memory[1], *const value = memory[2];
    char *const sums = memory[5], *const largest = memory[6], *const total = memory[7];
    const Lines queries = lines(args_.query, head).from(first);
    const bool blocked = panels_.takes_blocks(queries);
    panels_.pack_rows(query, queries, count, features, blocked);
    for (int64_t block = 0; block < end; block += kForwardKeys) {
      const int64_t keys = std::min(kForwardKeys, end - block), stride = round_up(keys, kStep);
      panels_.pack_columns(key, lines(args_.key, head).from(block), keys, features);
      panels_.pack_columns(value, lines(args_.value, head).from(block).across(), values, keys);
      for (int64_t row = 0; row < count; row += tile_rows) {
        const int64_t rows = std::min(tile_rows, count - row);
        AttentionSoftmax step;
        step.part = scores(head, {first + row, first + row + rows}, {block, block + keys},
                           memory[3], stride);
        const int64_t width = step.part.width;
        if (width == 0) continue;
        panels_.multiply({.a = query + panels_.at(row, features, blocked),
                          .rows = rows,
                          .steps = features,
                          .blocked = blocked,
                          .b = key,
                          .b_steps = features,
                          .columns = whole_panels(width, keys),
                          .c = memory[3],
                          .ldc = stride,
                          .alpha = args_.scale});
        step.first = block == 0;
        step.weights = memory[4];
        step.largest = largest + row * sum_;
        step.total = total + row * sum_;
        step.sums = sums + row * values * sum_;
        step.values = values;
        loops_.softmax(panels_.kind, step);
        panels_.multiply({.a = memory[4],
                          .rows = rows,
                          .steps = width,
                          .blocked = true,
                          .b = value,
                          .b_steps = keys,
                          .columns = values,
                          .c = sums + row * values * sum_,
                          .ldc = values,
                          .accumulate = block > 0});
      }
    }
    args_.dtype == DType::f64 ? finish<double>(head, first, count, end, memory)
                              : finish<float>(head, first, count, end, memory);
  }

  template <class C>
  void finish(int64_t head, int64_t first, int64_t count, int64_t keys,
              const Pieces& memory) const {
    const int64_t values = args_.value_features;
    C* const log = reinterpret_cast<C*>(log_sum(head, first));
    C* const total = reinterpret_cast<C*>(memory[7]);
    for (int64_t row = 0; row < count; ++row) {
      const bool none = keys == 0 || total[row] == C(0);
      log[row] = none ? -std::numeric_limits<C>::infinity()
                      : reinterpret_cast<const C*>(memory[6])[row] + std::log(total[row]);
      total[row] = none ? C(0) : C(1) / total[row];
    }
    AttentionRows out = row_of(args_.output, head);
    out.data += first * out.step;
    if (keys == 0) clear(memory[5], count * values * sum_);
    loops_.store(args_.dtype, out, memory[5], memory[7], count, values);
  }
};

class AttentionBackward : Attention {
 public:
  explicit AttentionBackward(const AttentionBackwardArgs& args)
      : Attention(args),
        backward_(args),
        blocks_(divide_up(args.keys, kBackwardKeys)),
        parts_(std::clamp<int64_t>(kEnoughTasks / std::max<int64_t>(heads_, 1), 1,
                                   std::max<int64_t>(blocks_, 1))) {}

  // Where a head is cut, each part has sums of its own for the gradient of all queries.
  void run() const {
    const int64_t size = args_.queries * args_.features * sum_;
    const Scratch all(parts_ > 1 ? heads_ * parts_ * size : 0);
    const int64_t work = args_.queries * divide_up(args_.keys, parts_) *
                         (3 * args_.features + 2 * args_.value_features);
    parallel_for(0, heads_ * parts_, divide_up(kTaskWork, std::max<int64_t>(work, 1)),
                 [&](int64_t begin, int64_t end) {
                   const Scratch own(parts_ > 1 ? 0 : size);
                   const Scratch inner(args_.queries * sum_);
                   const Pieces memory = pieces();
                   for (int64_t i = begin; i < end; ++i) {
                     char* const sums = parts_ > 1 ? all.data() + i * size : own.data();
                     clear(sums, size);
                     loops_.inner(args_.dtype, inner.data(), row_of(backward_.gradient, i / parts_),
                                  row_of(args_.output, i / parts_), args_.queries,
                                  args_.value_features);
                     const Range mine = part_of(blocks_, parts_, i % parts_);
                     for (int64_t block = mine.begin; block < mine.end; ++block)
                       add_block(i / parts_, block * kBackwardKeys, inner.data(), sums, memory);
                     if (parts_ == 1)
                       store(backward_.query_gradient, i, 0, args_.queries, sums, args_.features);
                   }
                 });
    if (parts_ > 1) {
      parallel_for(0, heads_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t head = begin; head < end; ++head) {
          char* const sums = all.data() + head * parts_ * size;
          args_.dtype == DType::f64 ? add_parts<double>(sums) : add_parts<float>(sums);
          store(backward_.query_gradient, head, 0, args_.queries, sums, args_.features);
        }
      });
    }
  }

 private:
  // Operands are packed as rows or as columns of a product; the sums are gradients.
  enum Piece {
    kKey,  // columns: keys
    kValue,
    kKeyFeatures,  // columns: features
    kQuery,        // rows: queries
    kGradient,
    kQueryFeatures,  // columns: features
    kGradientFeatures,
    kScores,  // of a panel of queries
    kProducts,
    kWeights,  // of all queries of the block
    kSlopes,
    kPacked,
    kKeySums,
    kValueSums,
  };

  Pieces pieces() const {
    const int64_t keys = std::min(args_.keys, kBackwardKeys), stride = round_up(keys, kStep);
    const int64_t queries = std::min(args_.queries, kBackwardQueries), rows = panels_.tile.rows;
    const int64_t features = args_.features, values = args_.value_features;
    return Pieces({panels_.column_bytes(keys, features), panels_.column_bytes(keys, values),
                   panels_.column_bytes(features, keys), panels_.row_bytes(queries, features),
                   panels_.row_bytes(queries, values), panels_.column_bytes(features, queries),
                   panels_.column_bytes(values, queries), rows * stride * sum_,
                   rows * stride * sum_, queries * stride * weight_size(),
                   queries * stride * weight_size(),
                   std::max(panels_.row_bytes(keys, queries), panels_.row_bytes(queries, keys)),
                   keys * features * sum_, keys * values * sum_});
  }

  DType weight_dtype() const {
    return panels_.kind == GemmKind::bf16 ? DType::bf16 : compute_dtype(args_.dtype);
  }
  int64_t weight_size() const { return item_size(weight_dtype()); }

  // Keys of a block that the queries see any of.
  int64_t seen_keys(Range queries, Range keys) const {
    return args_.is_causal ? std::min(keys.size(), queries.end - keys.begin) : keys.size();
  }

  // Adds what a block of keys makes of all queries' gradient, and stores that of the keys.
  void add_block(int64_t head, int64_t block, const char* inner, char* query_sums,
                 const Pieces& memory) const {
    const int64_t features = args_.features, values = args_.value_features;
    const Range keys{block, std::min(block + kBackwardKeys, args_.keys)};
    const Lines key = lines(args_.key, head).from(block);
    panels_.pack_columns(memory[kKey], key, keys.size(), features);
    panels_.pack_columns(memory[kKeyFeatures], key.across(), features, keys.size());
    panels_.pack_columns(memory[kValue], lines(args_.value, head).from(block), keys.size(), values);
    clear(memory[kKeySums], keys.size() * features * sum_);
    clear(memory[kValueSums], keys.size() * values * sum_);
    for (int64_t query = args_.is_causal ? block : 0; query < args_.queries;
         query += kBackwardQueries) {
      const Range queries{query, std::min(query + kBackwardQueries, args_.queries)};
      make_slopes(head, queries, keys, inner, memory);
      add_keys({memory[kWeights], memory[kGradientFeatures], values, memory[kValueSums]}, queries,
               keys, memory);
      add_keys({memory[kSlopes], memory[kQueryFeatures], features, memory[kKeySums]}, queries, keys,
               memory);
      add_queries(queries, keys, query_sums, memory);
    }
    store(backward_.key_gradient, head, block, keys.size(), memory[kKeySums], features);
    store(backward_.value_gradient, head, block, keys.size(), memory[kValueSums], values);
  }

  // Weights and slopes of a block, (queries, keys). In a causal block keys stand beside a panel's
  // own as zeros, for panels of keys meet panels of queries.
  void make_slopes(int64_t head, Range queries, Range keys, const char* inner,
                   const Pieces& memory) const {
    const int64_t features = args_.features, values = args_.value_features;
    const int64_t count = queries.size();
    const int64_t tile_rows = panels_.tile.rows, stride = round_up(keys.size(), kStep);
    const Lines query = lines(args_.query, head).from(queries.begin);
    const Lines gradient = lines(backward_.gradient, head).from(queries.begin);
    const bool blocked = panels_.takes_blocks(query);
    panels_.pack_rows(memory[kQuery], query, count, features, blocked);
    panels_.pack_rows(memory[kGradient], gradient, count, values, true);
    panels_.pack_columns(memory[kQueryFeatures], query.across(), features, count);
    panels_.pack_columns(memory[kGradientFeatures], gradient.across(), values, count);
    for (int64_t row = 0; row < count; row += tile_rows) {
      const int64_t rows = std::min(tile_rows, count - row), first = queries.begin + row;
      AttentionSlopes step;
      step.part = scores(head, {first, first + rows}, keys, memory[kScores], stride);
      if (args_.is_causal) step.part.width = std::min(keys.size(), step.part.seen + tile_rows);
      const int64_t columns = whole_panels(step.part.width, keys.size());
      panels_.multiply({.a = memory[kQuery] + panels_.at(row, features, blocked),
                        .rows = rows,
                        .steps = features,
                        .blocked = blocked,
                        .b = memory[kKey],
                        .b_steps = features,
                        .columns = columns,
                        .c = memory[kScores],
                        .ldc = stride,
                        .alpha = args_.scale});
      panels_.multiply({.a = memory[kGradient] + panels_.at(row, values, true),
                        .rows = rows,
                        .steps = values,
                        .blocked = true,
                        .b = memory[kValue],
                        .b_steps = values,
                        .columns = columns,
                        .c = memory[kProducts],
                        .ldc = stride});
      step.products = memory[kProducts];
      step.log_sum = log_sum(head, first);
      step.inner = inner + first * sum_;
      step.scale = args_.scale;
      step.weights = memory[kWeights] + row * stride * weight_size();
      step.slopes = memory[kSlopes] + row * stride * weight_size();
      loops_.slopes(panels_.kind, step);
    }
  }

  // sums (keys, columns) += x^T other for x (queries, keys).
  struct KeyGradient {
    const char *x, *other;
    int64_t columns;
    char* sums;
  };

  // Adds what the queries that see a key give.
  void add_keys(const KeyGradient& gradient, Range queries, Range keys,
                const Pieces& memory) const {
    const int64_t size = weight_size(), stride = round_up(keys.size(), kStep) * size;
    const int64_t tile_rows = panels_.tile.rows, columns = gradient.columns;
    const int64_t count = queries.size(), seen = seen_keys(queries, keys);
    const Lines lines{gradient.x, weight_dtype(), size, stride};
    panels_.pack_rows(memory[kPacked], lines, seen, count, false);
    for (int64_t key = 0; key < seen; key += tile_rows) {
      const int64_t rows = std::min(tile_rows, seen - key);
      const int64_t skipped = args_.is_causal
                                  ? std::max<int64_t>(keys.begin + key - queries.begin, 0)
                                  : 0;  // whole panels
      panels_.multiply({.a = memory[kPacked] + panels_.at(key, count, false) +
                             rows * panels_.depth(skipped) * panels_.tile.bytes,
                        .rows = rows,
                        .steps = count - skipped,
                        .b = gradient.other,
                        .b_steps = count,
                        .first = skipped,
                        .columns = columns,
                        .c = gradient.sums + key * columns * sum_,
                        .ldc = columns,
                        .accumulate = true});
    }
  }

  void add_queries(Range queries, Range keys, char* sums, const Pieces& memory) const {
    const int64_t size = weight_size(), stride = round_up(keys.size(), kStep) * size;
    const int64_t tile_rows = panels_.tile.rows, features = args_.features;
    const int64_t count = queries.size(), seen = seen_keys(queries, keys);
    panels_.pack_rows(memory[kPacked], {memory[kSlopes], weight_dtype(), stride, size}, count, seen,
                      true);
    for (int64_t row = 0; row < count; row += tile_rows) {
      const int64_t rows = std::min(tile_rows, count - row), first = queries.begin + row;
      panels_.multiply({.a = memory[kPacked] + panels_.at(row, seen, true),
                        .rows = rows,
                        .steps = args_.is_causal ? std::min(seen, first + rows - keys.begin) : seen,
                        .blocked = true,
                        .b = memory[kKeyFeatures],
                        .b_steps = keys.size(),
                        .columns = features,
                        .c = sums + first * features * sum_,
                        .ldc = features,
                        .accumulate = true});
    }
  }

  template <class C>
  void add_parts(char* sums) const {
    const int64_t size = args_.queries * args_.features;
    C* const to = reinterpret_cast<C*>(sums);
    for (int64_t part = 1; part < parts_; ++part) {
      for (int64_t i = 0; i < size; ++i) to[i] += to[part * size + i];
    }
  }

  void store(const AttentionOperand& to, int64_t head, int64_t first, int64_t rows,
             const char* sums, int64_t columns) const {
    AttentionRows x = row_of(to, head);
    x.data += first * x.step;
    loops_.store(args_.dtype, x, sums, nullptr, rows, columns);
  }

  const AttentionBackwardArgs& backward_;
  const int64_t blocks_, parts_;  // of the keys
};

}  // namespace

void register_attention() {
  attention_op.set_kernel(DeviceType::cpu,
                          [](const AttentionKernelArgs& args) { AttentionForward(args).run(); });
  attention_backward_op.set_kernel(
      DeviceType::cpu, [](const AttentionBackwardArgs& args) { AttentionBackward(args).run(); });
}

}  // namespace aorta::cpu
