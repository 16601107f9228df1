#ifndef poputil_TensorMetaData_hpp
#define poputil_TensorMetaData_hpp

#include <memory>
#include <utility>

namespace poputil {

/// The data that a library stores with a tensor.
class TensorMetaDataBase {
public:
  virtual ~TensorMetaDataBase() = default;
};

/// A reference to such data, or to none.
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
