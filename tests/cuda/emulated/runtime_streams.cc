// The runtime's calls about streams and events.
#include <aorta/core/clock.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/collectives.h>
#include <aorta/tests/cuda/emulated/stream.h>

using namespace aorta::emulated;

namespace {

/// The stream of a handle, or null and the broken rule reported.
CUstream_st* stream_of(const char* name, cudaStream_t handle, cudaError_t& error) {
  CUstream_st* stream = Streams::get().find(handle, current_device());
  if (stream && stream->legacy) error = Streams::get().forbidden_legacy_use(*stream);
  if (error != cudaSuccess) return nullptr;
  if (stream && !stream->destroyed) return stream;
  error = broken(name, "the stream must be one that was made and not destroyed",
                 stream ? "a destroyed one" : "none of these", page::kStream,
                 cudaErrorInvalidResourceHandle);
  return nullptr;
}

/// A stream that is waited for or asked, which no capture may forbid.
CUstream_st* stream_to_wait_for(const char* name, cudaStream_t handle, cudaError_t& error) {
  CUstream_st* stream = stream_of(name, handle, error);
  if (!stream) return nullptr;
  error = stream->capture ? stream->capture->invalidate(cudaErrorStreamCaptureUnsupported)
                          : waits_beside_captures();
  return error == cudaSuccess ? stream : nullptr;
}

CUevent_st* event_of(const char* name, cudaEvent_t handle, cudaError_t& error) {
  CUevent_st* event = Streams::get().find_event(handle);
  if (event && !event->destroyed) return event;
  error = broken(name, "the event must be one that was made and not destroyed",
                 event ? "a destroyed one" : "none of these", page::kEvent,
                 cudaErrorInvalidResourceHandle);
  return nullptr;
}

/// cudaSuccess when a point is done, else NotReady, after a step towards it.
cudaError_t ask(const Point& point) {
  Streams& streams = Streams::get();
  const bool done = streams.is_done(point);
  done ? streams.follow(point) : streams.step(point);
  if (streams.sticky != cudaSuccess) return streams.sticky;
  return done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t make_stream(const char* name, cudaStream_t* stream, unsigned flags) {
  return call(name, [&] {
    if (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) {
      return broken(name, "the flags are known", std::to_string(flags), page::kStream,
                    cudaErrorInvalidValue);
    }
    *stream = Streams::get().create(current_device(), flags == cudaStreamDefault);
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return make_stream("cudaStreamCreate", stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return make_stream("cudaStreamCreateWithFlags", stream, flags);
}

// Legal while work is queued: it is still done.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return call("cudaStreamDestroy", [&] {
    cudaError_t error = cudaSuccess;
    CUstream_st* stream = stream_of("cudaStreamDestroy", handle, error);
    if (!stream) return error;
    if (stream->legacy) {
      return broken("cudaStreamDestroy", "stream 0 stays", "", page::kStream,
                    cudaErrorInvalidResourceHandle);
    }
    stream->destroyed = true;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call("cudaStreamSynchronize", [&] {
    cudaError_t error = cudaSuccess;
    CUstream_st* stream = stream_to_wait_for("cudaStreamSynchronize", handle, error);
    if (!stream) return error;
    check_no_open_group("cudaStreamSynchronize");
    check_no_call_in_progress("cudaStreamSynchronize", *stream);
    Streams::get().finish({stream, stream->queued});
    return Streams::get().sticky;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call("cudaStreamQuery", [&] {
    cudaError_t error = cudaSuccess;
    CUstream_st* stream = stream_to_wait_for("cudaStreamQuery", handle, error);
    if (!stream) return error;
    return ask({stream, stream->queued});
  });
}

// Waits for the last record before this call; an event that was never recorded stands for nothing.
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  return call("cudaStreamWaitEvent", [&] {
    cudaError_t error = cudaSuccess;
    CUstream_st* stream = stream_of("cudaStreamWaitEvent", handle, error);
    CUevent_st* event = stream ? event_of("cudaStreamWaitEvent", event_handle, error) : nullptr;
    if (!event) return error;
    if (flags != 0) {
      return broken("cudaStreamWaitEvent", "the flags are known", std::to_string(flags),
                    page::kStream, cudaErrorInvalidValue);
    }
    if (event->capture) return Streams::get().join(*stream, *event);
    if (!event->point.stream) return Streams::get().sticky;
    if (stream->capture) return stream->capture->invalidate(cudaErrorStreamCaptureIsolation);
    return Streams::get().queue(*stream, {"cudaStreamWaitEvent", nullptr, {event->point}});
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&] {
    if (flags & ~3u) {
      return broken("cudaEventCreateWithFlags", "the flags are known", std::to_string(flags),
                    page::kEvent, cudaErrorInvalidValue);
    }
    *event = Streams::get().create_event(current_device(), flags);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t handle) {
  return call("cudaEventRecord", [&] {
    cudaError_t error = cudaSuccess;
    CUstream_st* stream = stream_of("cudaEventRecord", handle, error);
    CUevent_st* event = stream ? event_of("cudaEventRecord", event_handle, error) : nullptr;
    if (!event) return error;
    if (event->device != stream->device) {
      return broken("cudaEventRecord", "event and stream are of one device",
                    "an event of cuda:" + std::to_string(event->device) +
                        ", a stream of cuda:" + std::to_string(stream->device),
                    page::kEvent, cudaErrorInvalidResourceHandle);
    }
    check_no_call_in_progress("cudaEventRecord", *stream);
    event->capture = stream->capture;
    event->nodes = stream->last_nodes;
    event->point = stream->capture ? Point{} : Point{stream, stream->queued};
    event->recorded_ns = aorta::nanoseconds_now();
    return cudaSuccess;
  });
}

// As a GPU's clock would, it counts in floats.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start_handle,
                                 cudaEvent_t end_handle) {
  static constexpr const char* kName = "cudaEventElapsedTime";
  return call(kName, [&] {
    cudaError_t error = cudaSuccess;
    const CUevent_st* start = event_of(kName, start_handle, error);
    const CUevent_st* end = start ? event_of(kName, end_handle, error) : nullptr;
    if (!end) return error;
    const auto refused = [](const char* rule, const std::string& got) {
      return broken(kName, rule, got, page::kEvent, cudaErrorInvalidResourceHandle);
    };
    for (const CUevent_st* event : {start, end}) {
      if (event->flags & cudaEventDisableTiming)
        return refused("both events were made to measure time", "cudaEventDisableTiming");
      if (event->capture || !event->point.stream)
        return refused("both events were recorded, outside of captures", "one that wasn't");
    }
    if (start->device != end->device) {
      return refused(
          "both events are of one device",
          "cuda:" + std::to_string(start->device) + " and cuda:" + std::to_string(end->device));
    }
    for (const CUevent_st* event : {start, end}) {
      if (const cudaError_t state = ask(event->point); state != cudaSuccess) return state;
    }
    const Streams& streams = Streams::get();
    *milliseconds = static_cast<float>(
        static_cast<double>(streams.time_of(*end) - streams.time_of(*start)) * 1e-6);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return call("cudaEventQuery", [&] {
    cudaError_t error = cudaSuccess;
    CUevent_st* event = event_of("cudaEventQuery", handle, error);
    if (!event) return error;
    if (event->capture) return event->capture->event_is_used();
    return ask(event->point);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return call("cudaEventSynchronize", [&] {
    cudaError_t error = cudaSuccess;
    CUevent_st* event = event_of("cudaEventSynchronize", handle, error);
    if (!event) return error;
    if (event->capture) return event->capture->event_is_used();
    check_no_open_group("cudaEventSynchronize");
    Streams::get().finish(event->point);
    return Streams::get().sticky;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return call("cudaEventDestroy", [&] {
    cudaError_t error = cudaSuccess;
    CUevent_st* event = event_of("cudaEventDestroy", handle, error);
    if (event) event->destroyed = true;
    return error;
  });
}
}
