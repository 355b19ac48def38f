//! `vault_edit`: one text changes, and no byte before or behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    // The first two lines are the old and the new text; a `|` in them is a line end.
    let mut parts = input.splitn(3, '\n').map(|part| part.replace('|', "\n"));
    let (Some(old), Some(new), Some(_)) = (parts.next(), parts.next(), parts.next()) else { return };
    vault_sync_mcp::change::fuzz::edit(input.splitn(3, '\n').nth(2).unwrap_or_default(), &old, &new);
});
