"""The messages to and from a profiler server.

Field numbers: ``tsl/profiler/protobuf/profiler_service.proto`` and ``profiler_options.proto`` of
OpenXLA. Servers built before ``emit_xspace`` was added pass over
it and write the timeline to ``repository_root/session_id/host_name.xplane.pb`` on their machine.
"""

from __future__ import annotations

from xladoctor.protobuf import described

METHOD = "/tensorflow.ProfilerService/Profile"

#: ``xspace`` is a message; as bytes it goes into a file as it came.
message = described(
    {
        "ProfileRequest": "duration_ms 1 uint64, opts 4 ProfileOptions, repository_root 5 string,"
        " session_id 6 string, host_name 7 string, emit_xspace 9 bool",
        "ProfileOptions": "host_tracer_level 2 uint32, device_tracer_level 3 uint32,"
        " version 5 uint32, enable_hlo_proto 7 bool, duration_ms 9 uint64",
        "ProfileResponse": "empty_trace 7 bool, xspace 8 bytes",
    }
)
