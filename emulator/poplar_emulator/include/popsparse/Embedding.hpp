#ifndef popsparse_Embedding_hpp
#define popsparse_Embedding_hpp

#error                                                                                             \
    "popsparse/Embedding.hpp is not provided by the emulator: embeddings in sparse tables are not emulated"

#endif
