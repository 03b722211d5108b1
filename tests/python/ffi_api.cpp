// Compiled, not run, by test_jax_cpu_api.py: our declarations of the XLA FFI C API against those of
// the installed jaxlib.
#include "ffi/api.hpp"

#include <cstddef>

#include "xla/ffi/api/c_api.h"

namespace ours = cmm::python::xla;

static_assert(XLA_FFI_API_MAJOR == ours::kMajor);

#define SAME_SIZE(our, their) static_assert(sizeof(ours::our) == sizeof(their))
#define SAME_PLACE(our, field, their, their_field)                           \
  static_assert(offsetof(ours::our, field) == offsetof(their, their_field)); \
  static_assert(sizeof(ours::our::field) == sizeof(their::their_field))
#define SAME_VALUE(our, their) static_assert(static_cast<int>(ours::our) == static_cast<int>(their))
#define SAME_FUNCTION(our, their)                                                    \
  static_assert(offsetof(ours::Api, functions) +                                     \
                    static_cast<std::size_t>(ours::Function::our) * sizeof(void*) == \
                offsetof(XLA_FFI_Api, their))

SAME_VALUE(ErrorCode::kInvalidArgument, XLA_FFI_Error_Code_INVALID_ARGUMENT);
SAME_VALUE(ErrorCode::kDeadlineExceeded, XLA_FFI_Error_Code_DEADLINE_EXCEEDED);
SAME_VALUE(ErrorCode::kResourceExhausted, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
SAME_VALUE(ErrorCode::kInternal, XLA_FFI_Error_Code_INTERNAL);
SAME_VALUE(DataType::kS32, XLA_FFI_DataType_S32);
SAME_VALUE(DataType::kS64, XLA_FFI_DataType_S64);
SAME_VALUE(DataType::kF16, XLA_FFI_DataType_F16);
SAME_VALUE(DataType::kF32, XLA_FFI_DataType_F32);
SAME_VALUE(DataType::kBF16, XLA_FFI_DataType_BF16);
SAME_VALUE(AttributeKind::kScalar, XLA_FFI_AttrType_SCALAR);
SAME_VALUE(AttributeKind::kString, XLA_FFI_AttrType_STRING);
SAME_VALUE(Stage::kInstantiate, XLA_FFI_ExecutionStage_INSTANTIATE);
SAME_VALUE(Stage::kExecute, XLA_FFI_ExecutionStage_EXECUTE);
SAME_VALUE(kMetadataExtension, XLA_FFI_Extension_Metadata);

SAME_FUNCTION(kErrorCreate, XLA_FFI_Error_Create);
SAME_FUNCTION(kErrorMessage, XLA_FFI_Error_GetMessage);
SAME_FUNCTION(kErrorDestroy, XLA_FFI_Error_Destroy);
#if XLA_FFI_API_MINOR >= 2
SAME_FUNCTION(kTypeRegister, XLA_FFI_Type_Register);
#else
SAME_FUNCTION(kTypeRegister, XLA_FFI_TypeId_Register);
#endif
SAME_FUNCTION(kStateSet, XLA_FFI_State_Set);
SAME_FUNCTION(kStateGet, XLA_FFI_State_Get);
SAME_FUNCTION(kFutureCreate, XLA_FFI_Future_Create);
SAME_FUNCTION(kFutureSetAvailable, XLA_FFI_Future_SetAvailable);
SAME_FUNCTION(kFutureSetError, XLA_FFI_Future_SetError);
SAME_FUNCTION(kRunId, XLA_FFI_RunId_Get);

SAME_SIZE(Extension, XLA_FFI_Extension_Base);
SAME_PLACE(Extension, kind, XLA_FFI_Extension_Base, type);
SAME_PLACE(Head, extensions, XLA_FFI_Api, extension_start);
SAME_PLACE(Version, major, XLA_FFI_Api_Version, major_version);
SAME_PLACE(Version, minor, XLA_FFI_Api_Version, minor_version);
SAME_PLACE(Api, version, XLA_FFI_Api, api_version);
SAME_SIZE(TypeId, XLA_FFI_TypeId);
SAME_SIZE(Text, XLA_FFI_ByteSpan);
SAME_PLACE(Text, size, XLA_FFI_ByteSpan, len);
SAME_PLACE(Scalar, dtype, XLA_FFI_Scalar, dtype);
SAME_PLACE(Scalar, value, XLA_FFI_Scalar, value);
SAME_PLACE(Buffer, dtype, XLA_FFI_Buffer, dtype);
SAME_PLACE(Buffer, data, XLA_FFI_Buffer, data);
SAME_PLACE(Buffer, rank, XLA_FFI_Buffer, rank);
SAME_PLACE(Buffer, dims, XLA_FFI_Buffer, dims);
SAME_SIZE(Buffers, XLA_FFI_Args);
SAME_SIZE(Buffers, XLA_FFI_Rets);
SAME_PLACE(Buffers, size, XLA_FFI_Args, size);
SAME_PLACE(Buffers, values, XLA_FFI_Args, args);
SAME_PLACE(Buffers, values, XLA_FFI_Rets, rets);
SAME_SIZE(Attributes, XLA_FFI_Attrs);
SAME_PLACE(Attributes, size, XLA_FFI_Attrs, size);
SAME_PLACE(Attributes, kinds, XLA_FFI_Attrs, types);
SAME_PLACE(Attributes, names, XLA_FFI_Attrs, names);
SAME_PLACE(Attributes, values, XLA_FFI_Attrs, attrs);
SAME_SIZE(CallFrame, XLA_FFI_CallFrame);
SAME_PLACE(CallFrame, api, XLA_FFI_CallFrame, api);
SAME_PLACE(CallFrame, context, XLA_FFI_CallFrame, ctx);
SAME_PLACE(CallFrame, stage, XLA_FFI_CallFrame, stage);
SAME_PLACE(CallFrame, arguments, XLA_FFI_CallFrame, args);
SAME_PLACE(CallFrame, results, XLA_FFI_CallFrame, rets);
SAME_PLACE(CallFrame, attributes, XLA_FFI_CallFrame, attrs);
SAME_PLACE(CallFrame, future, XLA_FFI_CallFrame, future);
SAME_PLACE(Metadata, version, XLA_FFI_Metadata, api_version);
SAME_PLACE(Metadata, traits, XLA_FFI_Metadata, traits);
SAME_PLACE(MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);

SAME_PLACE(ErrorCreate, message, XLA_FFI_Error_Create_Args, message);
SAME_PLACE(ErrorCreate, code, XLA_FFI_Error_Create_Args, errc);
SAME_PLACE(ErrorMessage, error, XLA_FFI_Error_GetMessage_Args, error);
SAME_PLACE(ErrorMessage, message, XLA_FFI_Error_GetMessage_Args, message);
SAME_PLACE(ErrorDestroy, error, XLA_FFI_Error_Destroy_Args, error);
SAME_PLACE(FutureCreate, future, XLA_FFI_Future_Create_Args, future);
SAME_PLACE(FutureSetAvailable, future, XLA_FFI_Future_SetAvailable_Args, future);
SAME_PLACE(FutureSetError, future, XLA_FFI_Future_SetError_Args, future);
SAME_PLACE(FutureSetError, error, XLA_FFI_Future_SetError_Args, error);
SAME_PLACE(RunId, context, XLA_FFI_RunId_Get_Args, ctx);
SAME_PLACE(RunId, run_id, XLA_FFI_RunId_Get_Args, run_id);

// The runtime tells the layouts of the state's calls apart by their sizes and its version.
#if XLA_FFI_API_MINOR >= 3
#define OUR_STATE_SET StateSet3
#define OUR_STATE_GET StateGet3
SAME_PLACE(StateSet3, stage, XLA_FFI_State_Set_Args, stage);
SAME_PLACE(StateGet3, stage, XLA_FFI_State_Get_Args, stage);
#elif XLA_FFI_API_MINOR == 2
#define OUR_STATE_SET StateSet2
#define OUR_STATE_GET StateGet1
#else
#define OUR_STATE_SET StateSet1
#define OUR_STATE_GET StateGet1
SAME_PLACE(StateSet1, destroy, XLA_FFI_State_Set_Args, deleter);
#endif
SAME_SIZE(OUR_STATE_SET, XLA_FFI_State_Set_Args);
SAME_SIZE(OUR_STATE_GET, XLA_FFI_State_Get_Args);
SAME_PLACE(OUR_STATE_SET, context, XLA_FFI_State_Set_Args, ctx);
SAME_PLACE(OUR_STATE_SET, type, XLA_FFI_State_Set_Args, type_id);
SAME_PLACE(OUR_STATE_SET, state, XLA_FFI_State_Set_Args, state);
SAME_PLACE(OUR_STATE_GET, context, XLA_FFI_State_Get_Args, ctx);
SAME_PLACE(OUR_STATE_GET, type, XLA_FFI_State_Get_Args, type_id);
SAME_PLACE(OUR_STATE_GET, state, XLA_FFI_State_Get_Args, state);

#if XLA_FFI_API_MINOR >= 2
SAME_SIZE(TypeInfo, XLA_FFI_TypeInfo);
SAME_PLACE(TypeRegister, name, XLA_FFI_Type_Register_Args, name);
SAME_PLACE(TypeRegister, type, XLA_FFI_Type_Register_Args, type_id);
SAME_PLACE(TypeRegister, info, XLA_FFI_Type_Register_Args, type_info);
SAME_PLACE(TypeInfo, destroy, XLA_FFI_TypeInfo, deleter);
SAME_PLACE(Metadata, state_type, XLA_FFI_Metadata, state_type_id);
#else
SAME_PLACE(TypeRegister, name, XLA_FFI_TypeId_Register_Args, name);
SAME_PLACE(TypeRegister, type, XLA_FFI_TypeId_Register_Args, type_id);
#endif
