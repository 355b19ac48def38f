//! Wikilinks and prose: lines that there are, targets that stand in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::wiki::links;

fuzz_target!(|text: &str| {
    let lines = text.lines().count();
    for (line, prose) in links::prose(text) {
        assert!(line >= 1 && line <= lines && prose.len() <= text.len());
    }
    for link in links::of(text) {
        assert!(link.line >= 1 && link.line <= lines);
        assert!(!link.target.contains("]]") && !link.target.contains("[["), "{link:?}");
    }
    let pages = links::Pages::of(text.lines());
    for line in text.lines() {
        let _ = (pages.find(line, "a/b.md"), links::folded(line));
    }
});
