"""The schemas of the protobuf messages that are read.

Field numbers: ``tsl/profiler/protobuf/xplane.proto`` and ``xla/service/hlo.proto``,
``xla/xla_data.proto`` of OpenXLA.
"""

from __future__ import annotations

from xladoctor.protobuf import described

#: In the form of :func:`xladoctor.protobuf.described`. A parameter's number is an int64 in
#: hlo.proto; read as int32 it fits its column even if the file is damaged.
_MESSAGES = {
    "XSpace": "planes 1 XPlane*, errors 2 string*, warnings 3 string*, hostnames 4 string*",
    "XPlane": "id 1 int64, name 2 string, lines 3 XLine*, event_metadata 4 EventEntry*,"
    " stat_metadata 5 StatEntry*, stats 6 XStat*",
    "EventEntry": "key 1 int64, value 2 XEventMetadata",
    "StatEntry": "key 1 int64, value 2 XStatMetadata",
    "XLine": "id 1 int64, name 2 string, timestamp_ns 3 int64, events 4 XEvent*",
    "XEvent": "metadata_id 1 int64, offset_ps 2 int64, duration_ps 3 int64, stats 4 XStat*",
    "XStat": "metadata_id 1 int64, double_value 2 double, uint64_value 3 uint64,"
    " int64_value 4 int64, str_value 5 string, bytes_value 6 bytes, ref_value 7 uint64",
    "XEventMetadata": "id 1 int64, name 2 string, display_name 4 string, stats 5 XStat*",
    "XStatMetadata": "id 1 int64, name 2 string",
    "HloProto": "hlo_module 1 HloModuleProto, buffer_assignment 3 BufferAssignmentProto",
    "HloScheduleProto": "sequences 1 ScheduleEntry*",
    "ScheduleEntry": "key 1 int64, value 2 InstructionSequence",
    "InstructionSequence": "instruction_ids 1 int64*",
    "BufferAssignmentProto": "logical_buffers 1 LogicalBufferProto*,"
    " buffer_allocations 3 BufferAllocationProto*",
    "LogicalBufferProto": "id 1 int64, size 2 int64, defined_at 3 Location",
    "Location": "shape_index 3 int64*, instruction_id 4 int64",
    "BufferAllocationProto": "size 2 int64, is_thread_local 3 bool,"
    " is_entry_computation_parameter 5 bool, maybe_live_out 7 bool, color 8 int64,"
    " assigned 9 AssignedBuffer*, is_constant 12 bool",
    "AssignedBuffer": "logical_buffer_id 1 int64, offset 2 int64, size 3 int64",
    "HloModuleProto": "name 1 string, computations 3 HloComputationProto*, id 5 int64,"
    " entry_computation_id 6 int64, schedule 7 bytes, input_output_alias 8 AliasProto,"
    " spmd_output_sharding 12 bytes, spmd_parameters_shardings 14 bytes*,"
    " device_assignment 15 DeviceAssignmentProto,"
    " stack_frame_index 17 StackFrameIndex, buffer_donor 18 DonorProto",
    "AliasProto": "entries 1 AliasEntry*",
    "AliasEntry": "parameter_number 2 int64",
    "DonorProto": "entries 1 DonorEntry*",
    "DonorEntry": "parameter_number 1 int64",
    "DeviceAssignmentProto": "replica_count 1 int32, computation_count 2 int32,"
    " computation_devices 3 ComputationDevice*",
    "ComputationDevice": "replica_device_ids 1 int64*",
    "HloComputationProto": "name 1 string, instructions 2 HloInstructionProto*, id 5 int64,"
    " root_id 6 int64",
    "HloInstructionProto": "name 1 string, opcode 2 string, shape 3 ShapeProto,"
    " metadata 7 OpMetadata, literal 8 LiteralProto, parameter_number 9 int32,"
    " tuple_index 13 int64, dimensions 14 int64*, window 15 WindowProto,"
    " slice_dimensions 17 SliceProto*, dynamic_slice_sizes 20 int64*,"
    " padding_config 21 PaddingProto, distribution 23 int32,"
    " custom_call_target 28 string, dot_dimension_numbers 30 DotProto,"
    " gather_slice_sizes 34 int64*, id 35 int64, operand_ids 36 int64*,"
    " called_computation_ids 38 int64*, sharding 40 bytes, backend_config 43 bytes,"
    " channel_id 26 int64, replica_groups 49 ReplicaGroup*, feature_group_count 50 int64,"
    " precision_config 51 PrecisionProto, comparison_direction 63 string,"
    " collective_device_list 87 DeviceGroups, iota_device_list 92 IotaGroups,"
    " mesh_device_list 93 MeshGroups, source_target_pairs 52 SourceTarget*,"
    " frontend_attributes 68 bytes",
    "ReplicaGroup": "replica_ids 1 int64*",
    "DeviceGroups": "replica_groups 1 ReplicaGroup*, iota 2 IotaGroups",
    "IotaGroups": "groups 1 int64, group_size 2 int64, reshape_dims 3 int64*,"
    " transpose_perm 4 int32*",
    "MeshGroups": "mesh 1 MeshProto, axes 2 AxisRef*",
    "MeshProto": "axes 1 MeshAxis*, order 3 DeviceOrder",
    "DeviceOrder": "reshape_dims 1 int64*, transpose_perm 2 int32*",
    "MeshAxis": "name 1 string, size 2 int64",
    "AxisRef": "index 1 int64, part 2 AxisPart",
    "AxisPart": "pre_size 1 int64, size 2 int64",
    "SourceTarget": "source 1 int64, target 2 int64",
    "OpSharding": "type 1 int32, tile_assignment_dimensions 3 int64*,"
    " tile_assignment_devices 4 int64*, tuple_shardings 5 OpSharding*,"
    " replicate_on_last_tile_dim 6 bool, last_tile_dims 8 int32*, iota_reshape_dims 9 int64*,"
    " iota_transpose_perm 10 int32*, named_sharding 14 NamedSharding",
    "NamedSharding": "mesh 2 MeshProto, dimensions 3 DimensionSharding*",
    "DimensionSharding": "axes 1 AxisRef*",
    "PrecisionProto": "operand_precision 1 int32*",
    "SliceProto": "start 1 int64, limit 2 int64, stride 3 int64",
    "WindowProto": "dimensions 1 WindowDimension*",
    "WindowDimension": "size 1 int64, stride 2 int64, padding_low 3 int64, padding_high 4 int64,"
    " window_dilation 5 int64, base_dilation 6 int64, window_reversal 7 bool",
    "PaddingProto": "dimensions 1 PaddingDimension*",
    "PaddingDimension": "edge_padding_low 1 int64, edge_padding_high 2 int64,"
    " interior_padding 3 int64",
    "DotProto": "lhs_contracting_dimensions 1 int64*, rhs_contracting_dimensions 2 int64*,"
    " lhs_batch_dimensions 3 int64*, rhs_batch_dimensions 4 int64*",
    "ShapeProto": "element_type 2 int32, dimensions 3 int64*, tuple_shapes 4 ShapeProto*,"
    " layout 5 LayoutProto",
    "LayoutProto": "minor_to_major 1 int64*, tiles 6 TileProto*, memory_space 8 int64",
    "TileProto": "dimensions 1 int64*",
    "LiteralProto": "shape 1 ShapeProto, preds 2 bool*, u8s 3 bytes, s32s 4 int32*, s64s 5 int64*,"
    " u32s 6 uint32*, u64s 7 uint64*, f32s 8 float*, f64s 9 double*, f16s 11 bytes,"
    " c64s 12 float*, bf16s 13 bytes, s8s 15 bytes, u16s 16 bytes, s16s 17 bytes, c128s 18 double*,"
    " f8e5m2s 19 bytes, f8e4m3fns 20 bytes, s4s 21 bytes, u4s 22 bytes, f8e4m3b11fnuzs 23 bytes,"
    " f8e5m2fnuzs 24 bytes, f8e4m3fnuzs 25 bytes, f8e4m3s 28 bytes, f8e3m4s 29 bytes,"
    " f4e2m1fns 32 bytes",
    "OpMetadata": "op_type 1 string, op_name 2 string, source_file 3 string,"
    " source_line 4 int32, stack_frame_id 15 int32",
    "StackFrameIndex": "file_names 1 string*, function_names 2 string*,"
    " file_locations 3 FileLocation*, stack_frames 4 StackFrame*",
    "FileLocation": "file_name_id 1 int32, function_name_id 2 int32, line 3 int32",
    "StackFrame": "file_location_id 1 int32, parent_frame_id 2 int32",
}

#: Returns the message class of a name, such as ``XSpace`` or ``HloProto``.
message = described(_MESSAGES)
