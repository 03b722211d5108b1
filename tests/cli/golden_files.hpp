// Files of other programs, byte by byte. Made with numpy 2.4.6, ml_dtypes 0.6.0 and safetensors
// 0.8.0 by
//   a = np.array([[1, -2, 3.5], [0.25, 65504, -0.0]])
//   np.save(f, a.astype("f4")), np.save(f, a.astype("f2")), np.save(f, a.astype(bfloat16)),
//   np.save(f, np.asfortranarray(a.astype("f2"))), and
//   safetensors.numpy.save({"w": a.astype("f4"), "b": a.astype(bfloat16), "h": a.astype("f2")},
//                          metadata={"format": "pt"})
#pragma once

#include <string>
#include <vector>

namespace cmm::files::golden {
using namespace std::string_literals;

// bf16 has no 65504; the nearest is 65536.
inline std::vector<float> values_of(float large) { return {1, -2, 3.5f, 0.25f, large, -0.0f}; }

inline const std::string kF32Data =
    "\x00\x00\x80?\x00\x00\x00\xc0\x00\x00`@\x00\x00\x80>\x00\xe0\x7fG\x00\x00\x00\x80"s;
inline const std::string kF16Data = "\x00<\x00\xc0\x00\x43\x00\x34\xff{\x00\x80"s;
inline const std::string kF16FortranData = "\x00<\x00\x34\x00\xc0\xff{\x00\x43\x00\x80"s;
inline const std::string kBF16Data = "\x80?\x00\xc0`@\x80>\x80G\x00\x80"s;

inline const std::string kNpyPrefix = "\x93NUMPY\x01\x00v\x00"s;
inline const std::string kSpaces = std::string(57, ' ');

inline const std::string kNpyF32 = kNpyPrefix +
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } " +
                                   kSpaces + "\n" + kF32Data;
inline const std::string kNpyF16 = kNpyPrefix +
                                   "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), } " +
                                   kSpaces + "\n" + kF16Data;
inline const std::string kNpyBF16 = kNpyPrefix +
                                    "{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3), } " +
                                    kSpaces + "\n" + kBF16Data;
inline const std::string kNpyF16Fortran =
    kNpyPrefix + "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }  " + kSpaces + "\n" +
    kF16FortranData;

inline const std::string kSafetensors =
    "\xd0\x00\x00\x00\x00\x00\x00\x00"s
    R"({"__metadata__":{"format":"pt"},)"
    R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[24,36]},)"
    R"("h":{"dtype":"F16","shape":[2,3],"data_offsets":[36,48]}}     )" +
    kF32Data + kBF16Data + kF16Data;
// The same with "w" alone, named "out".
inline const std::string kSafetensorsOut =
    "\x60\x00\x00\x00\x00\x00\x00\x00"s
    R"({"__metadata__":{"format":"pt"},)"
    R"("out":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}      )" +
    kF32Data;

}  // namespace cmm::files::golden
