#include <aorta/core/check.h>
#include <aorta/optim/options.h>

namespace aorta::optim {
namespace {

template <class Two>
void both(const Fields::Pointer& to, const Fields::Pointer& from, const Two& function) {
  std::visit([&]<class T>(T* place) { function(*place, *std::get<T*>(from)); }, to);
}

bool equal(const Fields::Pointer& a, const Fields::Pointer& b) {
  bool same = false;
  both(a, b, [&](const auto& x, const auto& y) { same = x == y; });
  return same;
}

}  // namespace

void Fields::inherit(const Fields& defaults, const Fields& standard) const {
  for (size_t i = 0; i < list_.size(); ++i) {
    const Field& field = list_[i];
    const Pointer& given = defaults.list_[i].place;
    if (!field.named) {
      check(!equal(field.place, standard.list_[i].place) || equal(given, standard.list_[i].place),
            "optimizer", "an option that groups inherit must be an optim::Option", field.name);
      continue;
    }
    if (!*field.named) {
      both(field.place, given, [](auto& to, const auto& from) { to = from; });
      *field.named = *defaults.list_[i].named;
    }
  }
}

void Fields::name_all() const {
  for (const Field& field : list_) {
    if (field.named) *field.named = true;
  }
}

}  // namespace aorta::optim
