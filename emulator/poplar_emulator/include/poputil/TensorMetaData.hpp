#ifndef poputil_TensorMetaData_hpp
#define poputil_TensorMetaData_hpp

#include <memory>
#include <utility>

namespace poputil {

/// What a library remembers of a tensor that it made.
class TensorMetaDataBase {
public:
  virtual ~TensorMetaDataBase() = default;
};

/// A reference to it, or to nothing.
class TensorMetaData {
public:
  TensorMetaData() = default;
  TensorMetaData(std::shared_ptr<const TensorMetaDataBase> data) : data(std::move(data)) {}
  const TensorMetaDataBase *getData() const { return data.get(); }

private:
  std::shared_ptr<const TensorMetaDataBase> data;
};

} // namespace poputil

#endif
