#ifndef popops_SortOrder_hpp
#define popops_SortOrder_hpp

namespace popops {

enum class SortOrder { NONE, ASCENDING, DESCENDING };

} // namespace popops

#endif
