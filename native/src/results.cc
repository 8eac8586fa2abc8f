#include "results.h"

#include <vector>

namespace reelmend::native {
namespace {

// Counts and sizes stay below 2^53, so a double holds them exactly.
double Count(std::int64_t value) { return static_cast<double>(value); }

Napi::Object ToJs(Napi::Env env, const AudioStreamInfo& audio) {
  auto object = Napi::Object::New(env);
  object.Set("codec", audio.codec);
  object.Set("channels", audio.channels);
  object.Set("sampleRateHz", audio.sample_rate_hz);
  object.Set("language", audio.language);
  return object;
}

Napi::Object ToJs(Napi::Env env, const StageTime& stage) {
  auto object = Napi::Object::New(env);
  object.Set("name", stage.name);
  object.Set("cpuSeconds", stage.cpu_seconds);
  return object;
}

Napi::Object ToJs(Napi::Env env, const PlannedStage& stage) {
  auto object = Napi::Object::New(env);
  object.Set("name", stage.name);
  object.Set("strength", stage.strength);
  object.Set("why", stage.why);
  return object;
}

Napi::Object ToJs(Napi::Env env, const PlannedSegment& segment) {
  auto object = Napi::Object::New(env);
  object.Set("startS", segment.start_s);
  object.Set("endS", segment.end_s);
  object.Set("frames", Count(segment.frames));
  return object;
}

Napi::Object ToJs(Napi::Env env, const Picture& picture) {
  auto object = Napi::Object::New(env);
  object.Set("file", picture.file);
  object.Set("isPoster", picture.is_poster);
  object.Set("timeS", picture.time_s);
  object.Set("width", picture.width);
  object.Set("height", picture.height);
  object.Set("sizeBytes", Count(picture.size_bytes));
  return object;
}

Napi::Value ToJs(Napi::Env env, const std::string& text) { return Napi::String::New(env, text); }

template <typename T>
Napi::Array ToJsArray(Napi::Env env, const std::vector<T>& values) {
  auto array = Napi::Array::New(env, values.size());
  for (std::uint32_t i = 0; i < values.size(); ++i) array.Set(i, ToJs(env, values[i]));
  return array;
}

Napi::Object ToJs(Napi::Env env, const AppliedEnhancements& applied) {
  auto object = Napi::Object::New(env);
  object.Set("denoise", applied.denoise);
  object.Set("sharpen", applied.sharpen);
  object.Set("adaptiveContrast", applied.adaptive_contrast);
  object.Set("faceRestoration", applied.face_restoration);
  object.Set("model", applied.model);
  return object;
}

}  // namespace

Napi::Object ToJs(Napi::Env env, const ProbeResult& result) {
  const bool has_rate = result.frame_rate.num > 0 && result.frame_rate.den > 0;
  auto object = Napi::Object::New(env);
  object.Set("container", result.container);
  object.Set("videoCodec", result.video_codec);
  object.Set("pixelFormat", result.pixel_format);
  object.Set("codedWidth", result.coded_width);
  object.Set("codedHeight", result.coded_height);
  object.Set("width", result.width);
  object.Set("height", result.height);
  object.Set("rotationDegrees", result.rotation_degrees);
  object.Set("frameRate", has_rate ? Count(result.frame_rate.num) / Count(result.frame_rate.den) : 0.0);
  object.Set("durationS", result.duration_s);
  object.Set("durationIsExact", result.duration_is_exact);
  object.Set("sizeBytes", Count(result.size_bytes));
  object.Set("audio", ToJsArray(env, result.audio));
  if (result.decoded_frames > 0) object.Set("decodedFrames", Count(result.decoded_frames));
  return object;
}

Napi::Object ToJs(Napi::Env env, const EnhanceResult& result) {
  auto object = Napi::Object::New(env);
  object.Set("source", ToJs(env, result.source));
  object.Set("width", result.width);
  object.Set("height", result.height);
  object.Set("frames", Count(result.frames));
  object.Set("undecodableFrames", Count(result.undecodable_frames));
  object.Set("durationS", result.duration_s);
  object.Set("sizeBytes", Count(result.size_bytes));
  object.Set("device", result.device);
  object.Set("applied", ToJs(env, result.applied));
  object.Set("plan", ToJsArray(env, result.plan));
  object.Set("condition", result.condition);
  object.Set("faces", Count(result.faces));
  object.Set("wallSeconds", result.wall_seconds);
  object.Set("startSeconds", result.start_seconds);
  object.Set("stages", ToJsArray(env, result.stages));
  return object;
}

Napi::Object ToJs(Napi::Env env, const EnhancePlan& plan) {
  auto object = Napi::Object::New(env);
  object.Set("source", ToJs(env, plan.source));
  object.Set("width", plan.width);
  object.Set("height", plan.height);
  object.Set("device", plan.device);
  object.Set("model", plan.model);
  object.Set("stages", ToJsArray(env, plan.stages));
  object.Set("condition", plan.condition);
  return object;
}

Napi::Object ToJs(Napi::Env env, const SegmentPlan& plan) {
  auto object = Napi::Object::New(env);
  object.Set("plan", ToJs(env, plan.plan));
  object.Set("segments", ToJsArray(env, plan.segments));
  object.Set("text", plan.text);
  object.Set("whyWhole", plan.why_whole);
  return object;
}

Napi::Object ToJs(Napi::Env env, const JoinResult& result) {
  auto object = Napi::Object::New(env);
  object.Set("width", result.width);
  object.Set("height", result.height);
  object.Set("frames", Count(result.frames));
  object.Set("durationS", result.duration_s);
  object.Set("sizeBytes", Count(result.size_bytes));
  return object;
}

Napi::Object ToJs(Napi::Env env, const Progress& progress) {
  auto object = Napi::Object::New(env);
  object.Set("fraction", progress.fraction);
  object.Set("framesDone", Count(progress.frames_done));
  object.Set("framesPerSecond", progress.frames_per_second);
  object.Set("etaS", progress.eta_s);
  return object;
}

Napi::Object ToJs(Napi::Env env, const ModelReport& report) {
  auto object = Napi::Object::New(env);
  object.Set("backend", report.backend);
  object.Set("precision", report.precision);
  object.Set("inputWidth", report.input_width);
  object.Set("inputHeight", report.input_height);
  object.Set("outputWidth", report.output_width);
  object.Set("outputHeight", report.output_height);
  object.Set("tiles", report.tiles);
  object.Set("workingBytes", Count(report.working_bytes));
  object.Set("loadMs", report.load_ms);
  object.Set("msPerFrame", report.ms_per_frame);
  return object;
}

Napi::Object ToJs(Napi::Env env, const CompiledEngine& engine) {
  auto object = Napi::Object::New(env);
  object.Set("backend", engine.backend);
  object.Set("target", engine.target);
  object.Set("device", engine.device);
  object.Set("precision", engine.precision);
  object.Set("file", engine.file);
  object.Set("width", engine.width);
  object.Set("height", engine.height);
  object.Set("buildMs", engine.build_ms);
  object.Set("contexts", engine.contexts);
  object.Set("batch", engine.batch);
  object.Set("notBuilt", engine.not_built);
  object.Set("notMeasured", engine.not_measured);
  return object;
}

Napi::Object ToJs(Napi::Env env, const DeviceInfo& device) {
  auto object = Napi::Object::New(env);
  object.Set("id", device.id);
  object.Set("name", device.name);
  object.Set("usable", device.usable);
  object.Set("reason", device.reason);
  object.Set("threads", device.threads);
  object.Set("simd", device.simd);
  object.Set("encoder", device.encoder);
  object.Set("inference", ToJsArray(env, device.inference));
  return object;
}

Napi::Array ToJs(Napi::Env env, const std::vector<Picture>& pictures) { return ToJsArray(env, pictures); }

}  // namespace reelmend::native
