//! Folding for search: the original comes back, and a match in the folded text lies where it is said to be.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| vault_sync_mcp::text::fuzz::folding(text));
