//! Programs that prove the kernel.
