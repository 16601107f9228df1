"""The processors, emulated IPUs and IPUs of this machine; what runs on them lies above."""
