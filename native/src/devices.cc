#include "devices.h"

#include "reelmend/device.h"
#include "results.h"

namespace reelmend::native {

Napi::Value Devices(const Napi::CallbackInfo& info) {
  const auto devices = reelmend::Devices();
  auto array = Napi::Array::New(info.Env(), devices.size());
  for (std::uint32_t i = 0; i < devices.size(); ++i) array.Set(i, ToJs(info.Env(), devices[i]));
  return array;
}

Napi::Value Version(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), EngineVersion());
}

}  // namespace reelmend::native
