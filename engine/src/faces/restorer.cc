#include "faces/restorer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "reelmend/error.h"
#include "inference/model_loader.h"

namespace reelmend::faces {
namespace {

constexpr int kUsualSide = 512;
constexpr int kLargestSide = 2048;
constexpr float kUsualWeight = 0.5F;  ///< for networks with this input: midway between fidelity and invention
constexpr float kFull = 0.72F;
constexpr float kGone = 0.97F;

[[noreturn]] void Refuse(const ModelFile& file, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, "Model “" + file.name + "”: " + sentence);
}

/// Bilinear, 0 outside.
float ValueAt(const std::vector<float>& plane, int side, float x, float y) {
  const int left = static_cast<int>(std::floor(x));
  const int top = static_cast<int>(std::floor(y));
  if (left < 0 || top < 0 || left + 1 >= side || top + 1 >= side) return 0;
  const float dx = x - static_cast<float>(left);
  const float dy = y - static_cast<float>(top);
  const float* upper = &plane[static_cast<std::size_t>(top) * side + left];
  const float* lower = upper + side;
  return (upper[0] * (1 - dx) + upper[1] * dx) * (1 - dy) + (lower[0] * (1 - dx) + lower[1] * dx) * dy;
}

std::uint16_t Added(std::uint16_t sample, float change) {
  return static_cast<std::uint16_t>(std::clamp(static_cast<float>(sample) + std::round(change), 0.0F, 65535.0F));
}

struct Area {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
};

/// Bounds of the crop in a picture of that size.
Area AreaOf(const Similarity& to_picture, int side, int width, int height) {
  const auto s = static_cast<float>(side);
  float left = 1e9F;
  float top = 1e9F;
  float right = -1e9F;
  float bottom = -1e9F;
  for (const Point corner : {Point{0, 0}, Point{s, 0}, Point{0, s}, Point{s, s}}) {
    const Point p = to_picture(corner);
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  const auto inside = [](float value, int size) { return static_cast<int>(std::clamp(value, 0.0F, static_cast<float>(size))); };
  // An even number of rows, so that each chroma sample belongs to one task.
  return {inside(std::floor(left), width) & ~1, inside(std::floor(top), height) & ~1,
          inside(std::ceil(right) + 1, width), inside(std::ceil(bottom) + 1, height)};
}

}  // namespace

float MaskAt(float x, float y) {
  const float distance = std::hypot(2 * x - 1, 2 * y - 1);
  const float t = std::clamp((kGone - distance) / (kGone - kFull), 0.0F, 1.0F);
  return t * t * (3 - 2 * t);
}

FaceRestorer::FaceRestorer(inference::Backend& backend, const ModelFile& file, int threads) : max_change_(file.max_change) {
  const auto model = backend.LoadTensors(inference::ReadModelFile(file));
  const auto& inputs = model->inputs();
  const int weight = inference::FindEnd(inputs, "weight");
  if (inputs.size() != (weight >= 0 ? 2U : 1U)) Refuse(file, "It has other inputs than a face and a weight.");
  picture_end_ = weight == 0 ? 1 : 0;
  const auto& dims = inputs[picture_end_].dims;
  if (dims.size() != 4 || (dims[0] != 1 && dims[0] != -1) || (dims[1] != 3 && dims[1] != -1) || dims[2] != dims[3]) {
    Refuse(file, "Its input is not one square picture of three planes.");
  }
  side_ = dims[2] > 0 ? static_cast<int>(std::min<std::int64_t>(dims[2], kLargestSide + 1)) : kUsualSide;
  if (side_ > kLargestSide || side_ < 16) Refuse(file, "The side of its input is not from 16 to 2048.");
  std::vector<std::vector<std::int64_t>> shapes(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes[i] = i == picture_end_ ? std::vector<std::int64_t>{1, 3, side_, side_}
                                  : std::vector<std::int64_t>(inputs[i].dims.size(), 1);
  }
  try {
    network_ = model->Compile(shapes, threads);
  } catch (const Error& error) {
    Refuse(file, error.what());
  }
  if (network_->outputs().empty() || network_->outputs()[0].dims != shapes[picture_end_]) {
    Refuse(file, "Its output does not have the size of its input.");
  }
  if (weight >= 0) *network_->Input(static_cast<std::size_t>(weight)) = kUsualWeight;
  crop_ = RgbPicture(side_, side_);
  change_ = RgbPicture(side_, side_);
}

void FaceRestorer::Infer(const pixel::Image& image, const Similarity& to_picture) {
  Sample(image, to_picture, false, crop_);
  const std::size_t count = crop_.planes[0].size();
  float* in = network_->Input(picture_end_);
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < count; ++i) in[p * count + i] = crop_.planes[p][i] / 127.5F - 1;
  }
  network_->Run();
  const float* out = network_->Output(0);
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < count; ++i) {
      const float made = std::clamp((out[p * count + i] + 1) * 127.5F, 0.0F, 255.0F);
      const float change = std::clamp(made - crop_.planes[p][i], -max_change_, max_change_);
      change_.planes[p][i] = std::isfinite(change) ? change : 0;
    }
  }
}

void FaceRestorer::Paste(pixel::Image& image, const Similarity& to_crop, float strength, pixel::ThreadPool& pool) const {
  const RgbConversion conversion(image.color());
  const Area area = AreaOf(to_crop.Inverse(), side_, image.width(), image.height());
  const auto side = static_cast<float>(side_);
  // Crop samples per picture pixel: averaged if the face is smaller than the crop.
  const int samples = std::clamp(static_cast<int>(std::ceil(to_crop.scale() - 0.01F)), 1, 8);
  const auto change_at = [&](float x, float y, float pitch, float (&c)[3]) {
    std::fill_n(c, 3, 0.0F);
    const Point middle = to_crop({x, y});
    const float mask = strength * MaskAt(middle.x / side, middle.y / side);
    if (mask <= 0) return false;
    const float share = mask / static_cast<float>(samples * samples);
    for (int s = 0; s < samples * samples; ++s) {
      const float dx = ((static_cast<float>(s % samples) + 0.5F) / static_cast<float>(samples) - 0.5F) * pitch;
      const float dy = ((static_cast<float>(s / samples) + 0.5F) / static_cast<float>(samples) - 0.5F) * pitch;
      const Point p = to_crop({x + dx, y + dy});
      for (int i = 0; i < 3; ++i) c[i] += share * ValueAt(change_.planes[i], side_, p.x - 0.5F, p.y - 0.5F);
    }
    conversion.DifferenceToYcc(c[0], c[1], c[2]);
    return true;
  };
  const auto add = [&](int plane, int step_x, int step_y) {
    const pixel::Plane target = image.plane(plane);
    const int first = area.top / step_y;
    const int last = std::min(target.height, (area.bottom + step_y - 1) / step_y);
    pool.ParallelRows(std::max(0, last - first), 8, [&](int begin, int end) {
      for (int row = first + begin; row < first + end; ++row) {
        for (int x = area.left / step_x; x < std::min(target.width, (area.right + step_x - 1) / step_x); ++x) {
          float c[3];
          const float at_x = static_cast<float>(x * step_x) + 0.5F;  // left-sited
          const float at_y = (static_cast<float>(row) + 0.5F) * static_cast<float>(step_y);
          if (change_at(at_x, at_y, static_cast<float>(step_x), c)) target.Row(row)[x] = Added(target.Row(row)[x], c[plane]);
        }
      }
    });
  };
  add(0, 1, 1);
  const int step_x = 1 << image.subsampling().log2_x;
  const int step_y = 1 << image.subsampling().log2_y;
  add(1, step_x, step_y);
  add(2, step_x, step_y);
}

void FaceRestorer::Run(pixel::Image& image, const Landmarks& points, float strength, pixel::ThreadPool& pool) {
  if (strength <= 0) return;
  const Similarity to_crop = FitSimilarity(points, AlignedPoints(side_));
  if (!(to_crop.scale() > 1e-3F && to_crop.scale() < 1e3F)) return;  // all points coincide
  Infer(image, to_crop.Inverse());
  Paste(image, to_crop, strength, pool);
}

}  // namespace reelmend::faces
