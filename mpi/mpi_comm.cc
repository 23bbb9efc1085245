#include <aorta/core/empty.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/rank_reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/mpi/mpi_comm.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace aorta::mpi {
namespace {

// How much of each share goes at once: large enough for the network, small enough for the cache.
constexpr int64_t kPieceBytes = 4 << 20;
// Below this one step with more bytes is faster than two; of two ranks it has as many.
constexpr int64_t kSmallBytes = 4 << 10;
constexpr int64_t kSmallBytesOfTwo = 256 << 10;
// Tensors with fewer bytes go in one piece: a message costs more than to copy them twice.
constexpr int64_t kPackedBytes = 64 << 10;
// The bytes of a text that goes at once; a longer one takes a second step.
constexpr int64_t kTextBytes = 248;
constexpr int kGroups = 4096;

char* bytes_of(const Tensor& flat, int64_t element) {
  return static_cast<char*>(flat.data()) + element * flat.element_size();
}

int64_t size_bytes(const Tensor& flat, int64_t elements) { return elements * flat.element_size(); }

Tensor flat_on_cpu(const Tensor& tensor) { return tensor.cpu().view({tensor.numel()}); }

// The link lives until the program ends.
class LinkState final : public GroupState {
 public:
  explicit LinkState(Link& link) : link_(link) {}
  void abort(const std::string& reason) override { link_.end(reason); }
  std::string failure() override { return link_.failure(); }
  void check_whole() override { link_.check_whole(); }

 private:
  Link& link_;
};

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// What lies from `start` on in flat tensors one after another, `length` elements, tensor by tensor.
std::vector<Tensor> parts_of(std::span<const Tensor> flats, int64_t start, int64_t length) {
  std::vector<Tensor> parts;
  int64_t first = 0;  // of the tensor, in all
  for (const Tensor& flat : flats) {
    const int64_t from = std::max(start, first);
    const int64_t to = std::min(start + length, first + flat.numel());
    if (from < to) parts.push_back(flat.narrow(0, from - first, to - from));
    first += flat.numel();
  }
  return parts;
}

int64_t piece_elements(const Tensor& flat) { return kPieceBytes / flat.element_size(); }

}  // namespace

MpiCommunicator::MpiCommunicator(Link& link, const CommOptions& options)
    : MpiCommunicator(
          link, options,
          {.members = all_ranks(link.size()), .rank = link.rank(), .name = "world", .tag = 0}) {}

MpiCommunicator::MpiCommunicator(Link& link, const CommOptions& options, Group group)
    : Communicator(group.rank, static_cast<int>(group.members.size()), options,
                   std::make_shared<LinkState>(link)),
      link_(link),
      group_(std::move(group)) {}

// A group is known by its tag, and MPI isn't asked. Those that a split makes have one tag, for no
// two processes are in more than one of them.
MpiCommunicator::Group MpiCommunicator::next_group(const char* op) const {
  const int number = groups_ + 1;
  const int64_t tag = int64_t{group_.tag} * kGroups + number;
  check(number < kGroups, op, "4095 groups can be made of one", number, " of ", group_.name);
  const bool is_reserved = 2 * tag + 1 >= Link::kTensorTag && 2 * tag <= Link::kReasonTag;
  check(2 * tag + 1 <= link_.largest_tag() && !is_reserved, op,
        "a group must be known by a tag that MPI has", 2 * tag + 1, " of ", link_.largest_tag(),
        " for one of ", group_.name);
  return {.members = group_.members,
          .rank = rank(),
          .name = group_.name + "." + std::to_string(number),
          .tag = static_cast<int>(tag)};
}

std::unique_ptr<Communicator> MpiCommunicator::made(Group group) {
  ++groups_;
  return std::unique_ptr<Communicator>(new MpiCommunicator(link_, options(), std::move(group)));
}

std::unique_ptr<Communicator> MpiCommunicator::do_duplicate() {
  Group group = next_group("duplicate");
  const std::string what = "duplicate " + group.name;
  compare("duplicate", exchange(what, what));
  return made(std::move(group));
}

std::unique_ptr<Communicator> MpiCommunicator::do_split(int64_t color) {
  Group group = next_group("split");
  const std::string what = "split " + group.name;
  const std::vector<std::string> texts = exchange(what + '\n' + std::to_string(color), what);
  compare("split", texts);
  const Members members = members_of(texts);
  group.members.clear();
  for (const int rank : members.ranks)
    group.members.push_back(group_.members[static_cast<size_t>(rank)]);
  group.rank = members.place;
  group.name += "(" + std::to_string(group.members[0]) + ")";
  return made(std::move(group));
}

void MpiCommunicator::entered(const CollectiveRecord& record) {
  what_ = record.call();
  link_.board().enter(group_.name, record);
}

void MpiCommunicator::left(const CollectiveRecord& record) {
  link_.board().leave(group_.name, record);
}

void MpiCommunicator::send(Transfer transfer, const std::string& what) {
  for (auto* const messages :
       {&transfer.sends, &transfer.receives, &transfer.text_sends, &transfer.text_receives})
    for (Message& message : *messages)
      message.peer = group_.members[static_cast<size_t>(message.peer)];
  link_.run(std::move(transfer), 2 * group_.tag, {patience(), timeout()}, what);
}

// The ranks' texts go by rows of one length: how long a text is, and a part of it; the first has
// all of most, and what the longest has more follows.
struct MpiCommunicator::Texts {
  std::string mine;
  std::vector<std::string> all = {};   // by rank, as far as they have come
  int64_t at = 0, bytes = kTextBytes;  // the part that comes next
  Tensor rows = {};
};

void MpiCommunicator::begin_row(Texts& texts, std::vector<Message>& sends,
                                std::vector<Message>& receives) const {
  const auto length = static_cast<int64_t>(texts.mine.size());
  const int64_t row = texts.bytes + int64_t{sizeof length};
  texts.all.resize(static_cast<size_t>(size()));
  texts.rows = empty({size(), row}, {.dtype = DType::u8});
  char* own = bytes_of(texts.rows, rank() * row);
  std::memset(own, 0, static_cast<size_t>(row));
  std::memcpy(own, &length, sizeof length);
  if (texts.at < length)
    std::memcpy(own + sizeof length, texts.mine.data() + texts.at,
                static_cast<size_t>(std::min(texts.bytes, length - texts.at)));
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    sends.push_back({peer, own, row});
    receives.push_back({peer, bytes_of(texts.rows, peer * row), row});
  }
}

void MpiCommunicator::read_row(Texts& texts) const {
  int64_t longest = 0;
  for (int64_t i = 0; i < size(); ++i) {
    const char* other = bytes_of(texts.rows, i * texts.rows.size(1));
    int64_t length = 0;
    std::memcpy(&length, other, sizeof length);
    longest = std::max(longest, length);
    if (texts.at < length)
      texts.all[static_cast<size_t>(i)].append(
          other + sizeof length, static_cast<size_t>(std::min(texts.bytes, length - texts.at)));
  }
  texts.at += texts.bytes;
  texts.bytes = longest - texts.at;
}

void MpiCommunicator::exchange_rows(Texts& texts, const std::string& what) {
  while (texts.bytes > 0) {
    Transfer transfer;
    begin_row(texts, transfer.text_sends, transfer.text_receives);
    transfer.tensors = {texts.rows};
    send(std::move(transfer), what);
    read_row(texts);
  }
}

std::vector<std::string> MpiCommunicator::exchange(const std::string& mine) {
  return exchange(mine, what_);
}

std::vector<std::string> MpiCommunicator::exchange(const std::string& mine,
                                                   const std::string& what) {
  check_whole();
  Texts texts{.mine = mine};
  exchange_rows(texts, what);
  return texts.all;
}

void MpiCommunicator::check_whole() const {
  if (disagreed_)
    throw RankError(
        "collective: all ranks of a group must have made the same calls, got others in " +
        group_.name);
}

void MpiCommunicator::compare(const std::string& op, const std::vector<std::string>& texts) {
  disagreed_ = true;
  check_same_call(op, texts);
  disagreed_ = false;
}

void MpiCommunicator::announce(const std::string& op, const std::string& mine) {
  check_whole();
  op_ = op;
  announced_ = mine;
}

void MpiCommunicator::settle() {
  if (!announced_.empty()) compare(op_, exchange(std::exchange(announced_, {})));
}

// What is announced goes along, so that to agree takes no time of its own.
void MpiCommunicator::run(Transfer transfer) {
  transfer.is_data = true;
  Texts texts{.mine = std::exchange(announced_, {})};
  if (!texts.mine.empty()) {
    begin_row(texts, transfer.text_sends, transfer.text_receives);
    transfer.tensors.push_back(texts.rows);
    transfer.agree = [&] {
      read_row(texts);
      exchange_rows(texts, what_);
      compare(op_, texts.all);
    };
  }
  send(std::move(transfer), what_);
}

MpiCommunicator::Range MpiCommunicator::Piece::of(int rank) const {
  const int64_t first = std::min(shares.step * rank, shares.count);
  const int64_t end = std::min(first + shares.step, shares.count);
  const int64_t start = std::min(first + at, end);
  return {start, std::min(most, end - start)};
}

// The others' elements come as they are sent, tensor by tensor.
void MpiCommunicator::reduce_piece(std::span<const Tensor> flats, const Piece& piece, ReduceOp op,
                                   std::span<const Tensor> outputs) {
  const Range own = piece.of(rank());
  const std::vector<Tensor> mine = parts_of(flats, own.start, own.length);
  const Tensor buffer = empty({size(), own.length}, {.dtype = flats[0].dtype()});
  Transfer transfer{.tensors = {flats.begin(), flats.end()}};
  transfer.tensors.push_back(buffer);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const Range theirs = piece.of(peer);
    for (const Tensor& part : parts_of(flats, theirs.start, theirs.length))
      transfer.sends.push_back({peer, part.data(), part.nbytes()});
    int64_t place = peer * own.length;
    for (const Tensor& part : mine) {
      transfer.receives.push_back({peer, bytes_of(buffer, place), part.nbytes()});
      place += part.numel();
    }
  }
  run(std::move(transfer));
  int64_t place = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    const int64_t length = mine[i].numel();
    std::vector<Tensor> ranks;
    for (int peer = 0; peer < size(); ++peer)
      ranks.push_back(peer == rank() ? mine[i] : buffer[peer].narrow(0, place, length));
    kernel::reduce_over_ranks(outputs[i], ranks, op);
    place += length;
  }
}

void MpiCommunicator::share_piece(std::span<const Tensor> flats, const Piece& piece) {
  const auto parts = [&](int rank) {
    const Range range = piece.of(rank);
    return parts_of(flats, range.start, range.length);
  };
  Transfer transfer{.tensors = {flats.begin(), flats.end()}};
  const std::vector<Tensor> mine = parts(rank());
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    for (const Tensor& part : mine) transfer.sends.push_back({peer, part.data(), part.nbytes()});
    for (const Tensor& part : parts(peer))
      transfer.receives.push_back({peer, part.data(), part.nbytes()});
  }
  run(std::move(transfer));
}

// Each rank gets all and reduces it.
void MpiCommunicator::all_reduce_small(const Tensor& flat, ReduceOp op) {
  const int64_t count = flat.numel();
  const Tensor buffer = empty({size(), count}, {.dtype = flat.dtype()});
  Transfer transfer{.tensors = {flat, buffer}};
  std::vector<Tensor> parts;
  for (int peer = 0; peer < size(); ++peer) {
    parts.push_back(peer == rank() ? flat : buffer[peer]);
    if (peer == rank()) continue;
    transfer.sends.push_back({peer, bytes_of(flat, 0), size_bytes(flat, count)});
    transfer.receives.push_back({peer, bytes_of(buffer, peer * count), size_bytes(buffer, count)});
  }
  run(std::move(transfer));
  kernel::reduce_over_ranks(flat, parts, op);
}

void MpiCommunicator::do_all_reduce(std::span<const Tensor> tensors, ReduceOp op) {
  std::vector<Tensor> wholes, packed, flats;
  int64_t count = 0;
  for (const Tensor& tensor : tensors) {
    wholes.push_back(flat_on_cpu(tensor));
    count += tensor.numel();
  }
  const int64_t bytes = count * tensors[0].element_size();
  const bool is_small = bytes <= (size() == 2 ? kSmallBytesOfTwo : kSmallBytes);
  for (const Tensor& whole : wholes)
    (is_small || whole.nbytes() < kPackedBytes ? packed : flats).push_back(whole);
  if (!packed.empty()) flats.push_back(packed.size() == 1 ? packed[0] : cat(packed));
  if (is_small) {
    all_reduce_small(flats[0], op);
  } else {
    Piece piece{{count, divide_up(count, size())}, 0, piece_elements(flats[0])};
    for (; piece.at < piece.shares.step; piece.at += piece.most) {
      const Range own = piece.of(rank());
      reduce_piece(flats, piece, op, parts_of(flats, own.start, own.length));
      share_piece(flats, piece);
    }
  }
  int64_t place = 0;
  for (size_t i = 0; packed.size() > 1 && i < packed.size(); ++i) {
    packed[i].copy_(flats.back().narrow(0, place, packed[i].numel()));
    place += packed[i].numel();
  }
  for (size_t i = 0; i < wholes.size(); ++i)
    if (!wholes[i].shares_storage(tensors[i])) tensors[i].copy_(wholes[i].view(tensors[i].shape()));
}

// Along a tree: with every step twice as many ranks have it.
void MpiCommunicator::do_broadcast(const Tensor& tensor, int root) {
  const Tensor flat = flat_on_cpu(tensor);
  const int64_t most = piece_elements(flat);
  const int place = (rank() - root + size()) % size();
  const auto rank_at = [&](int other) { return (other + root) % size(); };
  int reach = 1;  // of the first rank below which this one has it
  while (reach <= place) reach *= 2;
  for (int64_t at = 0; at < flat.numel(); at += most) {
    const int64_t bytes = size_bytes(flat, std::min(most, flat.numel() - at));
    char* data = bytes_of(flat, at);
    if (place > 0) {
      Transfer transfer{.tensors = {flat}};
      transfer.receives.push_back({rank_at(place - reach / 2), data, bytes});
      run(std::move(transfer));
    }
    Transfer transfer{.tensors = {flat}};
    for (int step = reach; place + step < size(); step *= 2)
      transfer.sends.push_back({rank_at(place + step), data, bytes});
    run(std::move(transfer));
  }
  if (!flat.shares_storage(tensor)) tensor.copy_(flat.view(tensor.shape()));
}

void MpiCommunicator::do_all_gather(const Tensor& output, const Tensor& input) {
  const Tensor mine = flat_on_cpu(input);
  const int64_t count = mine.numel();
  const Tensor all = output.device().is_cuda() ? empty({size() * count}, {.dtype = output.dtype()})
                                               : output.view({size() * count});
  all.narrow(0, rank() * count, count).copy_(mine);
  Transfer transfer{.tensors = {mine, all}};
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    transfer.sends.push_back({peer, bytes_of(mine, 0), size_bytes(mine, count)});
    transfer.receives.push_back({peer, bytes_of(all, peer * count), size_bytes(all, count)});
  }
  run(std::move(transfer));
  if (!all.shares_storage(output)) output.copy_(all.view(output.shape()));
}

void MpiCommunicator::do_reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op) {
  const Tensor flat = flat_on_cpu(input), result = output.view({output.numel()});
  Piece piece{{flat.numel(), output.numel()}, 0, piece_elements(flat)};
  for (; piece.at < piece.shares.step; piece.at += piece.most) {
    const Tensor reduced = empty({piece.of(rank()).length}, {.dtype = flat.dtype()});
    reduce_piece({&flat, 1}, piece, op, {&reduced, 1});
    result.narrow(0, piece.at, reduced.numel()).copy_(reduced);
  }
}

}  // namespace aorta::mpi
