// PopLibs' own vertices that public programs add by name: the extreme of a region, with its label.
#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

struct ClassVertex {
  field::Span activations, labels, value, index;
};

template <typename T, typename Label, bool Max> bool reduceClass(void *state, unsigned) {
  const auto &v = *static_cast<const ClassVertex *>(state);
  const auto *values = static_cast<const T *>(v.activations.first);
  std::size_t best = 0;
  for (std::size_t i = 1; i < v.activations.count; ++i)
    if (Max ? values[i] > values[best] : values[i] < values[best])
      best = i;
  *static_cast<T *>(v.value.first) = values[best];
  *static_cast<Label *>(v.index.first) = static_cast<const Label *>(v.labels.first)[best];
  return true;
}

/// PopLibs popnnCycleEstimators.cpp, cycles of a worker.
template <typename T>
VertexPerfEstimate classCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t n = v.getFieldInfo("activations").size();
  const std::uint64_t worker = std::is_floating_point_v<T> ? 24 + 3 * n : 23 + 6 * n;
  return {worker * target.getNumWorkerContexts(), std::is_floating_point_v<T> ? n : 0};
}

field::FieldTable typed(const char *name, std::size_t offset, field::Direction direction,
                        field::Shape shape, Type::Id element) {
  field::FieldTable table = anyField(name, offset, direction, shape);
  table.element = element;
  return table;
}

template <typename T, typename Label, bool Max>
BuiltinVertex classVertex(const char *value, const char *index, const char *types) {
  using field::Direction;
  using field::Shape;
  static const std::string name =
      std::string("popnn::Reduce") + (Max ? "Max" : "Min") + "ClassSparse<" + types + ">";
  const Type::Id number = equivalent_device_type<T>().value.identity(),
                 label = equivalent_device_type<Label>().value.identity();
  auto fields = std::make_shared<std::vector<field::FieldTable>>(std::vector<field::FieldTable>{
      typed("activations", offsetof(ClassVertex, activations), Direction::Input, Shape::Vector,
            number),
      typed("labels", offsetof(ClassVertex, labels), Direction::Input, Shape::Vector, label),
      typed(value, offsetof(ClassVertex, value), Direction::Output, Shape::Scalar, number),
      typed(index, offsetof(ClassVertex, index), Direction::Output, Shape::Scalar, label)});
  return {"popnn",
          {name.c_str(), sizeof(ClassVertex), alignof(ClassVertex), field::Kind::Vertex,
           fields->data(), static_cast<unsigned>(fields->size()), &reduceClass<T, Label, Max>, 120},
          &classCycles<T>,
          fields,
          false};
}

template <typename T, typename Label> void add(std::vector<BuiltinVertex> &all, const char *types) {
  all.push_back(classVertex<T, Label, true>("maxValue", "maxIndex", types));
  all.push_back(classVertex<T, Label, false>("minValue", "minIndex", types));
}

} // namespace

std::vector<BuiltinVertex> classVertices() {
  std::vector<BuiltinVertex> all;
  add<float, unsigned>(all, "float,unsigned int");
  add<float, int>(all, "float,int");
  add<int, unsigned>(all, "int,unsigned int");
  add<int, int>(all, "int,int");
  add<unsigned, unsigned>(all, "unsigned int,unsigned int");
  add<unsigned, int>(all, "unsigned int,int");
  return all;
}

} // namespace poplar::emulator
