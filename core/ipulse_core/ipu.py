"""Facts about Graphcore's IPU that the ops, the emulator and the worker share."""

MK2_TILES = 1472  # tiles of one IPU of the second generation
MOST_SENDERS = 2**16  # channels, or neurons of a layer: the Poplar op's ids have 16 bits
MOST_POOLED = 2**16 - 1  # neurons in front of a pool: the Poplar op counts slots in 16 bits
EMULATED_IPUS = 4  # of a worker, by default: the number in an IPU-M2000
EMULATED_IPUS_VARIABLE = "IPULSE_EMULATED_IPUS"  # another number
API_LEVEL = 5  # custom-op interface of SDK 2.3 to 3.4; 4 is that of SDK 2.0 to 2.2
