#ifndef popnn_CTCInference_hpp
#define popnn_CTCInference_hpp

#error                                                                                             \
    "popnn/CTCInference.hpp is not provided by the emulator: the search for the best path of a CTC is not emulated"

#endif
