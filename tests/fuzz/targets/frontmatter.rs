//! Frontmatter: the block is where it is said to be, and a property that is set is set, with every other byte kept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::markdown::frontmatter;

fuzz_target!(|text: &str| {
    let end = frontmatter::end(text);
    assert!(text.is_char_boundary(end));
    if let Some(block) = frontmatter::block(text) {
        assert!(text[..end].contains(block));
    }
    let _ = frontmatter::tags(text);
    vault_sync_mcp::accomplishments::fuzz::properties(text);
});
