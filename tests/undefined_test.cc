#include <aorta/aorta.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/dot.h>
#include <aorta/core/dlpack.h>
#include <aorta/core/io/npy.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/io/safetensors.h>
#include <aorta/data/images/animated_png.h>
#include <aorta/data/images/polygon.h>
#include <aorta/data/video/video.h>
#include <aorta/nn/draw_graph.h>
#include <aorta/report/canvas.h>
#include <aorta/report/events.h>
#include <aorta/report/page.h>
#include <aorta/tests/error_text.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

// What isn't an op and gets an undefined tensor names itself and which one it is. Of ops the
// catalogue's tests ask it (attacked_test.cc).
namespace aorta {
namespace {

struct Asked {
  std::string start;  // of the error
  std::function<void(const Tensor& none)> call;
};

std::vector<Asked> everything() {
  const std::string folder = testing::TempDir();
  const auto file = [folder](const char* name) { return folder + "/undefined_test_" + name; };
  return {
      {file("a.npy") + ": tensor ", [=](const Tensor& none) { save(none, file("a.npy")); }},
      {file("a.npz") + ": \"a\" ",
       [=](const Tensor& none) {
         save({{"a", none}}, file("a.npz"));
       }},
      {file("a.npy") + ": tensor ", [=](const Tensor& none) { npy::save(none, file("a.npy")); }},
      {file("a.npz") + ": \"a\" ",
       [=](const Tensor& none) {
         npz::save({{"a", none}}, file("a.npz"));
       }},
      {file("a.safetensors") + ": \"a\" ",
       [=](const Tensor& none) {
         safetensors::save({{"a", none}}, file("a.safetensors"));
       }},
      {"state: \"a\" ", [](const Tensor& none) { State().set("a", none); }},
      {"canvas: picture ",
       [](const Tensor& none) {
         report::Canvas(8, 8, {0, 0, 0}).picture(none, 0, 0);
       }},
      {"events: image ",
       [=](const Tensor& none) { report::EventWriter(file("events")).image("a", none, 0); }},
      {"page: picture ", [](const Tensor& none) { report::Page("a").picture(none); }},
      {"page: picture ",
       [](const Tensor& none) {
         report::Page("a").pictures({{none, "b"}});
       }},
      {"page: film ",
       [](const Tensor& none) {
         report::Page("a").films({{none, 10, "b"}});
       }},
      {"batch: \"a\" ", [](const Tensor& none) { data::Batch().add("a", none); }},
      {"tensor_dataset: \"a\" ",
       [](const Tensor& none) {
         data::TensorDataset(NamedTensors{{"a", none}});
       }},
      {"encode_animated_png: frames ",
       [](const Tensor& none) { data::encode_animated_png(none, 10); }},
      {"encode_jpeg: image ", [](const Tensor& none) { data::encode_jpeg(none); }},
      {"write_jpeg: image ", [=](const Tensor& none) { data::write_jpeg(none, file("a.jpg")); }},
      {"encode_png: image ", [](const Tensor& none) { data::encode_png(none); }},
      {"write_png: image ", [=](const Tensor& none) { data::write_png(none, file("a.png")); }},
      {"fill_polygon: mask ",
       [](const Tensor& none) {
         data::fill_polygon(none, std::vector<data::Point>{{0, 0}, {1, 0}, {1, 1}});
       }},
      {"transforms: images[0] ",
       [](const Tensor& none) { data::Transforms{data::RandomHorizontalFlip{}}(none); }},
      {"write_video: frames ", [=](const Tensor& none) { data::write_video(file("a.avi"), none); }},
      {"checkpoint: input ",
       [](const Tensor& none) { autograd::checkpoint([](const Tensor& x) { return x; }, none); }},
      {"to_dot: loss ", [](const Tensor& none) { autograd::to_dot(none); }},
      {"backward: ",
       [](const Tensor& none) {
         autograd::backward({&none, 1});
       }},
      {"backward: ", [](const Tensor& none) { none.backward(); }},
      {"grad: ", [](const Tensor& none) { autograd::grad({none}, {ones({1})}); }},
      {"to_dlpack: input ", [](const Tensor& none) { to_dlpack(none); }},
      {"is_leaf: ", [](const Tensor& none) { static_cast<void>(none.is_leaf()); }},
      {"grad: ", [](const Tensor& none) { none.grad(); }},
      {"grad_fn: ", [](const Tensor& none) { none.grad_fn(); }},
      {"retain_grad: ", [](const Tensor& none) { none.retain_grad(); }},
      {"register_hook: ",
       [](const Tensor& none) { none.register_hook([](const Tensor& x) { return x; }); }},
      {"set_grad: ", [](const Tensor& none) { none.set_grad(ones({1})); }},
  };
}

TEST(Undefined, IsNamedByEveryFunction) {
  int number = 0;
  for (const Asked& one : everything()) {
    const std::string error = error_of([&] { one.call({}); });
    EXPECT_THAT(error,
                testing::AllOf(testing::StartsWith(one.start),
                               testing::EndsWith("must be defined, got an undefined tensor")))
        << "call " << number;
    ++number;
  }
}

}  // namespace
}  // namespace aorta
