#include "args.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace reelmend::native {
namespace {

constexpr double kMaxSafeInteger = 9007199254740991.0;

/// A short text of a value for messages; long strings are cut so that a message stays one line.
std::string Describe(Napi::Value value) {
  constexpr std::size_t kLongest = 40;
  if (value.IsString()) {
    std::string text = value.As<Napi::String>();
    if (text.size() > kLongest) {
      std::size_t end = kLongest;
      while ((text[end] & 0xC0) == 0x80) --end;  // not within a character of UTF-8
      text = text.substr(0, end) + "…";
    }
    return "'" + text + "'";
  }
  if (value.IsFunction()) return "a function";
  if (value.IsArray()) return "an array";
  if (value.IsObject()) return "an object";
  if (value.IsSymbol()) return "a symbol";
  return value.ToString();
}

std::string NumberText(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Range(const char* what, double min, double max) {
  if (max >= kMaxSafeInteger) return std::string(what) + " of at least " + NumberText(min);
  return std::string(what) + " in " + NumberText(min) + "…" + NumberText(max);
}

bool IsPlainText(Napi::Value value) {
  if (!value.IsString()) return false;
  const std::string text = value.As<Napi::String>();
  return !text.empty() && text.find('\0') == std::string::npos;
}

void ReadLimits(const Options& options, SourceLimits& limits) {
  const auto object = options.Nested("limits");
  if (!object) return;
  const auto max_safe = static_cast<std::int64_t>(kMaxSafeInteger);
  limits.max_pixels = object->Integer("maxPixels", 1, max_safe).value_or(limits.max_pixels);
  limits.max_streams =
      static_cast<int>(object->Integer("maxStreams", 1, 100'000).value_or(limits.max_streams));
  limits.max_duration_s = object->Number("maxDurationS", 0, kMaxSafeInteger).value_or(limits.max_duration_s);
  limits.max_frame_rate =
      static_cast<int>(object->Integer("maxFrameRate", 0, 100'000).value_or(limits.max_frame_rate));
}

Strength ReadStrength(const Options& options, const char* name) {
  const Napi::Value value = options.Member(name);
  Strength strength;
  if (value.IsUndefined()) return strength;
  if (value.IsString()) {
    const std::string text = value.As<Napi::String>();
    if (text == "auto") return strength;
    strength.mode = Strength::Mode::kOff;
    if (text == "off") return strength;
  }
  if (value.IsNumber()) {
    const double number = value.As<Napi::Number>();
    strength.mode = Strength::Mode::kFixed;
    strength.value = static_cast<float>(number);
    if (number >= 0 && number <= 1) return strength;
  }
  throw WrongArgument("'auto', 'off' or a number in 0…1", options.Path(name), value);
}

Target ReadTarget(const Options& options) {
  const Napi::Value value = options.Member("target");
  if (value.IsString()) {
    const std::string text = value.As<Napi::String>();
    if (text == "1080p") return Target::k1080p;
    if (text == "4k") return Target::k4k;
    if (text == "source") return Target::kSource;
  }
  throw WrongArgument("'1080p', '4k' or 'source'", options.Path("target"), value);
}

constexpr double kSlowest_ms = 1e9;  ///< upper bound of a measured time

std::vector<ModelFile> ReadModels(const Options& options) {
  const Napi::Value value = options.Member("models");
  if (value.IsUndefined()) return {};
  if (!value.IsArray()) throw WrongArgument("an array", options.Path("models"), value);
  const auto array = value.As<Napi::Array>();
  std::vector<ModelFile> models;
  for (std::uint32_t i = 0; i < array.Length(); ++i) {
    models.push_back(ToModelFile(Options(array.Get(i), options.Path("models") + "[" + std::to_string(i) + "]")));
  }
  return models;
}

/// Reads a member that is one of two words; true for the second.
bool IsSecond(const Options& options, const char* name, const char* first, const char* second) {
  const Napi::Value value = options.Member(name);
  if (value.IsString()) {
    const std::string text = value.As<Napi::String>();
    if (text == first) return false;
    if (text == second) return true;
  }
  throw WrongArgument(std::string("'") + first + "' or '" + second + "'", options.Path(name), value);
}

ModelFile::Layout ReadLayout(const Options& options) {
  const Napi::Value value = options.Member("layout");
  if (value.IsString()) {
    const std::string text = value.As<Napi::String>();
    if (text == "luma+strength") return ModelFile::Layout::kLumaStrength;
    if (text == "ycbcr+strength") return ModelFile::Layout::kYcbcrStrength;
    if (text == "rgb") return ModelFile::Layout::kRgb;
    if (text == "face") return ModelFile::Layout::kFace;
  }
  throw WrongArgument("'luma+strength', 'ycbcr+strength', 'rgb' or 'face'", options.Path("layout"), value);
}

std::optional<Segment> ReadSegment(const Options& options) {
  const auto object = options.Nested("segment");
  if (!object) return std::nullopt;
  const auto start_s = object->Number("startS", 0, kMaxSafeInteger);
  if (!start_s) throw WrongArgument("a number of at least 0", object->Path("startS"), object->Member("startS"));
  const auto end_s = object->Number("endS", 0, kMaxSafeInteger);
  if (!end_s || *end_s <= *start_s) {
    throw WrongArgument("a number above segment.startS", object->Path("endS"), object->Member("endS"));
  }
  Segment segment;
  segment.start_s = *start_s;
  segment.end_s = *end_s;
  segment.warm_up_frames =
      static_cast<int>(object->Integer("warmUpFrames", 0, 10'000).value_or(segment.warm_up_frames));
  return segment;
}

}  // namespace

Napi::TypeError WrongArgument(const std::string& expected, const std::string& name, Napi::Value received) {
  return Napi::TypeError::New(received.Env(),
                              "Expected " + expected + " for " + name + " but received " + Describe(received));
}

Options::Options(Napi::Value value, const std::string& path) : env_(value.Env()), path_(path) {
  if (value.IsUndefined()) return;
  if (!value.IsObject() || value.IsArray() || value.IsFunction()) {
    throw WrongArgument("an object", path_, value);
  }
  object_ = value.As<Napi::Object>();
}

std::string Options::Path(const char* name) const { return path_ == "options" ? name : path_ + "." + name; }

Napi::Value Options::Member(const char* name) const {
  return object_ ? object_->Get(name) : env_.Undefined();
}

std::optional<Napi::Value> Options::Present(const char* name) const {
  const Napi::Value value = Member(name);
  if (value.IsUndefined()) return std::nullopt;
  return value;
}

std::optional<double> Options::Number(const char* name, double min, double max) const {
  const auto value = Present(name);
  if (!value) return std::nullopt;
  const double number = value->IsNumber() ? value->As<Napi::Number>().DoubleValue()
                                          : std::numeric_limits<double>::quiet_NaN();
  // NaN fails both comparisons.
  if (!(number >= min && number <= max)) {
    throw WrongArgument(Range("a number", min, max), Path(name), *value);
  }
  return number;
}

std::optional<std::int64_t> Options::Integer(const char* name, std::int64_t min, std::int64_t max) const {
  const auto value = Present(name);
  if (!value) return std::nullopt;
  const auto low = static_cast<double>(min);
  const auto high = static_cast<double>(max);
  const double number = value->IsNumber() ? value->As<Napi::Number>().DoubleValue()
                                          : std::numeric_limits<double>::quiet_NaN();
  if (!(number >= low && number <= high) || number != std::floor(number)) {
    throw WrongArgument(Range("a whole number", low, high), Path(name), *value);
  }
  return static_cast<std::int64_t>(number);
}

std::optional<bool> Options::Boolean(const char* name) const {
  const auto value = Present(name);
  if (!value) return std::nullopt;
  if (!value->IsBoolean()) throw WrongArgument("true or false", Path(name), *value);
  return value->As<Napi::Boolean>().Value();
}

std::optional<std::string> Options::Text(const char* name) const {
  const auto value = Present(name);
  if (!value) return std::nullopt;
  if (!IsPlainText(*value)) throw WrongArgument("a text that is not empty", Path(name), *value);
  return value->As<Napi::String>().Utf8Value();
}

std::optional<Napi::Function> Options::Function(const char* name) const {
  const auto value = Present(name);
  if (!value) return std::nullopt;
  if (!value->IsFunction()) throw WrongArgument("a function", Path(name), *value);
  return value->As<Napi::Function>();
}

std::optional<Options> Options::Nested(const char* name) const {
  const auto value = Present(name);
  if (!value) return std::nullopt;
  return Options(*value, Path(name));
}

std::string PathArgument(Napi::Value value, const char* name) {
  if (!IsPlainText(value)) throw WrongArgument("a path", name, value);
  return value.As<Napi::String>();
}

std::vector<std::string> PathArguments(Napi::Value value, const char* name) {
  if (!value.IsArray()) throw WrongArgument("an array", name, value);
  const auto array = value.As<Napi::Array>();
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < array.Length(); ++i) {
    const std::string path = std::string(name) + "[" + std::to_string(i) + "]";
    paths.push_back(PathArgument(array.Get(i), path.c_str()));
  }
  return paths;
}

SegmentLengths ToSegmentLengths(const Options& options) {
  constexpr double kDay_s = 86'400;
  SegmentLengths lengths;
  const auto object = options.Nested("lengths");
  if (!object) return lengths;
  lengths.shortest_s = object->Number("shortestS", 0.1, kDay_s).value_or(lengths.shortest_s);
  lengths.wanted_s = object->Number("wantedS", 0.1, kDay_s).value_or(lengths.wanted_s);
  lengths.longest_s = object->Number("longestS", 0.1, kDay_s).value_or(lengths.longest_s);
  return lengths;
}

ProbeOptions ToProbeOptions(const Options& options) {
  ProbeOptions result;
  ReadLimits(options, result.limits);
  result.walk_packets = options.Boolean("walkPackets").value_or(result.walk_packets);
  result.decoding_threads = static_cast<int>(options.Integer("decodingThreads", 0, 1024).value_or(result.decoding_threads));
  return result;
}

EnhanceOptions ToEnhanceOptions(const Options& options) {
  EnhanceOptions result;
  result.target = ReadTarget(options);
  result.denoise = ReadStrength(options, "denoise");
  result.sharpen = ReadStrength(options, "sharpen");
  result.adaptive_contrast = ReadStrength(options, "adaptiveContrast");
  result.face_restoration = ReadStrength(options, "faceRestoration");
  result.model = options.Text("model").value_or(result.model);
  result.models = ReadModels(options);
  result.device = options.Text("device").value_or(result.device);
  result.engine_folder = options.Text("engineFolder").value_or("");
  result.may_write_engines = options.Boolean("mayWriteEngines").value_or(result.may_write_engines);
  result.threads = static_cast<int>(options.Integer("threads", 0, 1024).value_or(result.threads));
  if (const auto machine = options.Nested("machine")) {
    result.machine.other_ms_per_megapixel = machine->Number("otherMsPerMegapixel", 0, kSlowest_ms).value_or(0);
    result.machine.min_frames_per_second = machine->Number("minFramesPerSecond", 0, 1e6).value_or(0);
    result.machine.min_times_length = machine->Number("minTimesLength", 0, 1e6).value_or(0);
  }
  if (const auto encoder = options.Nested("encoder")) {
    result.encoder.preset = encoder->Text("preset").value_or(result.encoder.preset);
    result.encoder.crf = static_cast<float>(encoder->Number("crf", 1, 51).value_or(result.encoder.crf));
    result.encoder.max_bitrate = encoder->Integer("maxBitrate", 0, 1'000'000'000).value_or(result.encoder.max_bitrate);
  }
  ReadLimits(options, result.limits);
  result.segment = ReadSegment(options);
  if (const auto piece = options.Nested("piece")) {
    const auto plan = piece->Text("plan");
    if (!plan) throw WrongArgument("a text", piece->Path("plan"), piece->Member("plan"));
    result.segment_plan = *plan;
    result.segment_index = static_cast<int>(piece->Integer("index", 0, 1'000'000).value_or(0));
  }
  return result;
}

PicturesOptions ToPicturesOptions(const Options& options) {
  PicturesOptions result;
  result.poster = options.Boolean("poster").value_or(result.poster);
  result.thumbnails = static_cast<int>(options.Integer("thumbnails", 0, 50).value_or(result.thumbnails));
  ReadLimits(options, result.limits);
  return result;
}

ModelFile ToModelFile(const Options& options) {
  ModelFile file;
  for (const auto& [name, text] : {std::pair{"name", &file.name}, {"path", &file.path}}) {
    const auto value = options.Text(name);
    if (!value) throw WrongArgument("a text", options.Path(name), options.Member(name));
    *text = *value;
  }
  file.layout = ReadLayout(options);
  file.precision = IsSecond(options, "precision", "fp32", "int8") ? ModelFile::Precision::kInt8
                                                                  : ModelFile::Precision::kFp32;
  file.scale = static_cast<int>(options.Integer("scale", 1, 8).value_or(file.scale));
  file.multiple = static_cast<int>(options.Integer("multiple", 1, 64).value_or(file.multiple));
  file.halo = static_cast<int>(options.Integer("halo", 0, 1024).value_or(file.halo));
  file.input = options.Text("input").value_or("");
  file.output = options.Text("output").value_or("");
  file.sha256 = options.Text("sha256").value_or("");
  file.loss_db = options.Number("lossDb", -100, 100).value_or(0);
  file.max_strength = static_cast<float>(options.Number("maxStrength", 0, 1).value_or(file.max_strength));
  file.is_blind = options.Boolean("blind").value_or(false);
  file.strength_gain = static_cast<float>(options.Number("strengthGain", 0.1, 10).value_or(file.strength_gain));
  file.max_change = static_cast<float>(options.Number("maxChange", 0, 255).value_or(file.max_change));
  file.allow_bf16 = options.Boolean("allowBf16").value_or(false);
  file.ms_per_megapixel = options.Number("msPerMegapixel", 0, kSlowest_ms).value_or(0);
  return file;
}

CompileRequest ToCompileRequest(const Options& options) {
  CompileRequest request;
  const auto folder = options.Text("folder");
  if (!folder) throw WrongArgument("a text", options.Path("folder"), options.Member("folder"));
  request.folder = *folder;
  request.width = static_cast<int>(options.Integer("width", 16, 16384).value_or(request.width));
  request.height = static_cast<int>(options.Integer("height", 16, 16384).value_or(request.height));
  return request;
}

Expectation ToExpectation(const Options& options) {
  Expectation expectation;
  expectation.picture.width = static_cast<int>(options.Integer("width", 0, 32768).value_or(0));
  expectation.picture.height = static_cast<int>(options.Integer("height", 0, 32768).value_or(0));
  expectation.output.width = static_cast<int>(options.Integer("outputWidth", 0, 32768).value_or(0));
  expectation.output.height = static_cast<int>(options.Integer("outputHeight", 0, 32768).value_or(0));
  expectation.model = options.Text("model").value_or(expectation.model);
  expectation.restores_faces = options.Boolean("restoresFaces").value_or(false);
  return expectation;
}

ModelTrial ToModelTrial(const Options& options) {
  ModelTrial trial;
  trial.width = static_cast<int>(options.Integer("width", 1, 16384).value_or(trial.width));
  trial.height = static_cast<int>(options.Integer("height", 1, 16384).value_or(trial.height));
  trial.frames = static_cast<int>(options.Integer("frames", 1, 10'000).value_or(trial.frames));
  trial.rounds = static_cast<int>(options.Integer("rounds", 1, 100).value_or(trial.rounds));
  trial.threads = static_cast<int>(options.Integer("threads", 0, 1024).value_or(trial.threads));
  return trial;
}

}  // namespace reelmend::native
