// JavaScript arguments → engine structs. Every function throws a TypeError
// `Expected X for Y but received Z` and nothing else.
#pragma once

#include <napi.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "reelmend/enhance.h"
#include "reelmend/model.h"
#include "reelmend/pictures.h"
#include "reelmend/probe.h"
#include "reelmend/segments.h"

namespace reelmend::native {

/// The TypeError for a wrong argument, e.g. `Expected a number in 1…51 for encoder.crf but received 60`.
Napi::TypeError WrongArgument(const std::string& expected, const std::string& name, Napi::Value received);

/// Reads named members of one options object; absent and `undefined` members are nullopt.
class Options {
 public:
  /// `value` is an object, or undefined (no member is set). `path` prefixes the names in messages.
  Options(Napi::Value value, const std::string& path);

  std::optional<double> Number(const char* name, double min, double max) const;
  std::optional<std::int64_t> Integer(const char* name, std::int64_t min, std::int64_t max) const;
  std::optional<bool> Boolean(const char* name) const;
  /// A string that is not empty and holds no NUL.
  std::optional<std::string> Text(const char* name) const;
  std::optional<Napi::Function> Function(const char* name) const;
  std::optional<Options> Nested(const char* name) const;
  /// The unconverted member; undefined if the object is absent.
  Napi::Value Member(const char* name) const;
  std::string Path(const char* name) const;
  /// The object itself, if one was given.
  Napi::Object object() const { return object_.value(); }

 private:
  std::optional<Napi::Value> Present(const char* name) const;

  Napi::Env env_;
  std::optional<Napi::Object> object_;
  std::string path_;
};

/// A path of a local file: a string that is not empty and holds no NUL.
std::string PathArgument(Napi::Value value, const char* name);
std::vector<std::string> PathArguments(Napi::Value value, const char* name);

ProbeOptions ToProbeOptions(const Options& options);
EnhanceOptions ToEnhanceOptions(const Options& options);
SegmentLengths ToSegmentLengths(const Options& options);
PicturesOptions ToPicturesOptions(const Options& options);
ModelFile ToModelFile(const Options& options);
CompileRequest ToCompileRequest(const Options& options);
Expectation ToExpectation(const Options& options);
ModelTrial ToModelTrial(const Options& options);

}  // namespace reelmend::native
