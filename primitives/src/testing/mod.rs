//! A whole app in a test, with a clock that moves by hand (X1).
