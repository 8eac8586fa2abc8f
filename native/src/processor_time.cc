#include "processor_time.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "args.h"

namespace reelmend::native {

/// limitProcessorTime(seconds: number): void
Napi::Value LimitProcessorTime(const Napi::CallbackInfo& info) {
  constexpr double kLongest = 1e9;
  const bool is_number = info[0].IsNumber();
  const double seconds = is_number ? info[0].As<Napi::Number>().DoubleValue() : 0;
  if (!(seconds > 0 && seconds <= kLongest)) throw WrongArgument("a number above 0", "seconds", info[0]);
  rusage used = {};
  rlimit limit = {};
  getrusage(RUSAGE_SELF, &used);
  getrlimit(RLIMIT_CPU, &limit);
  const auto so_far = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  const rlim_t wanted = so_far + 1 + static_cast<rlim_t>(std::ceil(seconds));
  if (limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max) limit.rlim_max = wanted;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  if (setrlimit(RLIMIT_CPU, &limit) != 0) throw Napi::Error::New(info.Env(), "The processor time cannot be limited.");
  return info.Env().Undefined();
}

}  // namespace reelmend::native
