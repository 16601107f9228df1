#include "shared_object.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace poplar::emulator {

bool isCutShort(const std::string &path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(in.tellg(), 0));
  in.seekg(0);
  Elf64_Ehdr header{};
  in.read(reinterpret_cast<char *>(&header), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, std::min<std::uint64_t>(size, SELFMAG)) ||
      (size > EI_CLASS && header.e_ident[EI_CLASS] != ELFCLASS64))
    return false; // dlopen says what it is not
  if (!in)
    return true;
  // Linkers put the section table last; stripping it leaves the segments.
  std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  in.read(reinterpret_cast<char *>(segments.data()),
          static_cast<std::streamsize>(segments.size() * sizeof(Elf64_Phdr)));
  if (!in)
    return true;
  for (const Elf64_Phdr &segment : segments)
    end = std::max(end, segment.p_offset + segment.p_filesz);
  return size < end;
}

bool definesSymbol(const std::string &path, const char *name) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(in.tellg(), 0));
  const auto readAt = [&in](std::uint64_t at, void *to, std::size_t bytes) {
    in.seekg(static_cast<std::streamoff>(at));
    in.read(static_cast<char *>(to), static_cast<std::streamsize>(bytes));
    return bool(in);
  };
  Elf64_Ehdr header{};
  if (!readAt(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!readAt(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)))
    return false;
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size() ||
        std::max(section.sh_size, sections[section.sh_link].sh_size) > size)
      continue;
    std::vector<Elf64_Sym> symbols(section.sh_size / sizeof(Elf64_Sym));
    std::vector<char> names(sections[section.sh_link].sh_size + 1);
    if (!readAt(section.sh_offset, symbols.data(), symbols.size() * sizeof(Elf64_Sym)) ||
        !readAt(sections[section.sh_link].sh_offset, names.data(), names.size() - 1))
      return false;
    for (const Elf64_Sym &symbol : symbols)
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < names.size() &&
          std::strcmp(&names[symbol.st_name], name) == 0)
        return true;
  }
  return false;
}

void *loadedObject(const std::string &path) {
  if (isCutShort(path))
    throw std::runtime_error(path + ": file is cut short");
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw std::runtime_error(dlerror());
  return handle;
}

} // namespace poplar::emulator
