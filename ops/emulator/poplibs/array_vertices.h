#ifndef IPULSE_POPLIBS_ARRAY_VERTICES_H
#define IPULSE_POPLIBS_ARRAY_VERTICES_H

namespace poplar::emulator {

constexpr const char *kFill = "popops::Fill";
constexpr const char *kReduce = "popops::Reduce";
constexpr const char *kReduceUpdate = "popops::ReduceUpdate";
constexpr const char *kDynamicSlice = "popops::DynamicSlice";
constexpr const char *kDynamicUpdate = "popops::DynamicUpdate";
constexpr const char *kTopK = "popops::TopK";
constexpr const char *kMatMul = "poplin::MatMul";
constexpr const char *kRandom = "poprand::Random";

enum class Distribution : unsigned { Uniform, Normal, Bernoulli };

} // namespace poplar::emulator

#endif
