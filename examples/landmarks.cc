// Images with landmark points from a CSV file: transforms compose, and the points move with them.
// The faces and faces.csv (a file, and x and y of both eyes and the mouth) are drawn here first.
//
//     landmarks [FOLDER = .]      writes landmarks.png: a row an epoch, points as squares
#include <aorta/aorta.h>

#include <filesystem>
#include <fstream>
#include <iostream>

using namespace aorta;
constexpr int64_t kFaces = 6, kPoints = 3, kSide = 96, kRows = 4;

void disc(const Tensor& image, int64_t x, int64_t y, int64_t radius, const int (&colour)[3]) {
  const Tensor to_x = arange(150) - x, to_y = (arange(120) - y).unsqueeze(1);
  const Tensor inside = to_x * to_x + to_y * to_y <= radius * radius;
  for (int c = 0; c < 3; ++c) masked_fill_(image[c], inside, colour[c]);
}

void draw_faces(const std::string& folder) {
  std::ofstream table(folder + "/faces.csv");
  table << "file,left_x,left_y,right_x,right_y,mouth_x,mouth_y\n";
  for (int64_t face = 0; face < kFaces; ++face) {
    const Tensor image = full({3, 120, 150}, 90, {.dtype = u8});
    const int64_t x = 60 + 5 * face, y = 50 + 3 * face;
    disc(image, x, y, 38, {240, 200, 170});
    for (const int64_t eye : {x - 14, x + 14}) disc(image, eye, y - 10, 5, {30, 60, 220});
    disc(image, x, y + 20, 5, {220, 30, 40});
    data::write_png(image, folder + "/" + std::to_string(face) + ".png");
    table << face << ".png";
    for (const int64_t number : {x - 14, y - 10, x + 14, y - 10, x, y + 20}) table << "," << number;
    table << "\n";
  }
}

struct Faces : data::Dataset {
  explicit Faces(const std::string& path) : folder(path) {}
  int64_t size() const override { return table.rows(); }
  std::vector<data::TensorSpec> specs() const override {
    return {{"image", u8, {3, 120, 150}}, {"landmarks", f32, {kPoints, 2}}};
  }
  void read(int64_t index, data::Sample& sample, Generator&) const override {
    sample["image"].copy_(data::read_image(folder + std::string(table.text(index, 0))));
    for (int i = 0; i < 2 * kPoints; ++i)
      sample["landmarks"].data<float>()[i] = static_cast<float>(table.number(index, i + 1));
  }
  std::string folder;
  data::CsvTable table = data::read_csv(folder + "faces.csv");
};

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  std::string folder = std::filesystem::temp_directory_path() / "aorta_faces_XXXXXX";
  if (!mkdtemp(folder.data())) return 1;
  draw_faces(folder);
  const data::Transforms augment{data::RandomAffine{.degrees = {-25, 25}, .scale = {0.8, 1.1}},
                                 data::RandomHorizontalFlip{}, data::Resize{.shorter_edge = 100},
                                 data::RandomCrop{kSide}};
  const auto faces = data::make_dataset<data::TransformedDataset>(
      data::make_dataset<Faces>(folder + "/"), augment, data::Roles{.points = {"landmarks"}});
  data::DataLoader loader(faces, {.batch_size = kFaces, .num_workers = 2});
  const Tensor picture = empty({3, kRows * kSide, kFaces * kSide}, {.dtype = u8});
  for (int64_t row = 0; row < kRows; ++row)
    for (const auto& batch : loader)
      for (int64_t i = 0; i < kFaces; ++i) {
        const Tensor image = picture.narrow(1, row * kSide, kSide).narrow(2, i * kSide, kSide);
        image.copy_(batch["image"][i]);
        for (int64_t p = 0; p < kPoints; ++p) {
          const std::vector<int64_t> at = batch["landmarks"][i][p].to_vector<int64_t>();
          const int64_t x = at[0], y = at[1];
          if (x < 1 || y < 1 || x > kSide - 2 || y > kSide - 2) continue;  // outside
          const bool blue = image.at<uint8_t>({2, y, x}) > image.at<uint8_t>({0, y, x});
          std::cout << (p < 2 ? "eye" : "mouth") << (blue ? " is blue\n" : " is red\n");
          image.narrow(1, y - 1, 3).narrow(2, x - 1, 3)[1].fill_(255);
        }
      }
  data::write_png(picture, std::string(argc > 1 ? argv[1] : ".") + "/landmarks.png");
  std::filesystem::remove_all(folder);
}
