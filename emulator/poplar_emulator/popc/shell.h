#ifndef IPULSE_POPC_SHELL_H
#define IPULSE_POPC_SHELL_H

#include <string>
#include <vector>

namespace popc {

struct Outcome {
  int status;
  std::string output; // standard output and error
};

/// Runs a command with its arguments and waits for it.
Outcome run(const std::string &command, const std::vector<std::string> &arguments);
std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &text);

/// A directory that is removed with its content.
class ScratchDirectory {
public:
  explicit ScratchDirectory(const std::string &parent = "");
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory &) = delete;
  ScratchDirectory &operator=(const ScratchDirectory &) = delete;
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

} // namespace popc

#endif
