//! What a session of the agent prints.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| vault_sync_mcp::agent::fuzz::transcript(bytes));
