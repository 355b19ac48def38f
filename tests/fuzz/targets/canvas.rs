//! A canvas that is edited stays one, with all that was on it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| vault_sync_mcp::accomplishments::fuzz::canvas(text));
