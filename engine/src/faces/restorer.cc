#include "faces/restorer.h"

#include <algorithm>

namespace reelmend::faces {

FaceRestorer::FaceRestorer(inference::Backend& backend, const ModelFile& file, int threads)
    : network_(backend, file, threads),
      max_change_(file.max_change),
      input_(network_.side(), network_.side()),
      crop_(network_.side(), network_.side()),
      change_(network_.side(), network_.side()) {}

void FaceRestorer::Infer(const pixel::Image& image, const pixel::Image& source, const Similarity& to_picture) {
  SampleScaled(source, {image.width(), image.height()}, to_picture, input_);
  Sample(image, to_picture, false, crop_);
  const std::size_t count = crop_.planes[0].size();
  float* in = network_.input();
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < count; ++i) in[p * count + i] = input_.planes[p][i] / 127.5F - 1;
  }
  network_.Run();
  const float* out = network_.output();
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < count; ++i) {
      change_.planes[p][i] = LimitedChange((out[p * count + i] + 1) * 127.5F, crop_.planes[p][i], max_change_);
    }
  }
}

void Blend(pixel::Image& image, const FaceChange& change, pixel::ThreadPool& pool) {
  const Area whole = AreaOf(change.to_crop.Inverse(), change.side, image.width(), image.height());
  for (int p = 0; p < 3; ++p) {
    const pixel::Plane target = image.plane(p);
    const int step_x = p == 0 ? 1 : 1 << image.subsampling().log2_x;
    const int step_y = p == 0 ? 1 : 1 << image.subsampling().log2_y;
    const Area area = OfPlane(whole, step_x, step_y, target.width, target.height);
    pool.ParallelRows(std::max(0, area.bottom - area.top), 8, [&](int begin, int end) {
      for (int y = area.top + begin; y < area.top + end; ++y) {
        for (int x = area.left; x < area.right; ++x) {
          float c[3];
          const Point at = PlaceOf(x, y, step_x, step_y);
          if (change.At(at.x, at.y, static_cast<float>(step_x), c)) target.Row(y)[x] = Added(target.Row(y)[x], c[p]);
        }
      }
    });
  }
}

void FaceRestorer::Run(pixel::Image& image, const pixel::Image& source, const Landmarks& points, float strength, pixel::ThreadPool& pool) {
  if (strength <= 0) return;
  const auto to_crop = ToCrop(points, side());
  if (!to_crop) return;
  Infer(image, source, to_crop->Inverse());
  FaceChange change;
  for (int p = 0; p < 3; ++p) change.planes[p] = change_.planes[p].data();
  change.side = side();
  change.to_crop = *to_crop;
  change.samples = SamplesPerSide(to_crop->scale());
  change.strength = strength;
  change.conversion = RgbConversion(image.color());
  Blend(image, change, pool);
}

}  // namespace reelmend::faces
