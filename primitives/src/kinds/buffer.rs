//! Items collected, and handled together.
