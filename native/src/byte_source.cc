#include "byte_source.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace reelmend::native {

/// One pending read, shared by the waiting thread and the promise's continuations.
struct ScriptByteSource::Request {
  std::int64_t offset = 0;
  std::size_t length = 0;

  std::mutex mutex;
  std::condition_variable answered;
  bool is_answered = false;
  bool failed = false;
  std::vector<std::uint8_t> bytes;

  void Answer(bool ok, std::vector<std::uint8_t> data) {
    {
      const std::lock_guard lock(mutex);
      is_answered = true;
      failed = !ok;
      bytes = std::move(data);
    }
    answered.notify_all();
  }
};

namespace {

/// JavaScript thread. Keeps the first rejection; later ones are its consequences.
void Keep(const std::weak_ptr<ScriptState>& script, Napi::Value rejection) {
  const auto state = script.lock();
  if (state && state->failure.IsEmpty()) state->failure.Keep(rejection);
}

bool IsBytes(Napi::Value value) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
}

}  // namespace

ScriptByteSource::ScriptByteSource(const Options& source) {
  constexpr std::int64_t kMaxSize = (1LL << 53) - 1;
  const auto size = source.Integer("size", 0, kMaxSize);
  if (!size) throw WrongArgument("a whole number of at least 0", source.Path("size"), source.Member("size"));
  if (!source.Function("read")) throw WrongArgument("a function", source.Path("read"), source.Member("read"));
  size_ = *size;
  source_ = Napi::Persistent(source.object());
}

std::size_t ScriptByteSource::Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) {
  constexpr auto kPoll = std::chrono::milliseconds(20);
  if (failed_) throw Error(ErrorCode::kIo, "The source of the video could not be read.");
  auto request = std::make_shared<Request>();
  request->offset = offset;
  request->length = length;
  if (!task_->Post([this, request](Napi::Env env) { Ask(env, request); })) {
    throw Error(ErrorCode::kCancelled, "The work was cancelled.");
  }
  std::unique_lock lock(request->mutex);
  while (!request->answered.wait_for(lock, kPoll, [&] { return request->is_answered; })) {
    if (task_->is_cancelled()) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
  }
  if (request->failed) {
    failed_ = true;
    throw Error(ErrorCode::kIo, "The source of the video could not be read.");
  }
  std::copy(request->bytes.begin(), request->bytes.end(), destination);
  return request->bytes.size();
}

void ScriptByteSource::Ask(Napi::Env env, const std::shared_ptr<Request>& request) {
  try {
    const Napi::Object source = source_.Value();
    const Napi::Value answer = source.Get("read").As<Napi::Function>().Call(
        source, {Napi::Number::New(env, static_cast<double>(request->offset)),
                 Napi::Number::New(env, static_cast<double>(request->length))});
    Await(env, request, answer);
  } catch (const Napi::Error& error) {
    Keep(task_->script(), error.Value());
    request->Answer(false, {});
  }
}

void ScriptByteSource::Await(Napi::Env env, const std::shared_ptr<Request>& request, Napi::Value answer) {
  const std::weak_ptr<ScriptState> script = task_->script();
  const auto on_bytes = Napi::Function::New(env, [request, script](const Napi::CallbackInfo& info) {
    const Napi::Value value = info[0];
    if (!IsBytes(value) || value.As<Napi::TypedArray>().ByteLength() > request->length) {
      const std::string expected = "a Uint8Array of at most " + std::to_string(request->length) + " bytes";
      Keep(script, WrongArgument(expected, "the result of read", value).Value());
      request->Answer(false, {});
      return;
    }
    const auto array = value.As<Napi::Uint8Array>();
    request->Answer(true, {array.Data(), array.Data() + array.ByteLength()});
  });
  const auto on_rejection = Napi::Function::New(env, [request, script](const Napi::CallbackInfo& info) {
    Keep(script, info[0]);
    request->Answer(false, {});
  });
  // Promise.resolve accepts plain values and thenables.
  const auto promise_class = env.Global().Get("Promise").As<Napi::Object>();
  const auto promise =
      promise_class.Get("resolve").As<Napi::Function>().Call(promise_class, {answer}).As<Napi::Object>();
  promise.Get("then").As<Napi::Function>().Call(promise, {on_bytes, on_rejection});
}

}  // namespace reelmend::native
