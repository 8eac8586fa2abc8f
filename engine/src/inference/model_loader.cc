#include "inference/model_loader.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "reelmend/error.h"
#include "inference/sha256.h"

namespace reelmend {

void CheckModelDescription(const ModelFile& model) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "The model “" + model.name + "” " + what);
  };
  if (!(model.max_change >= 0 && model.max_change <= 255)) refuse("must have a greatest change from 0 to 255 8-bit levels.");
  if (model.layout == ModelFile::Layout::kFace && model.scale != 1) refuse("is for faces, so its scale must be 1.");
  if (model.scale < 1 || model.scale > 8) refuse("must have a scale from 1 to 8.");
  if (model.multiple < 1 || model.multiple > 64) refuse("must have a multiple from 1 to 64.");
  if (model.halo < 0 || model.halo > 1024) refuse("must have a halo from 0 to 1024 pixels.");
}

}  // namespace reelmend

namespace reelmend::inference {
namespace {

constexpr std::int64_t kLargestFile = 1LL << 30;

[[noreturn]] void Refuse(const ModelFile& file, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, "Model “" + file.name + "”: " + sentence);
}

}  // namespace

std::string ReadModelFile(const ModelFile& file) {
  CheckModelDescription(file);
  std::ifstream stream(file.path, std::ios::binary | std::ios::ate);
  const std::int64_t size = stream ? static_cast<std::int64_t>(stream.tellg()) : -1;
  if (size < 0 || size > kLargestFile) Refuse(file, "The file cannot be read.");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  stream.seekg(0);
  if (!stream.read(bytes.data(), size)) Refuse(file, "The file cannot be read.");
  if (!file.sha256.empty() && Sha256(bytes) != file.sha256) {
    Refuse(file, "The file does not have the SHA-256 checksum that its manifest states.");
  }
  return bytes;
}

int InputPlanes(ModelFile::Layout layout) {
  switch (layout) {
    case ModelFile::Layout::kLumaStrength: return 2;
    case ModelFile::Layout::kYcbcrStrength: return 4;
    case ModelFile::Layout::kRgb:
    case ModelFile::Layout::kFace: return 3;
  }
  return 0;
}

int OutputPlanes(ModelFile::Layout layout) { return MakesChroma(layout) ? 3 : 1; }

bool MakesChroma(ModelFile::Layout layout) { return layout != ModelFile::Layout::kLumaStrength; }

bool TakesStrength(ModelFile::Layout layout) {
  return layout == ModelFile::Layout::kLumaStrength || layout == ModelFile::Layout::kYcbcrStrength;
}

std::unique_ptr<Model> LoadModel(Backend& backend, const ModelFile& file) {
  const std::string bytes = ReadModelFile(file);
  try {
    std::unique_ptr<Model> model = backend.Load(bytes, file.input, file.output);
    // Neither square nor small against the network's reach, so that swapped sides are noticed.
    const int height = (64 + file.multiple - 1) / file.multiple * file.multiple;
    const int width = height + file.multiple * 2;
    const Shape out = model->OutputShape({InputPlanes(file.layout), height, width});
    if (out.channels != OutputPlanes(file.layout)) {
      Refuse(file, "It gives " + std::to_string(out.channels) + " planes, but its layout has " +
                       std::to_string(OutputPlanes(file.layout)) + ".");
    }
    if (out.height != height * file.scale || out.width != width * file.scale) {
      Refuse(file, "It makes " + std::to_string(out.width) + "×" + std::to_string(out.height) + " of " +
                       std::to_string(width) + "×" + std::to_string(height) + ", which is not a scale of " +
                       std::to_string(file.scale) + ".");
    }
    return model;
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.rfind("Model “", 0) == 0) throw;
    throw Error(error.code(), "Model “" + file.name + "”: " + text);
  }
}

}  // namespace reelmend::inference
