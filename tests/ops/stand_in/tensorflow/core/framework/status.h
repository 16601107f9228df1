// Errors of the stand-in.
#ifndef TESTS_STAND_IN_STATUS_H
#define TESTS_STAND_IN_STATUS_H

#include <sstream>
#include <string>

namespace tensorflow {

class Status {
public:
  Status() = default;
  explicit Status(std::string message) : message_(std::move(message)), ok_(false) {}
  bool ok() const { return ok_; }
  const std::string &message() const { return message_; }

private:
  std::string message_;
  bool ok_ = true;
};

namespace errors {
template <typename... Parts> Status InvalidArgument(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  return Status(text.str());
}
template <typename... Parts> Status ResourceExhausted(const Parts &...parts) {
  return InvalidArgument(parts...);
}
} // namespace errors

} // namespace tensorflow

#define TF_RETURN_IF_ERROR(expression)                                                             \
  do {                                                                                             \
    auto status_of_it = (expression);                                                              \
    if (!status_of_it.ok())                                                                        \
      return status_of_it;                                                                         \
  } while (0)

#endif
