//! The reader of notes: what it finds is where it says, in whole characters and in order; a property that is set is set, with
//! every other byte kept; a query is read or is words; an expression or a base is read, or has a mistake at a position inside of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::markdown::{blocks, frontmatter, inline};
use vault_sync_mcp::search::query;

fuzz_target!(|text: &str| {
    let end = frontmatter::end(text);
    assert!(text.is_char_boundary(end));
    if let Some(block) = frontmatter::block(text) {
        assert!(text[..end].contains(block));
    }
    let _ = frontmatter::tags(text);
    let lines = blocks::lines(text);
    let mut last = 0;
    for line in &lines {
        assert!(last <= line.range.start && line.range.start <= line.content && line.content <= line.range.end);
        assert!(text.get(line.content..line.range.end).is_some_and(|line| !line.contains('\n')));
        last = line.range.end;
    }
    for range in blocks::blocks(&lines).into_iter().chain(blocks::sections(&lines)) {
        assert!(text.get(range).is_some());
    }
    for tag in inline::tags(text) {
        assert!(text.get(tag).is_some_and(|tag| tag.len() > 1 && tag.starts_with('#')));
    }
    let _ = query::parse(text, &query::Known { is_property: &|_| true, is_written: &|_| false });
    vault_sync_mcp::notes::query::fuzz::query(text);
    vault_sync_mcp::accomplishments::fuzz::properties(text);
});
