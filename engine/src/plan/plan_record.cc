#include "plan/plan_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "inference/backend.h"
#include "reelmend/device.h"
#include "reelmend/error.h"

namespace reelmend::plan {
namespace {

/// Raise it when this text changes. Other changes of the engine change EngineVersion(): pieces of two engines are never joined.
constexpr int kFormat = 5;

/// Bits of a number survive: hexadecimal for fractions.
template <typename Number>
std::string Text(Number value) {
  std::array<char, 64> text = {};
  std::to_chars_result result = {};
  if constexpr (std::floating_point<Number>) {
    result = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
  } else {
    result = std::to_chars(text.data(), text.data() + text.size(), value);
  }
  return {text.data(), result.ptr};
}

template <typename Number>
bool Parse(std::string_view text, Number& value) {
  std::from_chars_result result = {};
  if constexpr (std::floating_point<Number>) {
    result = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

[[noreturn]] void ThrowNoPlan() { throw Error(ErrorCode::kInvalidArgument, "The segment plan is not one that this engine wrote."); }

/// The words of a line.
class Words {
 public:
  explicit Words(const std::string& line) : stream_(line) {}

  std::string Word() {
    std::string word;
    if (!(stream_ >> word)) ThrowNoPlan();
    return word;
  }
  template <typename Number>
  Number Next() {
    Number value = {};
    if (!Parse(Word(), value)) ThrowNoPlan();
    return value;
  }
  template <typename Number>
  void Read(Number& value) {
    value = Next<Number>();
  }
  void Read(bool& value) { value = Next<int>() != 0; }
  /// "-" stands for nothing.
  void Read(std::optional<std::int64_t>& value) {
    const std::string word = Word();
    std::int64_t number = 0;
    if (word != "-" && !Parse(word, number)) ThrowNoPlan();
    value = word == "-" ? std::nullopt : std::optional(number);
  }
  void Read(AVRational& value) { value = {Next<int>(), Next<int>()}; }
  std::string Rest() {
    std::string rest;
    std::getline(stream_ >> std::ws, rest);
    return rest;
  }

 private:
  std::istringstream stream_;
};

std::string Text(bool value) { return value ? "1" : "0"; }
std::string Text(const std::optional<std::int64_t>& value) { return value ? Text(*value) : "-"; }
std::string Text(AVRational value) { return Text(value.num).append(" ").append(Text(value.den)); }

/// Whether this machine runs the file in bfloat16. Its result differs from that in float, so all segments must agree.
bool RunsInBf16(const ModelFile& file, NetworkDevice device) {
  return device == NetworkDevice::kCpu && file.precision == ModelFile::Precision::kFp32 && file.allow_bf16 && inference::HasFastBf16();
}

/// Scale, precision of the inference and checksum, such as 2/int8/84ec…: what is installed elsewhere may be another version.
/// In a record, `allow_bf16` says that the file runs in bfloat16.
std::string IdentityOf(const ModelFile& file) {
  const char* precision = file.precision == ModelFile::Precision::kInt8 ? "/int8/" : file.allow_bf16 ? "/bf16/" : "/fp32/";
  return Text(file.scale).append(precision).append(file.sha256.empty() ? "-" : file.sha256);
}

/// The files as a record has them.
std::vector<ModelFile> AsRun(std::vector<ModelFile> files, NetworkDevice device) {
  for (ModelFile& file : files) file.allow_bf16 = RunsInBf16(file, device);
  return files;
}

/// Name and files of the network.
std::string Identity(const std::vector<ModelFile>& models, const std::string& name) {
  std::string identity = name;
  for (const ModelFile& model : models) {
    if (model.name == name) identity.append(" ").append(IdentityOf(model));
  }
  return identity;
}

/// The installed files that were planned with, in the planned precision: this machine might have preferred another. A file that
/// was planned in bfloat16 is missing where this machine would not run it so.
std::vector<ModelFile> Planned(const std::vector<ModelFile>& installed, const Plan& decided, NetworkDevice device) {
  std::vector<ModelFile> files;
  for (const ModelFile& wanted : decided.models) {
    for (ModelFile file : installed) {
      file.allow_bf16 = wanted.allow_bf16 && RunsInBf16(file, device);
      if (file.name != decided.model || IdentityOf(file) != IdentityOf(wanted)) continue;
      files.push_back(std::move(file));
      break;
    }
  }
  return files;
}

std::string FaceIdentity(const Plan& plan) {
  if (!plan.face_model) return "none";
  ModelFile file = *plan.face_model;
  file.allow_bf16 = false;  // faces always run in the precision of the file
  return Identity({file}, file.name);
}

/// One line for each of the numbers that Write and Read have in common.
template <typename PlanType, typename Visit>
void VisitNumbers(PlanType& plan, Visit visit) {
  visit("output", plan.output.width, plan.output.height);
  visit("duration", plan.source.duration_s);
  visit("times", plan.time_base, plan.frame_rate, plan.first_timestamp);
  visit("noise", plan.traits.noise_sigma);
  visit("working_share", plan.working_share);
  visit("strengths", plan.strengths.denoise, plan.strengths.sharpen, plan.strengths.adaptive_contrast, plan.strengths.face_restoration);
  visit("temporal", plan.temporal.strength, plan.temporal.noise_sigma);
  visit("deband", plan.deband_threshold);
  visit("edges", plan.edges.strength, plan.edges.enlargement);
  visit("lift", plan.level_lift.amount, plan.level_lift.video.black, plan.level_lift.video.white, plan.level_lift.bars,
        plan.level_lift.leads_local);
  visit("peak", plan.peak_nits);
  visit("network", plan.network_strength, plan.is_blind, plan.restores_luma);
}

/// The numbers of a segment's line, likewise.
template <typename CutType, typename Visit>
void VisitNumbersOfCut(CutType& cut, Visit visit) {
  visit(cut.seek, cut.warm_up, cut.start, cut.end, cut.warm_up_frames, cut.frames);
}

/// A line of a name and its values.
template <typename... Values>
void AddLine(std::string& text, const char* name, const Values&... values) {
  text.append(name);
  (text.append(" ").append(values), ...);
  text.append("\n");
}

using Lines = std::multimap<std::string, std::string>;

Words LineOf(const Lines& lines, const std::string& name) {
  const auto found = lines.find(name);
  if (found == lines.end()) ThrowNoPlan();
  return Words(found->second);
}

Lines Split(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) ThrowNoPlan();
    lines.emplace(line.substr(0, space), line.substr(space + 1));
  }
  return lines;
}

/// `models` and `face_model` of a record hold what their lines tell, to be compared.
void ReadNetwork(Words words, std::string& name, std::vector<ModelFile>& files) {
  name = words.Word();
  std::istringstream rest(words.Rest());
  for (std::string identity; rest >> identity;) {
    const std::size_t first = identity.find('/');
    const std::size_t second = identity.find('/', first + 1);
    ModelFile file;
    if (second == std::string::npos || !Parse(std::string_view(identity).substr(0, first), file.scale)) ThrowNoPlan();
    const std::string sha256 = identity.substr(second + 1);
    file.name = name;
    const std::string precision = identity.substr(first, second - first);
    file.precision = precision == "/int8" ? ModelFile::Precision::kInt8 : ModelFile::Precision::kFp32;
    file.allow_bf16 = precision == "/bf16";
    file.sha256 = sha256 == "-" ? "" : sha256;
    files.push_back(file);
  }
}

}  // namespace

std::string WriteRecord(const PlanRecord& record) {
  const Plan& plan = record.plan;
  std::string text;
  AddLine(text, "format", Text(kFormat));
  AddLine(text, "engine", EngineVersion());
  AddLine(text, "device", record.device == NetworkDevice::kGpu ? "gpu" : "cpu");
  AddLine(text, "encoder", record.encoder.preset, Text(record.encoder.crf), Text(record.encoder.max_bitrate));
  VisitNumbers(plan, [&](const char* name, const auto&... values) { AddLine(text, name, Text(values)...); });
  AddLine(text, "model", Identity(AsRun(plan.models, record.device), plan.model));
  AddLine(text, "faces", FaceIdentity(plan));
  AddLine(text, "condition", plan.condition);
  for (const PlannedStage& s : plan.stages) AddLine(text, "stage", s.name, Text(s.strength), s.why);
  for (const SegmentCut& c : record.cuts) {
    VisitNumbersOfCut(c, [&](const auto&... values) { AddLine(text, "segment", Text(values)...); });
  }
  return text;
}

PlanRecord ReadRecord(const std::string& text) {
  const Lines lines = Split(text);
  if (LineOf(lines, "format").Next<int>() != kFormat || LineOf(lines, "engine").Rest() != EngineVersion()) {
    throw Error(ErrorCode::kSegmentMismatch, "The segments were planned by another version of the engine.");
  }
  PlanRecord record;
  record.device = LineOf(lines, "device").Word() == "gpu" ? NetworkDevice::kGpu : NetworkDevice::kCpu;
  Words encoder = LineOf(lines, "encoder");
  record.encoder.preset = encoder.Word();
  encoder.Read(record.encoder.crf);
  encoder.Read(record.encoder.max_bitrate);
  VisitNumbers(record.plan, [&](const char* name, auto&... values) {
    Words words = LineOf(lines, name);
    (words.Read(values), ...);
  });
  ReadNetwork(LineOf(lines, "model"), record.plan.model, record.plan.models);
  std::string face;
  std::vector<ModelFile> faces;
  ReadNetwork(LineOf(lines, "faces"), face, faces);
  if (face != "none") {
    record.plan.face_model = faces.empty() ? ModelFile() : faces.front();
    record.plan.face_model->name = face;
  }
  record.plan.condition = LineOf(lines, "condition").Rest();
  for (auto [line, end] = lines.equal_range("stage"); line != end; ++line) {
    Words words(line->second);
    std::string name = words.Word();
    const auto strength = words.Next<float>();
    record.plan.stages.push_back({std::move(name), strength, words.Rest()});
  }
  for (auto [line, end] = lines.equal_range("segment"); line != end; ++line) {
    Words words(line->second);
    VisitNumbersOfCut(record.cuts.emplace_back(), [&](auto&... values) { (words.Read(values), ...); });
  }
  if (record.cuts.empty()) ThrowNoPlan();
  return record;
}

void Decide(const PlanRecord& record, const EnhanceOptions& options, NetworkDevice device, Plan& plan) {
  const Plan& decided = record.plan;
  if (record.device != device) throw Error(ErrorCode::kSegmentMismatch, "The segments were planned for another device class.");
  const bool is_same = plan.output.width == decided.output.width && plan.output.height == decided.output.height &&
                       plan.first_timestamp == decided.first_timestamp && av_cmp_q(plan.time_base, decided.time_base) == 0 &&
                       av_cmp_q(plan.frame_rate, decided.frame_rate) == 0;
  if (!is_same) throw Error(ErrorCode::kSegmentMismatch, "The segments were planned for another video or target.");
  plan.source.duration_s = decided.source.duration_s;
  plan.traits.noise_sigma = decided.traits.noise_sigma;
  plan.working_share = decided.working_share;
  plan.strengths = decided.strengths;
  plan.temporal = decided.temporal;
  plan.deband_threshold = decided.deband_threshold;
  plan.edges = decided.edges;
  plan.level_lift = decided.level_lift;
  plan.peak_nits = decided.peak_nits;
  plan.network_strength = decided.network_strength;
  plan.is_blind = decided.is_blind;
  plan.restores_luma = decided.restores_luma;
  plan.model = decided.model;
  plan.stages = decided.stages;
  plan.condition = decided.condition;
  if (plan.model != "none") plan.models = Planned(options.models, decided, device);
  if (decided.face_model) plan.face_model = FindFaceModel(options.models);
  if (Identity(plan.models, plan.model) != Identity(decided.models, decided.model) || FaceIdentity(plan) != FaceIdentity(decided)) {
    throw Error(ErrorCode::kSegmentMismatch,
                "Other networks are installed here than where the segments were planned, or they run in another precision.");
  }
}

}  // namespace reelmend::plan
