//! The state file. What can be read is written and read again without a difference.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| vault_sync_mcp::oauth::store::fuzz(bytes));
