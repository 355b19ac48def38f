//! A note with tasks: what is changed is changed, what a person wrote stays.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    // The first line is what a model gives; a `|` in it is a line end.
    let Some((value, text)) = input.split_once('\n') else { return };
    vault_sync_mcp::accomplishments::fuzz::note(text, &value.replace('|', "\n"));
});
